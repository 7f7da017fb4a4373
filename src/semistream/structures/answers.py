"""Answers on their way out: which stream row goes with which master row, until a batch is full.

Nothing moves when a page answers rows: two references are noted, and the payload of both sides is
gathered once per output batch. Noted rows stay where they are until then: their sources are pinned.

Cost: noting O(rows), flushing O(rows x columns). Bytes: 17 a noted row, and the output batch.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from semistream.structures.rowpool import split
from semistream.structures.sources import Sources

Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]

NOTE_BYTES = 17
GATHER_BYTES = 40  # a row while it is gathered: its size, source and place on both sides
NO_ROW = np.int64(-1)


class Status(IntEnum):
    """What became of a stream row; the names are the values of a `status` column."""

    matched = 0
    unmatched = 1
    null_key = 2


_STATUS_TEXTS = pa.array([status.name for status in Status])
_STATUS_BYTES = 5 + max(len(status.name) for status in Status)  # an offset, a null bit, the text


@dataclass(frozen=True, slots=True)
class _Side:
    """One side of noted answers: which source each row is from, and where in it."""

    numbers: Int32s
    rows: Int64s

    @staticmethod
    def of(references: Int64s) -> _Side:
        return _Side(*split(references))

    def part(self, start: int, end: int) -> _Side:
        return _Side(self.numbers[start:end], self.rows[start:end])


@dataclass(frozen=True, slots=True)
class OutputPlan:
    """Which columns of both sides go out, under which schema, and for which rows."""

    how: str
    schema: pa.Schema
    stream_columns: tuple[int, ...]
    master_columns: tuple[int, ...]
    status: bool

    @property
    def pairs(self) -> bool:
        """Whether output rows carry master rows."""
        return self.how in ("inner", "left")

    @property
    def keeps_unmatched(self) -> bool:
        return self.how in ("left", "left_anti")

    @property
    def keeps_matched(self) -> bool:
        return self.how != "left_anti"


class Answers:
    """Noted answers of one phase; `stream` and `master` hold the rows they refer to."""

    def __init__(
        self, plan: OutputPlan, stream: Sources, master: Sources, most_rows: int, most_bytes: int
    ) -> None:
        self.plan = plan
        self.stream = stream
        self.master = master
        self._most_rows = most_rows
        self._most_bytes = most_bytes
        self._notes: list[tuple[Int64s, Int64s, int]] = []
        self.rows = 0
        self.rows_out = 0
        self.flushing_bytes = 0
        self._gathering = 0

    @property
    def held_bytes(self) -> int:
        return NOTE_BYTES * self.rows + GATHER_BYTES * self._gathering + self.flushing_bytes

    @property
    def most_rows(self) -> int:
        """Of one output batch."""
        return self._most_rows

    @property
    def room(self) -> int:
        """Answers that can still be noted before a flush is due; at least 1."""
        return max(1, self._most_rows - self.rows)

    @property
    def full(self) -> bool:
        return self.rows >= self._most_rows

    def matched(self, stream: Int64s, master: Int64s) -> None:
        """Pairs of references; for semi and anti joins the master's are ignored."""
        if self.plan.keeps_matched:
            self._note(stream, master, Status.matched)

    def unanswered(self, stream: Int64s, status: Status) -> None:
        """Stream rows that no master row answers."""
        if self.plan.keeps_unmatched:
            self._note(stream, np.full(len(stream), NO_ROW), status)

    def flush(self) -> Iterator[pa.RecordBatch]:
        """Gather all that is noted into batches within the byte limit."""
        notes, self._notes = self._notes, []
        if notes:
            stream = _joined([note[0] for note in notes])
            master = _joined([note[1] for note in notes])
            status = np.repeat(
                np.array([note[2] for note in notes], dtype=np.int8), [len(note[0]) for note in notes]
            )
            del notes
            self._gathering = len(stream)
            try:
                left, right = _Side.of(stream), _Side.of(master)
                for start, end in self._cuts(left, right):
                    batch = self._gather(left.part(start, end), right.part(start, end), status[start:end])
                    self.flushing_bytes = batch.nbytes
                    self.rows_out += batch.num_rows
                    yield batch
                    del batch
            finally:  # also when the consumer stops half way: a pin left behind is a leak
                self.flushing_bytes = self._gathering = 0
                self.rows -= len(stream)  # more may have been noted meanwhile
                self.stream.unpin()
                self.master.unpin()

    def _note(self, stream: Int64s, master: Int64s, status: Status) -> None:
        if len(stream):
            if not self._notes:
                self.stream.pin()
                self.master.pin()
            self._notes.append((stream, master, int(status)))
            self.rows += len(stream)

    def _cuts(self, stream: _Side, master: _Side) -> Iterator[tuple[int, int]]:
        """Ranges of answers whose batches stay within the limits; a row above them goes alone."""
        rows = len(stream.rows)
        most = self._most_bytes - self.stream.batch_bytes - (_STATUS_BYTES if self.plan.status else 0)
        total = self.stream.total_bytes(stream.numbers, stream.rows) + _STATUS_BYTES * self.plan.status * rows
        if self.plan.pairs:
            most -= self.master.batch_bytes
            total += self.master.total_bytes(master.numbers, master.rows)
        if total <= most and rows <= self._most_rows:
            yield 0, rows
            return
        sizes = self.stream.row_bytes(stream.numbers, stream.rows)
        if self.plan.pairs:
            sizes += self.master.row_bytes(master.numbers, master.rows)
        if self.plan.status:
            sizes += _STATUS_BYTES
        ends = np.cumsum(sizes)
        start = 0
        while start < len(ends):
            before = int(ends[start - 1]) if start else 0
            end = max(start + 1, int(np.searchsorted(ends, before + most, side="right")))
            end = min(end, start + self._most_rows)
            yield start, end
            start = end

    def _gather(self, stream: _Side, master: _Side, status: NDArray[np.int8]) -> pa.RecordBatch:
        columns = self.stream.gather(stream.numbers, stream.rows, self.plan.stream_columns, share=True)
        if self.plan.master_columns:
            columns += self.master.gather(master.numbers, master.rows, self.plan.master_columns)
        if self.plan.status:
            columns.append(_STATUS_TEXTS.take(pa.array(status)))
        return pa.RecordBatch.from_arrays(columns, schema=self.plan.schema)


def _joined(parts: list[Int64s]) -> Int64s:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
