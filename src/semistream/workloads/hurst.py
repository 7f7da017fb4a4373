"""The Hurst exponent of a series of counts: how slowly its bursts average out.

0.5: like independent noise; towards 1: bursts at every scale. Two classic estimators (Leland, Taqqu,
Willinger and Wilson, 1994); on a finite series both err, so it is worth looking at both.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from semistream.errors import ArgumentError

Numbers = NDArray[np.float64] | NDArray[np.int64]

LEAST_BLOCKS = 32  # blocks of one size, so that their variance means something


def variance_time(counts: Numbers, smallest: int = 1, largest: int | None = None) -> float:
    """From how the variance of the mean of `m` neighbours falls: as m^(2 H - 2).

    smallest, largest: the block sizes m to fit over; the largest is a 32nd of the series unless given.

    >>> 0.45 < variance_time(np.random.default_rng(1).random(100_000)) < 0.55
    True
    """
    sizes = _sizes(len(counts), smallest, largest)
    variances = [_blocks(counts, size).mean(axis=1).var() for size in sizes]
    return 1 + _slope(sizes, np.array(variances)) / 2


def rescaled_range(counts: Numbers, smallest: int = 16, largest: int | None = None) -> float:
    """From how the range of the summed deviations within a block grows, in its deviations: as m^H."""
    sizes = _sizes(len(counts), smallest, largest)
    ratios = []
    for size in sizes:
        blocks = _blocks(counts, size)
        deviations = blocks - blocks.mean(axis=1, keepdims=True)
        walks = deviations.cumsum(axis=1)
        spreads = deviations.std(axis=1)
        moving = spreads > 0
        ratios.append(((walks.max(axis=1) - walks.min(axis=1))[moving] / spreads[moving]).mean())
    return _slope(sizes, np.array(ratios))


def _sizes(length: int, smallest: int, largest: int | None) -> list[int]:
    """Powers of two times the smallest block."""
    most = length // LEAST_BLOCKS if largest is None else largest
    sizes = []
    size = smallest
    while size <= min(most, length // 2):
        sizes.append(size)
        size *= 2
    if len(sizes) < 3:
        raise ArgumentError(
            f"{length} counts in blocks of {smallest} to {most} are too few to measure a Hurst exponent"
        )
    return sizes


def _blocks(counts: Numbers, size: int) -> NDArray[np.float64]:
    whole = len(counts) // size * size
    return np.asarray(counts[:whole], dtype=np.float64).reshape(-1, size)


def _slope(sizes: list[int], values: NDArray[np.float64]) -> float:
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])
