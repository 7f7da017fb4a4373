"""Rows that are known by the addresses of their buffers, gathered column by column.

A row is a pair (source, row). What a source is, and who keeps its memory alive, is the subclass's
matter: batches that somebody added (`sources`), or pages of a memory map (`stores.mapped`).

Cost: `gather` O(rows x columns), nothing depends on the number of sources.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from semistream.structures import gathering
from semistream.structures.sizes import is_flat, row_sizes

Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]

NOBODY = -1  # the source of a row that isn't there: it is gathered as nulls
POINTERS = 4  # validity, first row, first buffer, second buffer
_ARRAY_BYTES = 16  # of an array beyond its rows: one more offset, bitmaps rounded up to bytes


class Kind(IntEnum):
    FIXED = 0
    BITS = 1
    OFFSETS_32 = 2
    OFFSETS_64 = 3
    OTHER = 4


@dataclass(frozen=True, slots=True)
class Column:
    kind: Kind
    width: int


def column_of(data_type: pa.DataType) -> Column:
    t = pa.types
    if t.is_boolean(data_type):
        return Column(Kind.BITS, 0)
    if t.is_string(data_type) or t.is_binary(data_type):
        return Column(Kind.OFFSETS_32, 4)
    if t.is_large_string(data_type) or t.is_large_binary(data_type):
        return Column(Kind.OFFSETS_64, 8)
    if t.is_fixed_size_binary(data_type):
        return Column(Kind.FIXED, data_type.byte_width)
    if (t.is_primitive(data_type) or t.is_decimal(data_type)) and data_type.bit_width % 8 == 0:
        return Column(Kind.FIXED, data_type.bit_width // 8)
    return Column(Kind.OTHER, 0)


def _null_row_bytes(schema: pa.Schema) -> int:
    nulls = [pa.nulls(1, type=field.type) for field in schema]
    return int(row_sizes(pa.RecordBatch.from_arrays(nulls, names=schema.names))[0])


def fresh(size: int) -> tuple[pa.Buffer, NDArray[np.uint8]]:
    """A new buffer, and the same memory to write to.

    From Arrow's pool, which keeps freed memory: NumPy gives large arrays back to the system, and every
    output batch would fault its pages in again.
    """
    buffer = pa.allocate_buffer(size)
    return buffer, np.frombuffer(buffer, dtype=np.uint8) if size else np.empty(0, dtype=np.uint8)


class Addressed:
    """Sources of one schema: `pointers` has a row a source, and four addresses a column in it (see
    `gathering`)."""

    def __init__(self, schema: pa.Schema, sources: int = 0) -> None:
        self.schema = schema
        self._columns = [column_of(field.type) for field in schema]
        self._pointers = np.zeros((sources, len(schema) * POINTERS), dtype=np.uint64)
        self._flat = all(is_flat(field.type) for field in schema)
        # Only columns whose rows differ in size need a look at each row to know its bytes.
        bits = len(schema) + sum(c.kind is Kind.BITS for c in self._columns)
        self._fixed_bytes = sum(c.width for c in self._columns if c.kind is Kind.FIXED) + (bits + 7) // 8
        self._null_bytes = self._fixed_bytes if self._flat else _null_row_bytes(schema)
        self._varying = [
            i for i, c in enumerate(self._columns) if c.kind in (Kind.OFFSETS_32, Kind.OFFSETS_64)
        ]

    @property
    def columns(self) -> Sequence[Column]:
        return self._columns

    @property
    def pointers(self) -> NDArray[np.uint64]:
        return self._pointers

    def column_pointers(self, column: int) -> NDArray[np.uint64]:
        return np.ascontiguousarray(self._pointers[:, column * POINTERS : (column + 1) * POINTERS])

    def gather(self, numbers: Int32s, rows: Int64s, columns: Sequence[int]) -> list[pa.Array]:
        """The rows (numbers[i], rows[i]) of some columns, in this order; NOBODY gives nulls."""
        if len(rows) == 0:
            return [pa.array([], type=self.schema.field(i).type) for i in columns]
        missing = bool((numbers == NOBODY).any())
        return [self._gather_column(i, numbers, rows, missing) for i in columns]

    def row_bytes(self, numbers: Int32s, rows: Int64s) -> Int64s:
        """The most bytes each row takes once it is gathered. O(rows x varying columns)."""
        sizes = np.full(len(rows), self._null_bytes, dtype=np.int64)
        for i in self._varying:
            width = self._columns[i].width
            gathering.add_lengths(self.column_pointers(i), width, numbers, rows, sizes)
        return sizes

    def total_bytes(self, numbers: Int32s, rows: Int64s) -> int:
        """The sum of `row_bytes`, without an array of them."""
        total = self._null_bytes * len(rows)
        for i in self._varying:
            width = self._columns[i].width
            total += gathering.total_length(self.column_pointers(i), width, numbers, rows) + width * len(rows)
        return total

    def _gather_column(self, i: int, numbers: Int32s, rows: Int64s, missing: bool) -> pa.Array:
        column, data_type = self._columns[i], self.schema.field(i).type
        if column.kind is Kind.OTHER:
            return self._gather_other(i, numbers, rows)
        pointers = self.column_pointers(i)
        count = len(rows)
        validity, nulls = None, 0
        if missing or pointers[:, 0].any():
            valid, bits = fresh((count + 7) // 8)
            nulls = gathering.gather_validity(pointers, numbers, rows, bits)
            validity = valid if nulls else None
        if column.kind is Kind.BITS:
            buffer, bits = fresh((count + 7) // 8)
            gathering.gather_bits(pointers, numbers, rows, bits)
            return pa.Array.from_buffers(data_type, count, [validity, buffer], nulls)
        if column.kind is Kind.FIXED:
            buffer, values = fresh(count * column.width)
            gathering.gather_fixed(pointers, column.width, numbers, rows, values)
            return pa.Array.from_buffers(data_type, count, [validity, buffer], nulls)
        ends = fresh(8 * (count + 1))[1].view(np.int64)
        starts = fresh(8 * count)[1].view(np.uint64)
        total = gathering.gather_offsets(pointers, column.width, numbers, rows, ends, starts)
        assert column.width == 8 or total < 2**31, "32-bit offsets can't reach that far: gather fewer rows"
        buffer, data = fresh(total)
        gathering.gather_bytes(starts, ends, data)
        offsets, narrow = fresh(column.width * (count + 1))
        narrow.view(np.int64 if column.kind is Kind.OFFSETS_64 else np.int32)[:] = ends
        return pa.Array.from_buffers(data_type, count, [validity, offsets, buffer], nulls)

    def _gather_other(self, i: int, numbers: Int32s, rows: Int64s) -> pa.Array:
        """Nested, dictionary and view columns, which addresses alone don't describe."""
        raise TypeError(f"column {self.schema.field(i)} can't be gathered by its addresses")
