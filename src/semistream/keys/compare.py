"""Encoded keys against each other: sorting, repeats, and places among fences.

Null and foreign rows stand behind all others and equal nothing, not even each other.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from semistream.errors import ArgumentError
from semistream.keys.encoded import Keys
from semistream.keys.kernels import compare_with_previous, search_codes, search_rows


def order(keys: Keys) -> NDArray[np.int64]:
    """The stable permutation that sorts rows by key. O(n log n) comparisons."""
    if keys.offsets is None or keys.data is None:
        rows = np.argsort(keys.codes, kind="stable").astype(np.int64, copy=False)
    else:
        buffers = [None, pa.py_buffer(keys.offsets), pa.py_buffer(keys.data)]
        rows_of_bytes = pa.LargeBinaryArray.from_buffers(pa.large_binary(), len(keys), buffers)
        rows = pc.array_sort_indices(rows_of_bytes).to_numpy().astype(np.int64)
    absent = (keys.null | keys.foreign)[rows]
    return np.concatenate([rows[~absent], rows[absent]]) if absent.any() else rows


def is_sorted(keys: Keys) -> bool:
    """Whether rows stand as `order` would put them: ascending keys, then null and foreign rows."""
    absent = keys.null | keys.foreign
    if np.any(absent[:-1] & ~absent[1:]):
        return False
    present = len(keys) - int(np.count_nonzero(absent))
    if keys.offsets is None or keys.data is None:
        codes = keys.codes[:present]
        return bool(np.all(codes[:-1] <= codes[1:]))
    return bool(np.all(_compared_with_previous(keys.offsets, keys.data)[: max(present - 1, 0)] >= 0))


def same_as_previous(keys: Keys) -> NDArray[np.bool_]:
    """Whether row i has the key of row i - 1, by the key itself and not by its hash; False for row 0."""
    same = np.zeros(len(keys), np.bool_)
    if keys.offsets is None or keys.data is None:
        np.equal(keys.codes[1:], keys.codes[:-1], out=same[1:])
    else:
        np.equal(_compared_with_previous(keys.offsets, keys.data), 0, out=same[1:])
    absent = keys.null | keys.foreign
    same[absent] = False
    same[1:][absent[:-1]] = False
    return same


def search(fences: Keys, keys: Keys) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The half-open range of fences that equal each key: the first fence not below it, the first above it.

    `fences` ascend, as `order` sorts; null fences are never found. Null and foreign keys give (0, 0).
    O(log(fences)) comparisons a key.
    """
    if (fences.offsets is None) != (keys.offsets is None):
        raise ArgumentError(
            "fences and keys were encoded by different codecs (one of them exact); "
            "encode both with the master's KeyCodec and what it accepts"
        )
    present = len(fences) - int(np.count_nonzero(fences.null | fences.foreign))
    absent = keys.null | keys.foreign
    if fences.offsets is None or fences.data is None or keys.offsets is None or keys.data is None:
        left, right = np.empty(len(keys), np.int64), np.empty(len(keys), np.int64)
        search_codes(fences.codes, present, keys.codes, left, right)
        left[absent] = 0
        right[absent] = 0
        return left, right
    left = np.zeros(len(keys), np.int64)
    right = np.zeros(len(keys), np.int64)
    skipped = absent.view(np.uint8)
    search_rows(fences.offsets, fences.data, present, keys.offsets, keys.data, skipped, left, right)
    return left, right


def _compared_with_previous(offsets: NDArray[np.int64], data: NDArray[np.uint8]) -> NDArray[np.int64]:
    compared = np.empty(max(len(offsets) - 2, 0), np.int64)
    compare_with_previous(offsets, data, compared)
    return compared
