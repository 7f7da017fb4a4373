"""The kernels behind `Sources`: one column of rows that lie in many batches.

`pointers` has a row a source: the addresses of its validity bits, its first row, and the
addresses of its first and second buffer. A negative source number is a row of nulls.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from semistream.structures.jit import inline, kernel
from semistream.structures.memory import (
    copy_bytes,
    load_int32,
    load_int64,
    load_uint8,
    load_uint16,
    load_uint32,
    load_uint64,
    prefetch,
)

Bytes = NDArray[np.uint8]
Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]
Addresses = NDArray[np.uint64]

AHEAD = 12  # rows that are asked for before they are copied


@inline
def _bit(address: int, position: int) -> bool:
    return bool((load_uint8(np.uint64(address + np.uint64(position >> 3))) >> (position & 7)) & 1)


@inline
def _offset(address: int, width: int, position: int) -> int:
    if width == 4:
        return int(np.int64(load_int32(np.uint64(address + np.uint64(position * 4)))))
    return int(load_int64(np.uint64(address + np.uint64(position * 8))))


@kernel
def is_run(numbers: Int32s, rows: Int64s) -> bool:
    """Whether these are neighbouring rows of one source, in order."""
    for i in range(len(rows)):  # noqa: SIM110 - Numba compiles the loop, not `all` of a generator
        if rows[i] != rows[0] + i or numbers[i] != numbers[0]:
            return False
    return True


@kernel
def gather_validity(pointers: Addresses, numbers: Int32s, rows: Int64s, out: Bytes) -> int:
    """Fill `out` with validity bits; return how many rows are null."""
    nulls = 0
    out[:] = 0
    for i in range(len(rows)):
        number = numbers[i]
        valid = number >= 0
        if valid and pointers[number, 0] != 0:
            valid = _bit(pointers[number, 0], np.int64(pointers[number, 1]) + rows[i])
        if valid:
            out[i >> 3] |= np.uint8(1 << (i & 7))
        else:
            nulls += 1
    return nulls


@kernel
def gather_bits(pointers: Addresses, numbers: Int32s, rows: Int64s, out: Bytes) -> None:
    out[:] = 0
    for i in range(len(rows)):
        number = numbers[i]
        if number >= 0 and _bit(pointers[number, 2], np.int64(pointers[number, 1]) + rows[i]):
            out[i >> 3] |= np.uint8(1 << (i & 7))


@kernel
def gather_fixed(pointers: Addresses, width: int, numbers: Int32s, rows: Int64s, out: Bytes) -> None:
    if width == 8:
        out64 = out.view(np.uint64)
        for i in range(len(rows)):
            number = numbers[i]
            out64[i] = 0
            if number >= 0:
                at = (pointers[number, 1] + np.uint64(rows[i])) * np.uint64(8)
                out64[i] = load_uint64(pointers[number, 2] + at)
    elif width == 4:
        out32 = out.view(np.uint32)
        for i in range(len(rows)):
            number = numbers[i]
            out32[i] = 0
            if number >= 0:
                at = (pointers[number, 1] + np.uint64(rows[i])) * np.uint64(4)
                out32[i] = load_uint32(pointers[number, 2] + at)
    elif width == 2:
        out16 = out.view(np.uint16)
        for i in range(len(rows)):
            number = numbers[i]
            out16[i] = 0
            if number >= 0:
                at = (pointers[number, 1] + np.uint64(rows[i])) * np.uint64(2)
                out16[i] = load_uint16(pointers[number, 2] + at)
    else:
        target = np.uint64(out.ctypes.data)
        for i in range(len(rows)):
            number = numbers[i]
            if number >= 0:
                at = (pointers[number, 1] + np.uint64(rows[i])) * np.uint64(width)
                copy_bytes(target, pointers[number, 2] + at, width)
            else:
                out[i * width : (i + 1) * width] = 0
            target += np.uint64(width)


@kernel
def gather_offsets(
    pointers: Addresses, width: int, numbers: Int32s, rows: Int64s, ends: Int64s, starts: Addresses
) -> int:
    """Fill `ends` with running offsets and `starts` with each row's address; return all rows' bytes."""
    total = np.int64(0)
    ends[0] = 0
    for i in range(len(rows)):
        number = numbers[i]
        starts[i] = 0
        if number >= 0:
            row = np.int64(pointers[number, 1]) + rows[i]
            start = _offset(pointers[number, 2], width, row)
            starts[i] = pointers[number, 3] + np.uint64(start)
            total += _offset(pointers[number, 2], width, row + 1) - start
        ends[i + 1] = total
    return int(total)


@kernel
def gather_bytes(starts: Addresses, ends: Int64s, out: Bytes) -> None:
    target = np.uint64(out.ctypes.data)
    for i in range(len(starts)):
        if i + AHEAD < len(starts):
            prefetch(starts[i + AHEAD])
            prefetch(starts[i + AHEAD] + np.uint64(64))
        size = ends[i + 1] - ends[i]
        if size > 0:
            copy_bytes(target + np.uint64(ends[i]), starts[i], size)


@kernel
def add_lengths(pointers: Addresses, width: int, numbers: Int32s, rows: Int64s, sizes: Int64s) -> None:
    """Add to each row's size the bytes of one column, its offset included."""
    for i in range(len(rows)):
        number = numbers[i]
        if number >= 0:
            row = np.int64(pointers[number, 1]) + rows[i]
            sizes[i] += _offset(pointers[number, 2], width, row + 1) - _offset(
                pointers[number, 2], width, row
            )
        sizes[i] += width


@kernel
def total_length(pointers: Addresses, width: int, numbers: Int32s, rows: Int64s) -> int:
    """The bytes of one column, all rows together, without their offsets."""
    total = np.int64(0)
    for i in range(len(rows)):
        number = numbers[i]
        if number >= 0:
            row = np.int64(pointers[number, 1]) + rows[i]
            total += _offset(pointers[number, 2], width, row + 1) - _offset(pointers[number, 2], width, row)
    return int(total)


@kernel
def equal_bytes(
    left: Addresses,
    left_numbers: Int32s,
    left_rows: Int64s,
    right: Addresses,
    right_numbers: Int32s,
    right_rows: Int64s,
) -> NDArray[np.bool_]:
    """Whether two large_binary columns hold the same bytes, row by row."""
    same = np.empty(len(left_rows), dtype=np.bool_)
    for i in range(len(left_rows)):
        a, b = left_numbers[i], right_numbers[i]
        row_a = np.int64(left[a, 1]) + left_rows[i]
        row_b = np.int64(right[b, 1]) + right_rows[i]
        start_a, start_b = _offset(left[a, 2], 8, row_a), _offset(right[b, 2], 8, row_b)
        size = _offset(left[a, 2], 8, row_a + 1) - start_a
        same[i] = size == _offset(right[b, 2], 8, row_b + 1) - start_b
        k = np.int64(0)
        while same[i] and k < size:
            if load_uint8(left[a, 3] + np.uint64(start_a + k)) != load_uint8(
                right[b, 3] + np.uint64(start_b + k)
            ):
                same[i] = False
            k += 1
    return same
