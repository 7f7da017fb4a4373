"""Stream keys that follow Zipf's law exactly: key of rank r with probability (r + 1)^-e / sum_i i^-e.

Drawn by inverse CDF: a uniform number, and a binary search for the rank whose interval it falls into.
The papers' generator (S3, appendix) inverts the integral of x^-e, which is another law: at e = 1 its
second key comes 0.585 times as often as its first, not 0.5 times.

Cost: O(keys) for the table, 8 bytes a key, then O(log keys) a row.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from semistream.costs.renewal import zipf_shares
from semistream.errors import ArgumentError

Int64s = NDArray[np.int64]


def zipf_keys(
    count: int,
    keys: int,
    exponent: float,
    random: int | np.random.Generator = 0,
    *,
    scatter: int | None = None,
) -> Int64s:
    """`count` keys out of 0 to keys - 1.

    random: a seed, or a generator that goes on where the last call left it.
    scatter: None: key r is the r-th most frequent one, so that a master in key order is in frequency
        order. A number: the seed of a permutation that spreads the frequent keys over the master.

    >>> zipf_keys(10, 1000, 1.0, 7).tolist()
    [59, 463, 186, 2, 4, 387, 0, 261, 218, 18]
    """
    if count < 0:
        raise ArgumentError(f"count={count} keys can't be drawn: give 0 or more")
    rng = np.random.default_rng(random)
    ends = np.cumsum(_shares(keys, exponent))
    # Scaled to end at 1.0 exactly, which a draw never reaches: no rank is out of range.
    ranks = np.searchsorted(ends / ends[-1], rng.random(count), side="right")
    return np.asarray(ranks if scatter is None else key_of_rank(keys, scatter)[ranks], dtype=np.int64)


def key_shares(keys: int, exponent: float, *, scatter: int | None = None) -> NDArray[np.float64]:
    """The probability of each key, by key: what the cost models ask for.

    >>> key_shares(3, 1.0).round(3).tolist()
    [0.545, 0.273, 0.182]
    """
    by_rank = _shares(keys, exponent)
    if scatter is None:
        return by_rank
    by_key = np.empty_like(by_rank)
    by_key[key_of_rank(keys, scatter)] = by_rank
    return by_key


def key_of_rank(keys: int, scatter: int) -> Int64s:
    """The key at each rank, the most frequent first, under this seed of the permutation."""
    return np.asarray(np.random.default_rng(scatter).permutation(keys), dtype=np.int64)


def _shares(keys: int, exponent: float) -> NDArray[np.float64]:
    if keys < 1:
        raise ArgumentError(f"keys={keys} leaves nothing to draw: give at least 1")
    if not 0 <= exponent < float("inf"):
        raise ArgumentError(f"exponent={exponent} is no exponent of Zipf's law: give 0 (uniform) or more")
    return zipf_shares(keys, exponent)
