"""Rows taken out of arrays, string and binary views among them.

pyarrow can't take from views, nor from what holds them: they are taken as large strings, and
become views again. That also leaves behind what a view's buffers hold of other rows.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


def taken_array(array: pa.Array, rows: NDArray[np.int64]) -> pa.Array:
    """`array.take`, also for views. O(rows); for what holds views O(array)."""
    wanted = pa.array(rows, pa.int64())
    plain = _without_views(array.type)
    if plain == array.type:
        return array.take(wanted)
    return array.cast(plain).take(wanted).cast(array.type)


def taken(batch: pa.RecordBatch, rows: NDArray[np.int64]) -> pa.RecordBatch:
    """`batch.take`, also for views."""
    columns = [taken_array(array, rows) for array in batch.columns]
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)


def _without_views(data_type: pa.DataType) -> pa.DataType:
    """A dictionary stays as it is: only its indices are taken."""
    t = pa.types
    if t.is_string_view(data_type):
        return pa.large_string()
    if t.is_binary_view(data_type):
        return pa.large_binary()
    if t.is_list(data_type):
        return pa.list_(_plain_field(data_type.value_field))
    if t.is_large_list(data_type):
        return pa.large_list(_plain_field(data_type.value_field))
    if t.is_fixed_size_list(data_type):
        return pa.list_(_plain_field(data_type.value_field), data_type.list_size)
    if t.is_map(data_type):
        key, item = _plain_field(data_type.key_field), _plain_field(data_type.item_field)
        return pa.map_(key, item, data_type.keys_sorted)
    if t.is_struct(data_type):
        return pa.struct([_plain_field(field) for field in data_type.fields])
    return data_type


def _plain_field(field: pa.Field) -> pa.Field:
    return field.with_type(_without_views(field.type))
