"""Rows as they come to a writer: those without a key left out, and where a key's rows begin."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from semistream.errors import ArgumentError
from semistream.keys import is_sorted, same_as_previous
from semistream.stores.sorting import codec_of, first_out_of_order, key_text, same_schema
from semistream.structures.views import taken


class KeyRuns:
    """Follows keys from batch to batch, and counts what a manifest says of them.

    `remedy` is what to do about rows that aren't in key order; None: they needn't be, as long as
    the rows of one key come together. Holds the first and the last key.
    """

    def __init__(self, schema: pa.Schema, key: tuple[str, ...], remedy: str | None) -> None:
        self.rows = 0
        self.null_key_rows = 0
        self.unique = True
        self._schema, self._key, self._remedy = schema, key, remedy
        self._codec = codec_of(schema, key)
        self._first: list[pa.Array] = []
        self._last: list[pa.Array] = []

    def add(self, batch: pa.RecordBatch) -> tuple[pa.RecordBatch, NDArray[np.bool_]]:
        """The rows that have a key, and whether each has that of the row before it."""
        same_schema(batch.schema, self._schema, "the batch")
        columns = [batch.column(name) for name in self._key]
        if any(column.null_count for column in columns):
            present = np.flatnonzero(~self._codec.encode(columns).null)
            self.null_key_rows += batch.num_rows - len(present)
            batch = taken(batch, present)
            columns = [batch.column(name) for name in self._key]
        if batch.num_rows == 0:
            return batch, np.zeros(0, np.bool_)
        carried = 1 if self._last else 0
        if self._last:
            columns = [pa.concat_arrays([last, new]) for last, new in zip(self._last, columns, strict=True)]
        else:
            self._first = [one_row(column, 0) for column in columns]
        keys = self._codec.encode(columns)
        if self._remedy is not None and not is_sorted(keys):
            row = first_out_of_order(keys)
            raise ArgumentError(
                f"row {self.rows + row - carried} has key {key_text(columns, row)}, "
                f"below {key_text(columns, row - 1)} of the row before: "
                f"a clustered copy is written in key order; {self._remedy}"
            )
        same = same_as_previous(keys)[carried:]
        self.unique = self.unique and not same.any()
        self._last = [one_row(column, len(column) - 1) for column in columns]
        self.rows += batch.num_rows
        return batch, same

    def ends(self) -> pa.RecordBatch:
        """The first key and the last; nothing where no row came."""
        fields = pa.schema([self._schema.field(name) for name in self._key])
        if not self._last:
            return pa.RecordBatch.from_pylist([], fields)
        columns = [pa.concat_arrays(pair) for pair in zip(self._first, self._last, strict=True)]
        return pa.RecordBatch.from_arrays(columns, schema=fields)


def one_row(column: pa.Array, row: int) -> pa.Array:
    """A copy of one row: a slice would keep its whole batch alive."""
    return pa.concat_arrays([column.slice(row, 1)])
