"""What a workload is: a master, a stream, and the columns by which they meet."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa

from semistream.errors import ArgumentError
from semistream.workloads.streams import BATCH_ROWS

Make = Callable[[int], Iterator[pa.RecordBatch]]


@dataclass(frozen=True)
class Side:
    """Rows that can be made again and again, the same each time, a batch at a time.

    make: the batches, given how many rows a batch has at most.

    >>> side = Side(pa.schema({"key": pa.int64()}), lambda rows: iter([pa.record_batch({"key": [1, 2, 3]})]))
    >>> side.first(2).table().to_pydict()
    {'key': [1, 2]}
    """

    schema: pa.Schema
    make: Make

    def batches(self, batch_rows: int = BATCH_ROWS) -> Iterator[pa.RecordBatch]:
        if batch_rows < 1:
            raise ArgumentError(f"batch_rows={batch_rows} makes no progress: give at least 1")
        return self.make(batch_rows)

    def table(self) -> pa.Table:
        """All rows at once, in memory."""
        return pa.Table.from_batches(self.batches(), self.schema)

    def first(self, rows: int | None) -> Side:
        """The first so many rows, or all of them where there are fewer, or for None."""
        if rows is None:
            return self
        if rows < 0:
            raise ArgumentError(f"{rows} rows can't be made: give 0 or more")
        return Side(self.schema, lambda batch_rows: _up_to(rows, self.make(batch_rows)))


@dataclass(frozen=True)
class Workload:
    """A stream and the master that its rows look for.

    on: the master's key column for each of the stream's.
    in_key_order: the master's rows come by their key, so that a clustered copy needs no sorting.
    """

    master: Side
    stream: Side
    on: Mapping[str, str]
    in_key_order: bool = False

    @property
    def key(self) -> tuple[str, ...]:
        """The master's key columns."""
        return tuple(self.on.values())


def sized(schema: pa.Schema, rows: int, make: Callable[[int, int], pa.RecordBatch]) -> Side:
    """A side whose rows are functions of their number: `make(first, count)` gives any part of it."""

    def batches(batch_rows: int) -> Iterator[pa.RecordBatch]:
        for first in range(0, rows, batch_rows):
            yield make(first, min(batch_rows, rows - first))

    if rows < 0:
        raise ArgumentError(f"{rows} rows can't be made: give 0 or more")
    return Side(schema, batches)


def _up_to(rows: int, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Takes no batch more than it needs, and closes what it took them from."""
    try:
        while rows > 0:
            batch = next(batches, None)
            if batch is None:
                return
            yield batch.slice(0, rows)
            rows -= batch.num_rows
    finally:
        close = getattr(batches, "close", None)
        if close is not None:
            close()
