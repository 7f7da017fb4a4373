"""A hash multi-map from key codes to small integers (slots, entries), inside fixed arrays.

Linear probing over distinct codes, a chain of items behind each. Deleting shifts later codes back,
so that no tombstones gather however long a stream runs.

Cost: insert and find O(1) each, remove O(length of each chain that loses items). Bytes: 12 x 2 x
capacity for the table (rounded up to a power of two) and 5 x items for the chains.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from semistream.structures.jit import inline, kernel

UInt64s = NDArray[np.uint64]
Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]

NONE = -1


@inline
def spread(code: int, mask: int) -> int:
    """A place in the table: neighbouring codes (integers are their own code) go far apart."""
    x = np.uint64(code)
    x ^= x >> np.uint64(32)
    x *= np.uint64(0x9E3779B97F4A7C15)
    x ^= x >> np.uint64(29)
    return int(np.int64(x & np.uint64(mask)))


@kernel
def _insert(table: UInt64s, heads: Int32s, chain: Int32s, codes: UInt64s, items: Int32s) -> None:
    mask = len(heads) - 1
    for i in range(len(codes)):
        at = spread(codes[i], mask)
        while heads[at] != NONE and table[at] != codes[i]:
            at = (at + 1) & mask
        table[at] = codes[i]
        chain[items[i]] = heads[at]
        heads[at] = items[i]


@inline
def _delete_place(table: UInt64s, heads: Int32s, hole: int, mask: int) -> None:
    at = hole
    while True:
        at = (at + 1) & mask
        if heads[at] == NONE:
            break
        home = spread(table[at], mask)
        if ((at - home) & mask) >= ((at - hole) & mask):
            table[hole] = table[at]
            heads[hole] = heads[at]
            hole = at
    heads[hole] = NONE


@kernel
def _remove(
    table: UInt64s, heads: Int32s, chain: Int32s, leaving: NDArray[np.bool_], codes: UInt64s, items: Int32s
) -> int:
    """Take items out; a chain is walked once, however many of its items leave."""
    mask = len(heads) - 1
    removed = 0
    for item in items:
        leaving[item] = True
    for i in range(len(codes)):
        if not leaving[items[i]]:
            continue
        at = spread(codes[i], mask)
        while heads[at] != NONE and table[at] != codes[i]:
            at = (at + 1) & mask
        before, item = NONE, heads[at]
        while item != NONE:
            after = chain[item]
            if leaving[item]:
                leaving[item] = False
                removed += 1
                if before == NONE:
                    heads[at] = after
                else:
                    chain[before] = after
            else:
                before = item
            item = after
        if before == NONE:
            _delete_place(table, heads, at, mask)
        leaving[items[i]] = False
    return removed


@kernel
def _find(table: UInt64s, heads: Int32s, codes: UInt64s, skip: NDArray[np.bool_]) -> Int32s:
    found = np.empty(len(codes), dtype=np.int32)
    mask = len(heads) - 1
    for i in range(len(codes)):
        found[i] = NONE
        if not skip[i]:
            at = spread(codes[i], mask)
            while heads[at] != NONE and table[at] != codes[i]:
                at = (at + 1) & mask
            found[i] = heads[at]
    return found


@kernel
def _expand(chain: Int32s, heads: Int32s) -> tuple[Int64s, Int32s]:
    """Every item of each chain: positions in `heads`, and items."""
    count = 0
    for i in range(len(heads)):
        item = heads[i]
        while item != NONE:
            count += 1
            item = chain[item]
    positions = np.empty(count, dtype=np.int64)
    items = np.empty(count, dtype=np.int32)
    count = 0
    for i in range(len(heads)):
        item = heads[i]
        while item != NONE:
            positions[count] = i
            items[count] = item
            count += 1
            item = chain[item]
    return positions, items


@kernel
def _chain_lengths(chain: Int32s, heads: Int32s) -> Int64s:
    lengths = np.zeros(len(heads), dtype=np.int64)
    for i in range(len(heads)):
        item = heads[i]
        while item != NONE:
            lengths[i] += 1
            item = chain[item]
    return lengths


def table_size(codes: int) -> int:
    """Places for this many distinct codes: a power of two, at most half full."""
    return 1 << max(3, (2 * max(1, codes) - 1).bit_length())


class CodeIndex:
    """Codes to items `0..capacity - 1`; one code may have many items, an item one code."""

    def __init__(self, capacity: int) -> None:
        size = table_size(capacity)
        self._table = np.zeros(size, dtype=np.uint64)
        self._heads = np.full(size, NONE, dtype=np.int32)
        self._chain = np.full(capacity, NONE, dtype=np.int32)
        self._leaving = np.zeros(capacity, dtype=np.bool_)
        self.count = 0

    @staticmethod
    def bytes_for(capacity: int) -> int:
        return 12 * table_size(capacity) + 5 * capacity

    @property
    def held_bytes(self) -> int:
        return self._table.nbytes + self._heads.nbytes + self._chain.nbytes + self._leaving.nbytes

    def insert(self, codes: UInt64s, items: Int32s) -> None:
        _insert(self._table, self._heads, self._chain, codes, items)
        self.count += len(codes)

    def remove(self, codes: UInt64s, items: Int32s) -> None:
        removed = _remove(self._table, self._heads, self._chain, self._leaving, codes, items)
        assert removed == len(codes), "an item was removed that the index doesn't hold"
        self.count -= removed

    def find(self, codes: UInt64s, skip: NDArray[np.bool_]) -> Int32s:
        """The first item of each code, NONE without one or where `skip`."""
        return _find(self._table, self._heads, codes, skip)

    def find_all(self, codes: UInt64s, skip: NDArray[np.bool_]) -> tuple[Int64s, Int32s]:
        """All (position in `codes`, item) pairs, by position."""
        return _expand(self._chain, self.find(codes, skip))

    def find_pieces(self, codes: UInt64s, room: Callable[[], int]) -> Iterator[tuple[Int64s, Int32s]]:
        """All pairs as `find_all` gives them, about `room()` at a time: never less than one code's."""
        heads = self.find(codes, np.zeros(len(codes), dtype=np.bool_))
        ends = np.cumsum(_chain_lengths(self._chain, heads))
        start = 0
        while start < len(codes):
            before = int(ends[start - 1]) if start else 0
            end = max(start + 1, int(np.searchsorted(ends, before + room(), side="right")))
            positions, items = _expand(self._chain, heads[start:end])
            yield positions + start, items
            start = end

    def check(self) -> None:
        """Every code can be found from its home place, and the count is right."""
        places = np.flatnonzero(self._heads != NONE)
        found = self.find(self._table[places], np.zeros(len(places), dtype=np.bool_))
        assert np.array_equal(found, self._heads[places]), "a hole cuts a code off from its home"
        _, items = _expand(self._chain, self._heads)
        assert len(items) == len(np.unique(items)) == self.count, (len(items), self.count)
