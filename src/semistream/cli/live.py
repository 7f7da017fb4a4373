"""What `semistream run` shows: on a terminal a table that changes, elsewhere a line per batch."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING

from rich.live import Live
from rich.table import Table
from rich.text import Text

from semistream.budget import format_bytes
from semistream.cli.output import Output

if TYPE_CHECKING:
    from semistream.spark.pipeline import BatchRecord, Summary


class BatchView:
    """Batches as they come, until the block ends."""

    def __init__(self, output: Output, name: str) -> None:
        self._output = output
        self._name = name
        self._last: BatchRecord | None = None
        self._batches = self._rows_in = self._rows_out = self._quarantined = self._late = 0
        self._live: Live | None = None
        if output.on_terminal:
            self._live = Live(
                console=output.console, get_renderable=self._table, refresh_per_second=4, transient=True
            )

    def __enter__(self) -> BatchView:
        if self._live is not None:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def show(self, record: BatchRecord) -> None:
        """One more batch has ended."""
        self._last = record
        self._batches += 1
        self._rows_in += record.rows_in
        self._rows_out += record.rows_out
        self._quarantined += record.quarantined
        self._late += record.late
        if self._live is None:
            self._output.line(record.as_dict(), batch_line(record))

    def _table(self) -> Table:
        table = Table(box=None, pad_edge=False, show_header=False)
        last = self._last
        table.add_row(Text(self._name, style="bold"), "")
        if last is None:
            table.add_row("waiting for the first batch", "")
            return table
        rows = {
            "batches": f"{self._batches:,}, the last in {last.seconds:.1f} s",
            "rows": f"{self._rows_in:,} in, {self._rows_out:,} out",
            "rows/s": f"{last.rows_per_second:,.0f}",
            "hits": f"{last.hit_ratio:.1%}",
            "loads": f"{last.loads:,} in the last batch, {format_bytes(last.bytes_read)} read",
            "held": f"{format_bytes(last.held_bytes)} in the fullest worker",
            "lag": last.behind or "unknown",
        }
        rows |= {"quarantined": f"{self._quarantined:,}"} if self._quarantined else {}
        rows |= {"too late": f"{self._late:,}"} if self._late else {}
        for name, value in rows.items():
            table.add_row(Text(name), Text(value))
        return table


def batch_line(record: BatchRecord) -> str:
    """One batch in one line."""
    parts = [
        f"batch {record.batch}",
        f"{record.rows_in:,} rows in, {record.rows_out:,} out, {record.seconds:.1f} s",
        f"{record.rows_per_second:,.0f} rows/s",
        f"hits {record.hit_ratio:.0%}",
        f"loads {record.loads:,}",
    ]
    parts += [f"quarantined {record.quarantined:,}"] if record.quarantined else []
    parts += [f"too late {record.late:,}"] if record.late else []
    parts += [f"behind {record.behind}"] if record.behind else []
    return "  ".join(parts)


def summary_facts(summary: Summary) -> dict[str, str | int | float | bool]:
    """A whole run for people."""
    found = summary.as_dict()
    return {
        "batches": found["batches"],
        "rows in": found["rows_in"],
        "rows out": found["rows_out"],
        "quarantined": found["quarantined"],
        "too late": found["late"],
        "answered from the cache": f"{found['hit_ratio']:.1%}",
        "loads": found["loads"],
        "read from the masters": format_bytes(found["bytes_read"]),
        "seconds": found["seconds"],
        "stopped when asked to": found["stopped"],
    }
