"""The command `semistream`: parsing only. What a command has to say it hands to `output.Output`."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from semistream.cli.output import Output
from semistream.errors import SemiStreamError


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="semistream")
def main() -> None:
    """Join a fast stream with a master table far larger than memory, inside one byte budget."""


def command(function: Callable[..., None]) -> click.Command:
    """A subcommand with `--json`, whose first argument is the `Output` to speak through.

    Errors raised on purpose end it with their message and exit code 1; any other is a bug and
    keeps its traceback.
    """

    @wraps(function)
    def run(as_json: bool, **arguments: Any) -> None:
        output = Output(as_json=as_json)
        try:
            function(output, **arguments)
        except SemiStreamError as error:
            output.error(error)
            raise SystemExit(1) from error

    with_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")(run)
    return main.command()(with_json)


@command
def algorithms(output: Output) -> None:
    """List the algorithms."""
    from semistream.algorithms import names

    output.table({"algorithm": name} for name in names())


# A command with options of its own has a file of its own, which registers it.
from semistream.cli import calibrate, demo, explain, figures, generate, index  # noqa: E402, F401
from semistream.cli import run as _run  # noqa: E402, F401
