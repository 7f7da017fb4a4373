"""How many bytes Arrow data takes: of a batch as it is held, of each row once gathered."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Int64s = NDArray[np.int64]


def batch_bytes(batch: pa.RecordBatch) -> int:
    """Bytes a batch keeps alive: each buffer once, by address, with its whole capacity."""
    seen = {buffer.address: buffer.size for array in batch.columns for buffer in _buffers(array)}
    return sum(seen.values())


def is_flat(data_type: pa.DataType) -> bool:
    """Whether a row's bytes are known from its width, or from one pair of offsets."""
    t = pa.types
    return bool(
        t.is_primitive(data_type)
        or t.is_decimal(data_type)
        or t.is_fixed_size_binary(data_type)
        or t.is_string(data_type)
        or t.is_binary(data_type)
        or t.is_large_string(data_type)
        or t.is_large_binary(data_type)
        or t.is_null(data_type)
    )


def row_sizes(batch: pa.RecordBatch) -> Int64s:
    """Bytes of each row, nested columns followed down to their leaves."""
    sizes = np.zeros(batch.num_rows, dtype=np.int64)
    for array in batch.columns:
        sizes += _sizes(array)
    return sizes


def _buffers(array: pa.Array) -> Iterator[pa.Buffer]:
    yield from (buffer for buffer in array.buffers() if buffer is not None)
    if isinstance(array, pa.DictionaryArray):
        yield from _buffers(array.dictionary)


def _sizes(array: pa.Array) -> Int64s:
    t, data_type, count = pa.types, array.type, len(array)
    if isinstance(array, pa.ExtensionArray):
        return _sizes(array.storage)
    if t.is_null(data_type) or count == 0:
        return np.ones(count, dtype=np.int64)
    if t.is_dictionary(data_type):
        # Concatenating dictionaries may copy them whole; a row is charged its share.
        share = array.dictionary.nbytes // count
        return np.full(count, data_type.index_type.bit_width // 8 + share + 1, dtype=np.int64)
    if t.is_struct(data_type):
        return np.asarray(sum((_sizes(child) for child in array.flatten()), np.ones(count, dtype=np.int64)))
    if t.is_map(data_type) or t.is_list(data_type) or t.is_large_list(data_type):
        width = np.int64 if t.is_large_list(data_type) else np.int32
        offsets = np.frombuffer(array.buffers()[1], dtype=width)[array.offset : array.offset + count + 1]
        below = _below(array)
        running = np.concatenate([[0], np.cumsum(below)])
        return np.asarray(running[offsets[1:]] - running[offsets[:-1]] + offsets.itemsize + 1, dtype=np.int64)
    if t.is_fixed_size_list(data_type):
        # `values` has a place for every row, null or not, where `flatten` leaves null rows out.
        size = data_type.list_size
        below = _sizes(array.values)[array.offset * size : (array.offset + count) * size]
        return np.asarray(below.reshape(count, size).sum(axis=1) + 1, dtype=np.int64)
    wide = t.is_large_string(data_type) or t.is_large_binary(data_type)
    if wide or t.is_string(data_type) or t.is_binary(data_type):
        offsets = np.frombuffer(array.buffers()[1], dtype=np.int64 if wide else np.int32)
        lengths = np.diff(offsets[array.offset : array.offset + count + 1])
        return np.asarray(lengths + offsets.itemsize + 1, dtype=np.int64)
    if t.is_string_view(data_type) or t.is_binary_view(data_type):
        # Its buffers hold other rows' bytes as well: each view begins with its own length.
        views = np.frombuffer(array.buffers()[1], dtype=np.int32, count=4 * (array.offset + count))
        lengths = np.where(array.is_valid().to_numpy(zero_copy_only=False), views[4 * array.offset :: 4], 0)
        return np.asarray(lengths + 17, dtype=np.int64)
    return np.full(count, array.nbytes // count + 1, dtype=np.int64)


def _below(array: pa.Array) -> Int64s:
    """Sizes of the values of a list or map array, from the first one its buffers hold."""
    if pa.types.is_map(array.type):
        return _sizes(array.keys) + _sizes(array.items)
    return _sizes(array.values)
