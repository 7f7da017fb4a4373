"""Arrow arrays as numpy arrays: no row is touched by Python, no buffer copied without need."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


def decoded(array: pa.Array) -> pa.Array:
    """The array with a dictionary's values in their places."""
    if not pa.types.is_dictionary(array.type):
        return array
    values = array.dictionary
    if values.type in (pa.string_view(), pa.binary_view(), pa.string(), pa.binary()):
        values = values.cast(pa.large_binary())  # Arrow can't take from views; the others might pass 2 GiB
    return pa.DictionaryArray.from_arrays(array.indices, values).dictionary_decode()


def nulls_of(array: pa.Array) -> NDArray[np.bool_]:
    """True where the array is null."""
    if pa.types.is_null(array.type):
        return np.ones(len(array), np.bool_)
    bitmap = array.buffers()[0]
    if bitmap is None or array.null_count == 0:
        return np.zeros(len(array), np.bool_)
    first, skipped = divmod(array.offset, 8)
    count = skipped + len(array)
    packed = np.frombuffer(bitmap, np.uint8, (count + 7) // 8, first)
    valid: NDArray[np.uint8] = np.unpackbits(packed, count=count, bitorder="little")[skipped:]
    return np.equal(valid, 0)


def numbers_of(array: pa.Array, dtype: str, per_row: int = 1) -> NDArray[Any]:
    """The values of a fixed-width array, `per_row` numbers each, as a read-only view."""
    count = len(array) * per_row
    if count == 0:
        return np.empty(0, dtype)
    return np.frombuffer(array.buffers()[1], dtype, count, array.offset * per_row * np.dtype(dtype).itemsize)


def bytes_of(array: pa.Array) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Offsets (a copy) and data (borrowed from Arrow, only to be read) of a string or binary array."""
    wide = array.cast(pa.large_binary())
    _, starts, data = wide.buffers()
    if len(wide) == 0:
        return np.zeros(1, np.int64), np.empty(0, np.uint8)
    offsets = np.frombuffer(starts, np.int64, len(wide) + 1, wide.offset * 8).copy()
    if data is None or data.size == 0:
        return offsets, np.empty(0, np.uint8)
    return offsets, np.asarray(_Borrowed(data))


class _Borrowed:
    """A buffer under numpy's array protocol, marked writable so that kernels compile only once.

    The array made of it keeps this object, and so the buffer, alive.
    """

    def __init__(self, buffer: pa.Buffer) -> None:
        self.buffer = buffer
        self.__array_interface__ = {
            "version": 3,
            "typestr": "|u1",
            "shape": (buffer.size,),
            "data": (buffer.address, False),
        }
