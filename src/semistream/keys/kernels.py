"""Kernels over key bytes: copying, laying out composites, hashing, comparing, searching.

Row i of a pair (offsets, data) is data[offsets[i]:offsets[i + 1]]. Arguments are contiguous and
writable throughout, also where a kernel only reads: Numba compiles once more for read-only arrays.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from semistream.structures.jit import inline, kernel

Codes = NDArray[np.uint64]
Positions = NDArray[np.int64]
Bytes = NDArray[np.uint8]

_SEED = np.uint64(0x2545F4914F6CDD1D)
_FIRST = np.uint64(0x9FB21C651E98DF25)
_SECOND = np.uint64(0xD6E8FEB86659FD93)


@kernel
def copy_rows(starts: Positions, source: Bytes, offsets: Positions, target: Bytes) -> None:
    """Fill each row of `target` from `source`, where it begins at `starts`."""
    for row in range(len(starts)):
        begin = offsets[row]
        shift = starts[row] - begin
        for at in range(begin, offsets[row + 1]):
            target[at] = source[at + shift]


@kernel
def escaped_lengths(offsets: Positions, source: Bytes, lengths: Positions) -> None:
    """Add to each row's length what its bytes take once escaped and terminated."""
    for row in range(len(lengths)):
        begin, end = offsets[row], offsets[row + 1]
        zeros = 0
        for at in range(begin, end):
            zeros += source[at] == 0
        lengths[row] += end - begin + zeros + 2


@kernel
def write_escaped(offsets: Positions, source: Bytes, absent: Bytes, cursor: Positions, target: Bytes) -> None:
    """Append each row's bytes so that no row is a prefix of another: 0x00 as 0x00 0xFF, then 0x00 0x00."""
    for row in range(len(absent)):
        if absent[row]:
            continue
        out = cursor[row]
        for at in range(offsets[row], offsets[row + 1]):
            target[out] = source[at]
            out += 1
            if source[at] == 0:
                target[out] = 0xFF
                out += 1
        target[out] = 0
        target[out + 1] = 0
        cursor[row] = out + 2


@kernel
def write_words(words: Codes, width: int, absent: Bytes, cursor: Positions, target: Bytes) -> None:
    """Append each row's word as `width` bytes, most significant first."""
    for row in range(len(absent)):
        if absent[row]:
            continue
        word = words[row]
        out = cursor[row]
        for at in range(out + width - 1, out - 1, -1):
            target[at] = np.uint8(word & np.uint64(0xFF))
            word >>= np.uint64(8)
        cursor[row] = out + width


@inline
def _load(data: Bytes, at: int) -> np.uint64:
    """Eight bytes as a little-endian word; the compiler makes one load of it."""
    word = np.uint64(data[at])
    word |= np.uint64(data[at + 1]) << np.uint64(8)
    word |= np.uint64(data[at + 2]) << np.uint64(16)
    word |= np.uint64(data[at + 3]) << np.uint64(24)
    word |= np.uint64(data[at + 4]) << np.uint64(32)
    word |= np.uint64(data[at + 5]) << np.uint64(40)
    word |= np.uint64(data[at + 6]) << np.uint64(48)
    word |= np.uint64(data[at + 7]) << np.uint64(56)
    return word


@inline
def _mixed(state: np.uint64, word: np.uint64) -> np.uint64:
    """A bijection of either argument; two multiplications, so that no fixed difference of one
    word cancels a difference of the word before it."""
    state = (state ^ word) * _FIRST
    state = (state ^ (state >> np.uint64(32))) * _SECOND
    return state ^ (state >> np.uint64(29))


@kernel
def _hash_rows(offsets: Positions, data: Bytes, codes: Codes) -> None:
    for row in range(len(codes)):
        at, end = offsets[row], offsets[row + 1]
        state = _mixed(_SEED, np.uint64(end - at))
        while at + 8 <= end:
            state = _mixed(state, _load(data, at))
            at += 8
        if at < end:
            word = np.uint64(0)
            while at < end:
                word = (word << np.uint64(8)) | np.uint64(data[at])
                at += 1
            state = _mixed(state, word)
        codes[row] = _mixed(state, np.uint64(0))


