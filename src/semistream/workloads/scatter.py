"""A permutation of 0 to size - 1 without a table: each place is computed from its rank.

Three rounds of a keyed addition, a shift folded in and an odd multiplication permute the numbers below the
next power of two, since each of these can be undone. A number that lands at `size` or above is put through
again until it is below (cycle walking), which keeps the whole a permutation. The power of two is
below 2 x size, so that fewer than one more turn is needed on average.

Cost: O(1) a value, about three multiplications a turn; 48 bytes in all.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from semistream.errors import ArgumentError
from semistream.structures.jit import kernel
from semistream.workloads.draws import purpose_key

Int64s = NDArray[np.int64]
UInt64s = NDArray[np.uint64]

ROUNDS = 3
LARGEST = 1 << 62


class Scatter:
    """A seeded permutation of 0 to size - 1.

    >>> sorted(Scatter(10, seed=3).places(np.arange(10)).tolist())
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
    """

    def __init__(self, size: int, seed: int = 0) -> None:
        if not 1 <= size <= LARGEST:
            raise ArgumentError(f"size={size} can't be permuted: give 1 to 2^62")
        self.size = size
        self._bits = max(2, (size - 1).bit_length())
        self._adds, self._factors = (
            np.array([purpose_key(seed, 2 * i + kind) for i in range(ROUNDS)], dtype=np.uint64)
            for kind in range(2)
        )

    def places(self, ranks: Int64s) -> Int64s:
        """Where these ranks go; the ranks stay as they are."""
        if len(ranks) and not (ranks.min() >= 0 and ranks.max() < self.size):
            raise ArgumentError(f"a rank is outside 0 to {self.size - 1}")
        out = np.array(ranks, dtype=np.int64)
        self.place(out)
        return out

    def place(self, ranks: Int64s) -> None:
        """The same in place and unchecked: a value that is out of range may never come back into it."""
        scatter(ranks, self.size, self._bits, self._adds, self._factors)


@kernel
def scatter(values: Int64s, size: int, bits: int, adds: UInt64s, factors: UInt64s) -> None:
    mask = np.uint64((np.uint64(1) << np.uint64(bits)) - np.uint64(1))
    half = np.uint64((bits + 1) // 2)
    limit = np.uint64(size)
    for i in range(len(values)):
        x = np.uint64(values[i])
        while True:
            for j in range(len(adds)):
                x = (x + adds[j]) & mask
                x ^= x >> half
                x = (x * (factors[j] | np.uint64(1))) & mask
            x ^= x >> half
            if x < limit:
                break
        values[i] = np.int64(x)
