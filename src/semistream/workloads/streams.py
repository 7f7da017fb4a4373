"""A stream of rows: keys, arrivals and a clock put together, as Arrow batches.

A row is a function of its number alone: its key by `KeyStream`, its time by the arrivals, counted from
`start` on a clock of its own. So a stream can be cut, repeated and made in parallel, and stays the same.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from semistream.errors import ArgumentError
from semistream.workloads.arrivals import Arrivals, Constant, Position
from semistream.workloads.keys import KeyStream

SCHEMA = pa.schema(
    [
        pa.field("key", pa.int64()),
        pa.field("sequence", pa.int64(), nullable=False),
        pa.field("event_time", pa.timestamp("us", tz="UTC"), nullable=False),
    ]
)
EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
DEFAULT_START = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
BATCH_ROWS = 1 << 16


@dataclass(frozen=True)
class Stream:
    """An endless stream with the columns `key`, `sequence` (the row's number) and `event_time`.

    rows_per_second: on average, by the stream's own clock.
    start: when the clock of the stream begins.

    >>> stream = Stream(KeyStream(1000), rows_per_second=10)
    >>> for batch in stream.batches(stream.begin(), 2):
    ...     print(batch["sequence"].to_pylist(), batch["event_time"][1])
    [0, 1] 2024-01-01 00:00:00.100000+00:00
    """

    keys: KeyStream
    arrivals: Arrivals = field(default_factory=Constant)
    rows_per_second: float = 1000.0
    start: dt.datetime = DEFAULT_START

    def __post_init__(self) -> None:
        if not 0 < self.rows_per_second < float("inf"):
            raise ArgumentError(f"rows_per_second={self.rows_per_second} is no rate: give more than 0")
        if self.start.tzinfo is None:
            raise ArgumentError(
                f"start={self.start.isoformat()} has no time zone: give one, such as {DEFAULT_START}"
            )

    def begin(self) -> Position:
        return self.arrivals.begin()

    def after(self, at: Position, rows: int) -> Position:
        return self.arrivals.after(at, rows)

    def due(self, at: Position, seconds: float) -> int:
        """How many rows behind `at` come within so many seconds of the start."""
        return self.arrivals.due(at, seconds / self._step_seconds)

    def batches(self, at: Position, rows: int, batch_rows: int = BATCH_ROWS) -> Iterator[pa.RecordBatch]:
        """The next rows behind `at`."""
        start = np.int64((self.start - EPOCH) // dt.timedelta(microseconds=1))
        while rows > 0:
            count = min(rows, batch_rows)
            passed = np.floor(self.arrivals.times(at, count) * (self._step_seconds * 1e6)).astype(np.int64)
            yield pa.RecordBatch.from_arrays(
                [
                    self.keys.array(at.row, count),
                    pa.array(np.arange(at.row, at.row + count)),
                    pa.array(start + passed).cast(SCHEMA.field("event_time").type),
                ],
                schema=SCHEMA,
            )
            at = self.after(at, count)
            rows -= count

    @property
    def _step_seconds(self) -> float:
        return self.arrivals.rows_per_step / self.rows_per_second
