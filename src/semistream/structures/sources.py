"""Rows that lie in many batches, gathered into one.

Pending rows, cached master rows and loaded pages all wait in sources until an output batch is full,
and are then gathered once, column by column. One `pyarrow.take` per source would cost ten microseconds
a column for the one or two rows that a page load answers.

Cost: `add` O(columns), `gather` O(rows x columns), nothing depends on the number of sources.
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from semistream.structures import gathering
from semistream.structures.addressed import NOBODY, POINTERS, Addressed, Kind
from semistream.structures.sizes import batch_bytes, row_sizes
from semistream.structures.views import taken_array

Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]

_ARRAY_BYTES = 16  # of an array beyond its rows: one more offset, bitmaps rounded up to bytes


def _arrays(data_type: pa.DataType) -> int:
    """How many arrays a column of this type consists of."""
    return 1 + sum(_arrays(data_type.field(i).type) for i in range(data_type.num_fields))


class Sources(Addressed):
    """Batches of one schema that can be gathered from together."""

    def __init__(self, schema: pa.Schema) -> None:
        super().__init__(schema, sources=8)
        self._batches: list[pa.RecordBatch | None] = []
        self._bytes: list[int] = []
        self._free: list[int] = []
        self._row_sizes: dict[int, Int64s] = {}
        self._pins = 0
        self._dropped_while_pinned: list[int] = []
        self._lock = Lock()  # a join's front unpins while its other phase adds rows
        self.held_bytes = 0
        self.batch_bytes = _ARRAY_BYTES * sum(_arrays(field.type) for field in schema)
        """The most that a gathered batch takes beyond its rows' `row_bytes`."""

    def __len__(self) -> int:
        """Sources that are there now."""
        return len(self._batches) - len(self._free) - len(self._dropped_while_pinned)

    def add(self, batch: pa.RecordBatch, held: int | None = None) -> int:
        """Take a batch in and return its source number; `held` bytes are charged for it."""
        size = batch_bytes(batch) if held is None else held
        with self._lock:
            number = self._free.pop() if self._free else len(self._batches)
            if number == len(self._batches):
                self._batches.append(None)
                self._bytes.append(0)
                if number >= len(self._pointers):
                    self._pointers = np.concatenate([self._pointers, np.zeros_like(self._pointers)])
            self._batches[number] = batch
            self._bytes[number] = size
            self.held_bytes += size
        row = self._pointers[number]
        for i, column in enumerate(self._columns):
            if column.kind is not Kind.OTHER:
                array = batch.column(i)
                buffers = array.buffers()
                at = i * POINTERS
                row[at] = buffers[0].address if buffers[0] is not None else 0
                row[at + 1] = array.offset
                row[at + 2] = buffers[1].address if buffers[1] is not None else 0
                last = buffers[2] if len(buffers) > 2 else None
                row[at + 3] = last.address if last is not None else 0
        return number

    def drop(self, number: int) -> None:
        """Let a batch go; while sources are pinned its memory stays, and counts as held."""
        with self._lock:
            if self._pins:
                self._dropped_while_pinned.append(number)
            else:
                self._forget(number)

    def pin(self) -> None:
        """Somebody has noted references: dropped batches stay until as many `unpin` calls."""
        with self._lock:
            self._pins += 1

    def unpin(self) -> None:
        with self._lock:
            self._pins -= 1
            if not self._pins:
                dropped, self._dropped_while_pinned = self._dropped_while_pinned, []
                for number in dropped:
                    self._forget(number)

    @property
    def pinned(self) -> bool:
        return self._pins > 0

    def batch(self, number: int) -> pa.RecordBatch:
        batch = self._batches[number]
        assert batch is not None, f"source {number} is gone"
        return batch

    def bytes_of(self, number: int) -> int:
        return self._bytes[number]

    def gather(
        self, numbers: Int32s, rows: Int64s, columns: Sequence[int], *, share: bool = False
    ) -> list[pa.Array]:
        """The rows (numbers[i], rows[i]) of some columns, in this order; NOBODY gives nulls.

        With `share` nothing moves where it needn't: a batch that is wanted whole is handed through, and so
        is a slice of one that is somebody else's (a slice of our own would keep all of it alive).
        """
        if share and len(rows) and numbers[0] != NOBODY:
            number = int(numbers[0])
            batch = self.batch(number)
            shareable = len(rows) == batch.num_rows or not self._bytes[number]
            if shareable and gathering.is_run(numbers, rows):
                return [batch.column(i).slice(int(rows[0]), len(rows)) for i in columns]
        return super().gather(numbers, rows, columns)

    def row_bytes(self, numbers: Int32s, rows: Int64s) -> Int64s:
        """The most bytes each row takes once it is gathered. O(rows x varying columns)."""
        if self._flat:
            return super().row_bytes(numbers, rows)
        sizes = np.full(len(rows), self._null_bytes, dtype=np.int64)
        for number in np.unique(numbers):
            if number != NOBODY:
                if number not in self._row_sizes:
                    self._row_sizes[int(number)] = row_sizes(self.batch(int(number)))
                mine = numbers == number
                sizes[mine] = self._row_sizes[int(number)][rows[mine]]
        return sizes

    def total_bytes(self, numbers: Int32s, rows: Int64s) -> int:
        if self._flat:
            return super().total_bytes(numbers, rows)
        return int(self.row_bytes(numbers, rows).sum())

    def check(self) -> None:
        """The invariants, for tests."""
        free = {*self._free, *self._dropped_while_pinned}
        assert len(free) == len(self._free) + len(self._dropped_while_pinned), "a source was dropped twice"
        assert self.pinned or not self._dropped_while_pinned
        assert self.held_bytes == sum(self._bytes)
        gone = [number for number, batch in enumerate(self._batches) if batch is None]
        assert gone == sorted(self._free)
        assert not any(self._bytes[number] for number in gone)

    def _forget(self, number: int) -> None:
        self.held_bytes -= self._bytes[number]
        self._batches[number] = None
        self._bytes[number] = 0
        self._row_sizes.pop(number, None)
        self._free.append(number)

    def _gather_other(self, i: int, numbers: Int32s, rows: Int64s) -> pa.Array:
        """Nested, dictionary and view columns: a take from each source, then back into order."""
        order = np.argsort(numbers, kind="stable")
        sorted_numbers = numbers[order]
        cuts = np.flatnonzero(np.diff(sorted_numbers)) + 1
        data_type = self.schema.field(i).type
        pieces = []
        for part in np.split(order, cuts):
            number = int(numbers[part[0]])
            if number == NOBODY:
                pieces.append(pa.nulls(len(part), type=data_type))
            else:
                pieces.append(taken_array(self.batch(number).column(i), rows[part]))
        back = np.empty(len(order), dtype=np.int64)
        back[order] = np.arange(len(order))
        whole = pieces[0] if len(pieces) == 1 else pa.concat_arrays(pieces)
        return taken_array(whole, back)
