"""Rows of `semistream-zipf` for a batch query, and from offset to offset for a streaming one.

An offset is the number of rows so far with the arrivals' state there, so that a restarted query makes the
rows between two offsets again, the very same. It also holds when the query first started, from which
`rows_per_second` counts, and a fingerprint of the options, since a checkpoint can't be gone on from with
others.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    ReadMinRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from semistream.errors import ArgumentError, UsageError
from semistream.spark.source.options import SourceOptions
from semistream.workloads.arrivals import Position
from semistream.workloads.streams import Stream

NAME = "semistream-zipf"
ENDLESS_BATCH_ROWS = 100_000  # of a stream that never ends and always has more


def register(spark: SparkSession) -> None:
    """Let this session read the format `semistream-zipf`."""
    spark.dataSource.register(ZipfDataSource)


class ZipfDataSource(DataSource):
    """The data source `semistream-zipf`; its options are in `SourceOptions`."""

    @classmethod
    def name(cls) -> str:
        return NAME

    def schema(self) -> str:
        self._parsed()  # so that a bad option is an error of `load`, before anything runs
        return "key bigint, sequence bigint not null, event_time timestamp not null"

    def reader(self, schema: StructType) -> DataSourceReader:
        return ZipfReader(self._parsed())

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        return ZipfStreamReader(self._parsed())

    def _parsed(self) -> SourceOptions:
        return SourceOptions.parsed(dict(self.options))


class Slice(InputPartition):
    """The rows of one task."""

    def __init__(self, at: Position, rows: int) -> None:
        super().__init__((at, rows))
        self.at = at
        self.rows = rows


def slices(stream: Stream, at: Position, rows: int, partitions: int) -> list[Slice]:
    """Neighbouring rows in equal parts, none of them empty."""
    made = []
    for i in range(partitions):
        part = rows * (i + 1) // partitions - rows * i // partitions
        if part:
            made.append(Slice(at, part))
            at = stream.after(at, part)
    return made


class ZipfReader(DataSourceReader):
    """All rows, for a batch query."""

    def __init__(self, options: SourceOptions) -> None:
        if options.rows is None:
            raise ArgumentError(f"a batch query of {NAME} needs the option 'rows': the stream has no end")
        self._stream = options.stream()
        self._slices = slices(self._stream, self._stream.begin(), options.rows, options.partitions)

    def partitions(self) -> Sequence[InputPartition]:
        return self._slices

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Slice)
        return self._stream.batches(partition.at, partition.rows)


class ZipfStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """The rows between two offsets, for a streaming query."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._stream = options.stream()
        self._fingerprint = options.fingerprint()
        self._until_now: int | None = None  # the moment, in microseconds, that availableNow goes up to
        self._seen: dict[str, Any] | None = None

    def initialOffset(self) -> dict[str, Any]:
        return self._offset(self._stream.begin(), _now())

    def getDefaultReadLimit(self) -> ReadLimit:
        options = self._options
        if options.rows_per_batch is not None:
            return ReadMaxRows(options.rows_per_batch)
        if options.rows is None and options.rows_per_second is None:
            return ReadMaxRows(ENDLESS_BATCH_ROWS)
        return ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:
        if self._options.rows is None and self._options.rows_per_second is None:
            raise UsageError(
                f"{NAME} without 'rows' and 'rows_per_second' never ends, and availableNow waits for its "
                "end: give one of these options, or another trigger"
            )
        self._until_now = _now()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        self._seen = start
        at = self._position(start)
        available = self._available(at, start["began"])
        if isinstance(limit, ReadMaxRows):
            rows = limit.max_rows if available is None else min(available, limit.max_rows)
        elif available is None:
            rows = ENDLESS_BATCH_ROWS
        elif isinstance(limit, ReadMinRows) and available < limit.min_rows and not self._last(at, available):
            rows = 0
        else:
            rows = available
        return self._offset(self._stream.after(at, rows), start["began"]) if rows else start

    def reportLatestOffset(self) -> dict[str, Any] | None:
        """Where the stream is by now, limits aside: how far a query lags behind."""
        if self._seen is None:
            return None
        at, began = self._position(self._seen), self._seen["began"]
        available = self._available(at, began)
        return None if available is None else self._offset(self._stream.after(at, available), began)

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        at = self._position(start)
        return slices(self._stream, at, self._position(end).row - at.row, self._options.partitions)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Slice)
        return self._stream.batches(partition.at, partition.rows)

    def _available(self, at: Position, began: int) -> int | None:
        """How many rows behind `at` are there by now; None: there are always more."""
        options = self._options
        left = None if options.rows is None else max(0, options.rows - at.row)
        whole = self._until_now is not None and left is not None
        if options.rows_per_second is None or whole:
            return left
        now = _now() if self._until_now is None else self._until_now
        due = self._stream.due(at, (now - began) / 1e6)
        return due if left is None else min(left, due)

    def _last(self, at: Position, rows: int) -> bool:
        """No more rows will come than these."""
        return self._until_now is not None or at.row + rows == self._options.rows

    def _offset(self, at: Position, began: int) -> dict[str, Any]:
        return {**at.to_json(), "began": began, "options": self._fingerprint}

    def _position(self, offset: Mapping[str, Any]) -> Position:
        if offset["options"] != self._fingerprint:
            raise UsageError(
                f"the checkpoint was written by {NAME} with other options (keys, rate, seed, ...), so its "
                "rows can't be made again: use those options, or a new checkpoint"
            )
        return Position.from_json(offset)


def _now() -> int:
    return time.time_ns() // 1000
