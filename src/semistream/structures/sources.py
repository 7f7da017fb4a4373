"""Rows that lie in many batches, gathered into one.

A row is a pair (source, row). Pending rows, cached master rows and loaded pages all wait in
sources until an output batch is full, and are then gathered once, column by column. One
`pyarrow.take` per source would cost ten microseconds a column for the one or two rows that a page
load answers.

Cost: `add` O(columns), `gather` O(rows x columns), nothing depends on the number of sources.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from threading import Lock

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from semistream.structures import gathering
from semistream.structures.sizes import batch_bytes, is_flat, row_sizes
from semistream.structures.views import taken_array

Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]

NOBODY = -1  # the source of a row that isn't there: it is gathered as nulls
_POINTERS = 4  # validity, first row, first buffer, second buffer
_ARRAY_BYTES = 16  # of an array beyond its rows: one more offset, bitmaps rounded up to bytes


class _Kind(IntEnum):
    FIXED = 0
    BITS = 1
    OFFSETS_32 = 2
    OFFSETS_64 = 3
    OTHER = 4


@dataclass(frozen=True, slots=True)
class _Column:
    kind: _Kind
    width: int


def _column_of(data_type: pa.DataType) -> _Column:
    t = pa.types
    if t.is_boolean(data_type):
        return _Column(_Kind.BITS, 0)
    if t.is_string(data_type) or t.is_binary(data_type):
        return _Column(_Kind.OFFSETS_32, 4)
    if t.is_large_string(data_type) or t.is_large_binary(data_type):
        return _Column(_Kind.OFFSETS_64, 8)
    if t.is_fixed_size_binary(data_type):
        return _Column(_Kind.FIXED, data_type.byte_width)
    if (t.is_primitive(data_type) or t.is_decimal(data_type)) and data_type.bit_width % 8 == 0:
        return _Column(_Kind.FIXED, data_type.bit_width // 8)
    return _Column(_Kind.OTHER, 0)


def _arrays(data_type: pa.DataType) -> int:
    """How many arrays a column of this type consists of."""
    return 1 + sum(_arrays(data_type.field(i).type) for i in range(data_type.num_fields))


def _null_row_bytes(schema: pa.Schema) -> int:
    nulls = [pa.nulls(1, type=field.type) for field in schema]
    return int(row_sizes(pa.RecordBatch.from_arrays(nulls, names=schema.names))[0])


def _fresh(size: int) -> tuple[pa.Buffer, NDArray[np.uint8]]:
    """A new buffer, and the same memory to write to.

    From Arrow's pool, which keeps freed memory: NumPy gives large arrays back to the system, and every
    output batch would fault its pages in again.
    """
    buffer = pa.allocate_buffer(size)
    return buffer, np.frombuffer(buffer, dtype=np.uint8) if size else np.empty(0, dtype=np.uint8)


class Sources:
    """Batches of one schema that can be gathered from together."""

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema
        self._columns = [_column_of(field.type) for field in schema]
        self._batches: list[pa.RecordBatch | None] = []
        self._bytes: list[int] = []
        self._free: list[int] = []
        self._pointers = np.zeros((8, len(schema) * _POINTERS), dtype=np.uint64)
        self._row_sizes: dict[int, Int64s] = {}
        self._pins = 0
        self._dropped_while_pinned: list[int] = []
        self._lock = Lock()  # a join's front unpins while its other phase adds rows
        self.held_bytes = 0
        self._flat = all(is_flat(field.type) for field in schema)
        # Only columns whose rows differ in size need a look at each row to know its bytes.
        bits = len(schema) + sum(c.kind is _Kind.BITS for c in self._columns)
        self._fixed_bytes = sum(c.width for c in self._columns if c.kind is _Kind.FIXED) + (bits + 7) // 8
        self._null_bytes = self._fixed_bytes if self._flat else _null_row_bytes(schema)
        self.batch_bytes = _ARRAY_BYTES * sum(_arrays(field.type) for field in schema)
        """The most that a gathered batch takes beyond its rows' `row_bytes`."""
        self._varying = [
            i for i, c in enumerate(self._columns) if c.kind in (_Kind.OFFSETS_32, _Kind.OFFSETS_64)
        ]

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
            if column.kind is not _Kind.OTHER:
                array = batch.column(i)
                buffers = array.buffers()
                at = i * _POINTERS
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

    def column_pointers(self, column: int) -> NDArray[np.uint64]:
        return np.ascontiguousarray(self._pointers[:, column * _POINTERS : (column + 1) * _POINTERS])

    def gather(
        self, numbers: Int32s, rows: Int64s, columns: Sequence[int], *, share: bool = False
    ) -> list[pa.Array]:
        """The rows (numbers[i], rows[i]) of some columns, in this order; NOBODY gives nulls.

        With `share` a batch that is wanted whole is handed through as it is.
        """
        count = len(rows)
        if count == 0:
            return [pa.array([], type=self.schema.field(i).type) for i in columns]
        first = int(numbers[0])
        whole = share and first != NOBODY and count == self.batch(first).num_rows
        if whole and gathering.is_whole(numbers, rows):
            return [self.batch(first).column(i) for i in columns]  # nothing moves: share it
        missing = bool((numbers == NOBODY).any())
        return [self._gather_column(i, numbers, rows, missing) for i in columns]

    def row_bytes(self, numbers: Int32s, rows: Int64s) -> Int64s:
        """The most bytes each row takes once it is gathered. O(rows x varying columns)."""
        sizes = np.full(len(rows), self._null_bytes, dtype=np.int64)
        if self._flat:
            for i in self._varying:
                width = self._columns[i].width
                gathering.add_lengths(self.column_pointers(i), width, numbers, rows, sizes)
            return sizes
        for number in np.unique(numbers):
            if number != NOBODY:
                if number not in self._row_sizes:
                    self._row_sizes[int(number)] = row_sizes(self.batch(int(number)))
                mine = numbers == number
                sizes[mine] = self._row_sizes[int(number)][rows[mine]]
        return sizes

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

    def _gather_column(self, i: int, numbers: Int32s, rows: Int64s, missing: bool) -> pa.Array:
        column, data_type = self._columns[i], self.schema.field(i).type
        if column.kind is _Kind.OTHER:
            return self._take_piecewise(i, numbers, rows)
        pointers = self.column_pointers(i)
        count = len(rows)
        validity, nulls = None, 0
        if missing or pointers[:, 0].any():
            valid, bits = _fresh((count + 7) // 8)
            nulls = gathering.gather_validity(pointers, numbers, rows, bits)
            validity = valid if nulls else None
        if column.kind is _Kind.BITS:
            buffer, bits = _fresh((count + 7) // 8)
            gathering.gather_bits(pointers, numbers, rows, bits)
            return pa.Array.from_buffers(data_type, count, [validity, buffer], nulls)
        if column.kind is _Kind.FIXED:
            buffer, values = _fresh(count * column.width)
            gathering.gather_fixed(pointers, column.width, numbers, rows, values)
            return pa.Array.from_buffers(data_type, count, [validity, buffer], nulls)
        ends = np.empty(count + 1, dtype=np.int64)
        starts = np.empty(count, dtype=np.uint64)
        total = gathering.gather_offsets(pointers, column.width, numbers, rows, ends, starts)
        assert column.width == 8 or total < 2**31, "32-bit offsets can't reach that far: gather fewer rows"
        buffer, data = _fresh(total)
        gathering.gather_bytes(starts, ends, data)
        offsets = ends if column.kind is _Kind.OFFSETS_64 else ends.astype(np.int32)
        return pa.Array.from_buffers(data_type, count, [validity, pa.py_buffer(offsets), buffer], nulls)

    def _take_piecewise(self, i: int, numbers: Int32s, rows: Int64s) -> pa.Array:
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
