"""Which rows of a loaded page answer which pending rows: an equijoin of two small code arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from semistream.structures.codeindex import NONE, spread, table_size
from semistream.structures.jit import kernel

UInt64s = NDArray[np.uint64]
Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]


@kernel
def _index(right: UInt64s, heads: Int32s, chain: Int32s) -> None:
    mask = len(heads) - 1
    # Backwards, so that each chain lists the rows of a page in the page's order.
    for j in range(len(right) - 1, -1, -1):
        at = spread(right[j], mask)
        while heads[at] != NONE and right[heads[at]] != right[j]:
            at = (at + 1) & mask
        chain[j] = heads[at]
        heads[at] = j


@kernel
def _find(left: UInt64s, right: UInt64s, heads: Int32s, chain: Int32s, first: Int32s) -> Int64s:
    counts = np.zeros(len(left), dtype=np.int64)
    mask = len(heads) - 1
    for i in range(len(left)):
        at = spread(left[i], mask)
        while heads[at] != NONE and right[heads[at]] != left[i]:
            at = (at + 1) & mask
        first[i] = heads[at]
        j = first[i]
        while j != NONE:
            counts[i] += 1
            j = chain[j]
    return counts


@kernel
def _pairs(first: Int32s, chain: Int32s, start: int, end: int, total: int) -> tuple[Int64s, Int64s]:
    lefts = np.empty(total, dtype=np.int64)
    rights = np.empty(total, dtype=np.int64)
    n = 0
    for i in range(start, end):
        j = first[i]
        while j != NONE:
            lefts[n] = i
            rights[n] = j
            n += 1
            j = chain[j]
    return lefts, rights


class CodeTable:
    """The rows of a page by code, for as many matches as wanted. O(rows) to make."""

    def __init__(self, codes: UInt64s) -> None:
        self.codes = codes
        self.heads = np.full(table_size(len(codes)), NONE, dtype=np.int32)
        self.chain = np.empty(len(codes), dtype=np.int32)
        _index(codes, self.heads, self.chain)

    def __len__(self) -> int:
        return len(self.codes)

    @staticmethod
    def bytes_for(rows: int) -> int:
        return 8 * rows + match_bytes(rows)

    @property
    def nbytes(self) -> int:
        return self.codes.nbytes + self.heads.nbytes + self.chain.nbytes

    def matches(self, left: UInt64s) -> Matches:
        return Matches(left, self)


class Matches:
    """The equijoin of codes with a table: all pairs (i, j) with left[i] == codes[j].

    O(left) to make; the pairs come in as many pieces as the caller has room for.
    """

    def __init__(self, left: UInt64s, right: CodeTable) -> None:
        self._chain = right.chain
        self._first = np.empty(len(left), dtype=np.int32)
        self._counts = _find(left, right.codes, right.heads, right.chain, self._first)
        self._done = 0

    @property
    def finished(self) -> bool:
        return self._done >= len(self._counts)

    def pairs(self, most: int) -> tuple[Int64s, Int64s]:
        """The next pairs, ordered by i, then j: whole rows i, about `most` pairs, none only at the end."""
        ends = np.cumsum(self._counts[self._done :])
        rows = len(ends)
        if rows and ends[-1] > most:
            first_that_matches = int(np.searchsorted(ends, 0, side="right"))
            rows = max(first_that_matches + 1, int(np.searchsorted(ends, most, side="right")))
        start, self._done = self._done, self._done + rows
        return _pairs(self._first, self._chain, start, self._done, int(ends[rows - 1]) if rows else 0)


def match_bytes(right: int) -> int:
    """Bytes that matching against a page of this many rows takes for a moment."""
    return 4 * table_size(right) + 4 * right