def hash_bytes(offsets: Positions, data: Bytes) -> Codes:
    """A 64-bit hash of each row's bytes, the same in every process.

    Codecs look it up as `semistream.keys.hash_bytes` in each call, so that a test can put a bad
    hash in its place and see that matches are checked by key bytes.
    """
    codes = np.empty(len(offsets) - 1, np.uint64)
    _hash_rows(offsets, data, codes)
    return codes


@inline
def _compared(left: Bytes, begin: int, end: int, right: Bytes, other: int, other_end: int) -> int:
    """-1, 0 or 1: how left[begin:end] stands to right[other:other_end] in byte order."""
    shared = min(end - begin, other_end - other)
    at = 0
    while at + 8 <= shared and _load(left, begin + at) == _load(right, other + at):
        at += 8
    while at < shared and left[begin + at] == right[other + at]:
        at += 1
    result = 0
    if at < shared:
        result = -1 if left[begin + at] < right[other + at] else 1
    elif end - begin != other_end - other:
        result = -1 if end - begin < other_end - other else 1
    return result


@kernel
def compare_with_previous(offsets: Positions, data: Bytes, compared: Positions) -> None:
    """compared[i] is how row i + 1 stands to row i: -1, 0 or 1."""
    for row in range(len(compared)):
        middle = offsets[row + 1]
        compared[row] = _compared(data, middle, offsets[row + 2], data, offsets[row], middle)


@kernel
def search_rows(
    fence_offsets: Positions,
    fence_data: Bytes,
    fences: int,
    offsets: Positions,
    data: Bytes,
    absent: Bytes,
    left: Positions,
    right: Positions,
) -> None:
    """Where each row would stand among the first `fences` fences; two binary searches a row."""
    for row in range(len(absent)):
        if absent[row]:
            continue
        begin, end = offsets[row], offsets[row + 1]
        low, high = 0, fences
        while low < high:
            middle = (low + high) >> 1
            fence, fence_end = fence_offsets[middle], fence_offsets[middle + 1]
            if _compared(fence_data, fence, fence_end, data, begin, end) < 0:
                low = middle + 1
            else:
                high = middle
        left[row] = low
        # Most fences differ, so the end is looked for close by first: steps that double, then halves.
        step = 1
        high = low
        while high < fences:
            fence, fence_end = fence_offsets[high], fence_offsets[high + 1]
            if _compared(fence_data, fence, fence_end, data, begin, end) > 0:
                break
            low = high + 1
            high = min(high + step, fences)
            step *= 2
        while low < high:
            middle = (low + high) >> 1
            fence, fence_end = fence_offsets[middle], fence_offsets[middle + 1]
            if _compared(fence_data, fence, fence_end, data, begin, end) <= 0:
                low = middle + 1
            else:
                high = middle
        right[row] = low


@kernel
def search_codes(fences: Codes, count: int, codes: Codes, left: Positions, right: Positions) -> None:
    """Where each code would stand among the first `count` fences.

    Each search begins where the code would be if fences were evenly spaced, and goes on in steps that
    double, then halve: O(1) for numbered keys, and at most twice the steps of halving alone for any.
    """
    least, most = np.uint64(0), np.uint64(0)
    if count:
        least, most = fences[0], fences[count - 1]
    scale = np.float64(count - 1) / max(np.float64(most - least), 1.0)
    for row in range(len(codes)):
        code = codes[row]
        low, high = 0, count
        if count and code > least:
            guess = count - 1
            if code < most:
                guess = min(count - 1, int(np.float64(code - least) * scale))
            step = 1
            if fences[guess] < code:
                low = guess + 1
                while low + step <= count and fences[low + step - 1] < code:
                    low += step
                    step *= 2
                high = min(count, low + step - 1)
            else:
                high = guess
                while high >= step and fences[high - step] >= code:
                    high -= step
                    step *= 2
                low = max(0, high - step + 1)
            while low < high:
                middle = (low + high) >> 1
                if fences[middle] < code:
                    low = middle + 1
                else:
                    high = middle
        else:
            high = 0
        left[row] = low
        while low < count and fences[low] == code:
            low += 1
        right[row] = low
