"""The output of `page_rows`: columns with room for some rows, and the batch that they become."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from semistream.structures.addressed import Kind, column_of, fresh
from semistream.structures.gathering import gather_bytes


class PickedRows:
    """Columns that a kernel fills: values at addresses, and for bytes of any length where they are."""

    def __init__(self, schema: pa.Schema, capacity: int) -> None:
        self.capacity = capacity
        self._schema = schema
        self._columns = [column_of(field.type) for field in schema]
        self.kinds = np.array([int(column.kind) for column in self._columns], dtype=np.int64)
        self.widths = np.array([column.width for column in self._columns], dtype=np.int64)
        self._buffers = [
            fresh(capacity * column.width) if column.kind is Kind.FIXED else None for column in self._columns
        ]
        self.values = np.array(
            [0 if buffer is None else buffer[0].address for buffer in self._buffers], dtype=np.uint64
        )
        room = (capacity + 7) // 8
        self.validity = np.full((len(schema), room), 255, np.uint8)
        bits = any(column.kind is Kind.BITS for column in self._columns)
        self.bits = np.zeros((len(schema) if bits else 1, room if bits else 1), np.uint8)
        varying = max(1, sum(column.kind in (Kind.OFFSETS_32, Kind.OFFSETS_64) for column in self._columns))
        self.starts = np.empty((varying, capacity), np.uint64)
        self.ends = np.zeros((varying, capacity + 1), np.int64)
        self.nulls = np.zeros(len(schema), np.int64)
        self.origins = np.empty(capacity, np.int64)  # which key each row has

    @staticmethod
    def row_bytes(schema: pa.Schema) -> int:
        """What a row takes here, beside its bytes of any length."""
        columns = [column_of(field.type) for field in schema]
        fixed = sum(column.width for column in columns if column.kind is Kind.FIXED)
        varying = sum(column.kind in (Kind.OFFSETS_32, Kind.OFFSETS_64) for column in columns)
        return fixed + 24 * varying + len(schema) // 4 + 9

    def batch(self, rows: int) -> pa.RecordBatch:
        """The first rows as a record batch; the bytes of any length are copied now."""
        arrays, varying = [], 0
        for i, (field, column) in enumerate(zip(self._schema, self._columns, strict=True)):
            nulls = int(self.nulls[i])
            buffers = [pa.py_buffer(self.validity[i, : (rows + 7) // 8].copy()) if nulls else None]
            if column.kind is Kind.BITS:
                buffers.append(pa.py_buffer(self.bits[i, : (rows + 7) // 8].copy()))
            elif column.kind is Kind.FIXED:
                values = self._buffers[i]
                assert values is not None
                buffers.append(values[0])
            else:
                ends = self.ends[varying, : rows + 1].copy()
                data, target = fresh(int(ends[-1]))
                gather_bytes(self.starts[varying, :rows].copy(), ends, target)
                offsets = ends if column.kind is Kind.OFFSETS_64 else ends.astype(np.int32)
                buffers += [pa.py_buffer(offsets), data]
                varying += 1
            arrays.append(pa.Array.from_buffers(field.type, rows, buffers, nulls))
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)
