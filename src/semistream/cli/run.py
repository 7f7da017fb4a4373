"""`semistream run`: a pipeline out of a file."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from semistream.cli import command
from semistream.cli.index import pairs
from semistream.cli.live import BatchView, summary_facts
from semistream.cli.output import Output

if TYPE_CHECKING:
    from semistream.spark.pipeline import Stopping


@command
@click.argument("file", type=click.Path(dir_okay=False))
@click.option("--check", is_flag=True, help="Only check the file, and say what would run.")
@click.option("--master", help="Spark's master, such as local[2], or an sc:// address.")
@click.option("--conf", multiple=True, metavar="NAME=VALUE", help="A setting of the Spark session.")
def run(output: Output, file: str, check: bool, master: str | None, conf: tuple[str, ...]) -> None:
    """Run the pipeline in FILE: sources, lookups, warehouse.

    Everything that can be known to be wrong is said before anything is written. SIGTERM and Ctrl-C stop it
    after the current batch, a second one at once; the next run goes on from the checkpoint. With --json
    there is a line for each batch, and one for the whole.
    """
    from semistream.spark.pipeline import Stopping, build_pipeline, read_pipeline, run_pipeline
    from semistream.spark.pipeline.explaining import explanation, session_settings
    from semistream.spark.session import session_for

    pipeline = read_pipeline(file)
    settings = session_settings(pipeline, pairs("--conf", conf))
    stopping = Stopping()
    with session_for(pipeline.name, master=master, config=settings) as spark:
        built = build_pipeline(spark, pipeline)
        if check:
            output.facts(explanation(built))
            return
        if not output.as_json:
            output.facts(explanation(built))
        with BatchView(output, pipeline.name) as view, _asked_by_signals(stopping):
            summary = run_pipeline(spark, built, view.show, stopping)
        output.line(summary.as_dict(), None)
        if not output.as_json:
            output.facts(summary_facts(summary))


@contextmanager
def _asked_by_signals(stopping: Stopping) -> Iterator[None]:
    """SIGTERM and SIGINT ask for a stop while the block runs."""
    before = {
        number: signal.signal(number, lambda *_: stopping.ask()) for number in (signal.SIGTERM, signal.SIGINT)
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
