"""What commands print: tables and facts for people, or one JSON document for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from typing import TypeAlias

from rich.console import Console
from rich.table import Table
from rich.text import Text

Scalar: TypeAlias = str | int | float | bool | None


class Output:
    """The one place that prints.

    Each answer is printed at once for people. As JSON, a command gives exactly one answer, so that
    its output is one document; `note` is then silent.
    """

    def __init__(self, *, as_json: bool) -> None:
        self.as_json = as_json
        self._console = Console(highlight=False)

    @property
    def console(self) -> Console:
        """For what changes on a terminal while it is shown."""
        return self._console

    @property
    def on_terminal(self) -> bool:
        """Whether a person watches."""
        return self._console.is_terminal and not self.as_json

    def table(self, rows: Iterable[Mapping[str, Scalar]]) -> None:
        """Rows that share their columns; the first one's order of columns counts.

        >>> Output(as_json=True).table([{"algorithm": "inlj"}])
        [{"algorithm": "inlj"}]
        """
        found = list(rows)
        if self.as_json:
            self._print_json(found)
            return
        table = Table(box=None, pad_edge=False)
        for column, value in (found[0] if found else {}).items():
            table.add_column(column, justify="right" if _is_number(value) else "left")
        for row in found:
            table.add_row(*(_shown(value) for value in row.values()))
        self._console.print(table)

    def facts(self, facts: Mapping[str, Scalar]) -> None:
        """Named values that belong together.

        >>> Output(as_json=False).facts({"rows": 1234567, "how": "left"})  # doctest: +NORMALIZE_WHITESPACE
        rows  1,234,567
        how   left
        """
        if self.as_json:
            self._print_json(facts)
            return
        table = Table(box=None, pad_edge=False, show_header=False)
        for name, value in facts.items():
            table.add_row(Text(name), _shown(value))
        self._console.print(table)

    def report(self, text: str, answer: Mapping[str, object]) -> None:
        """A text for people that is laid out already; programs get `answer`."""
        if self.as_json:
            self._print_json(answer)
        else:
            self._console.print(Text(text), soft_wrap=True)

    def note(self, text: str) -> None:
        """A sentence for people; programs don't get it."""
        if not self.as_json:
            self._console.print(Text(text), soft_wrap=True)  # a path or a command stays in one piece

    def line(self, facts: Mapping[str, Scalar], text: str | None) -> None:
        """One of many answers of a command that goes on: a line of JSON, or this text for people.

        >>> Output(as_json=True).line({"batch": 1}, "batch 1")
        {"batch": 1}
        """
        if self.as_json:
            print(json.dumps(facts), flush=True)
        elif text is not None:
            self._console.print(Text(text), soft_wrap=True)

    def error(self, error: Exception) -> None:
        """Goes to standard error, as JSON with the error's type."""
        if self.as_json:
            print(json.dumps({"error": type(error).__name__, "message": str(error)}), file=sys.stderr)
        else:
            Console(stderr=True, highlight=False).print(
                Text(f"{type(error).__name__}: {error}"), soft_wrap=True
            )

    def _print_json(self, answer: object) -> None:
        print(json.dumps(answer))


def _is_number(value: Scalar) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _shown(value: Scalar) -> Text:
    """As text that Rich doesn't take for markup.

    >>> [str(_shown(value)) for value in (None, True, 1234, 0.123456, "[bold]")]
    ['-', 'yes', '1,234', '0.1235', '[bold]']
    """
    if value is None:
        return Text("-")
    if isinstance(value, bool):
        return Text("yes" if value else "no")
    if isinstance(value, int):
        return Text(f"{value:,}")
    if isinstance(value, float):
        return Text(f"{value:,.4g}")
    return Text(value)
