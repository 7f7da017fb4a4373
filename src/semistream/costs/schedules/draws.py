"""Keys drawn by Walker's alias method: one table of R entries, then O(1) a key."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from semistream.costs.renewal import Floats
from semistream.structures.jit import kernel

Int32s = NDArray[np.int32]


class Draws(NamedTuple):
    """Entry i: itself with probability `keep`, else `other`."""

    keep: Floats
    other: Int32s


def draws(shares: Floats) -> Draws:
    """The table for these probabilities."""
    keep = shares * len(shares) / shares.sum()
    other = np.arange(len(shares), dtype=np.int32)
    _fill(keep, other)
    return Draws(keep, other)


@kernel
def _fill(keep: Floats, other: Int32s) -> None:
    """Vose's construction, in place: small entries are filled up from large ones."""
    n = len(keep)
    stack = np.empty(n, dtype=np.int32)
    small, large = 0, n
    for i in range(n):
        if keep[i] < 1.0:
            stack[small] = i
            small += 1
        else:
            large -= 1
            stack[large] = i
    while small and large < n:
        small -= 1
        low, high = stack[small], stack[large]
        other[low] = high
        keep[high] -= 1.0 - keep[low]
        if keep[high] < 1.0:
            large += 1
            stack[small] = high
            small += 1


@kernel
def draw(table: Draws) -> int:
    """A key, by the generator that `np.random.seed` seeds in compiled code."""
    place = np.random.random() * len(table.keep)
    at = int(place)
    return at if place - at < table.keep[at] else int(table.other[at])
