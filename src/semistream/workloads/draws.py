"""Random draws by number: draw i of a stream is a function of (seed, i), whichever draws came before.

Each row has its own sequence of words, and what one row needs (a rejection asks for one more) shifts
no other row's. The words come from the finalizer of SplitMix64 over a counter.

Zipf's law exactly, without a table: rejection-inversion (Hoermann and Derflinger, 1996). The area below
x^-e is inverted and rounded to a rank; a draw in the few places where the bar of a rank is higher than
the curve is taken again. Fewer than one in ten is.

The papers' law (S3, appendix): the same area inverted and cut off instead, nothing rejected. It
gives rank k the share (H(k + 1) - H(k)) / H(keys + 1), H being the integral of x^-e from 1.

Cost: O(1) a draw, about one exponential (and a logarithm unless e = 1); no memory.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from semistream.structures.jit import inline, kernel

Int64s = NDArray[np.int64]
Bools = NDArray[np.bool_]

MASK = (1 << 64) - 1
STEP = 0x9E3779B97F4A7C15  # odd, and no simple fraction of 2^64: counters go far apart
ATTEMPT = 0xD1B54A32D192ED03


def purpose_key(seed: int, purpose: int) -> np.uint64:
    """A key for one use of a seed: two uses of one seed have nothing in common.

    >>> len({purpose_key(seed, purpose) for seed in range(100) for purpose in range(100)})
    10000
    """
    return np.uint64(_mixed((_mixed(seed & MASK) + (purpose + 1) * STEP) & MASK))


def _mixed(x: int) -> int:
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


@inline
def word_at(key: np.uint64, number: np.uint64) -> np.uint64:
    """The 64-bit word of this number under this key."""
    x = key + number * np.uint64(STEP)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@inline
def unit(word: np.uint64) -> float:
    """A number from 0 up to, and never, 1."""
    return float(word >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@kernel
def uniform_at(key: np.uint64, first: int, out: NDArray[np.float64]) -> None:
    """Numbers in [0, 1): the least that any generator by number has to do."""
    for i in range(len(out)):
        out[i] = unit(word_at(key, np.uint64(first + i)))


@kernel
def exact_ranks_at(key: np.uint64, first: int, ranks: int, exponent: float, out: Int64s) -> None:
    """Rank r (from 0) with a probability that is exactly proportional to (r + 1)^-exponent."""
    power = 1.0 - exponent
    low = _area(1.5, power) - 1.0
    high = _area(ranks + 0.5, power)
    always = 2.0 - _inverse_area(_area(2.5, power) - 2.0**-exponent, power)
    for i in range(len(out)):
        word = word_at(key, np.uint64(first + i))
        attempt = 0
        while True:
            area = high + unit(word) * (low - high)
            x = _inverse_area(area, power)
            rank = min(max(math.floor(x + 0.5), 1.0), float(ranks))
            if rank - x <= always or area >= _area(rank + 0.5, power) - rank**-exponent:
                break
            attempt += 1
            word = word_at(word, np.uint64(ATTEMPT) * np.uint64(attempt))
        out[i] = int(rank) - 1


@kernel
def continuous_ranks_at(key: np.uint64, first: int, ranks: int, exponent: float, out: Int64s) -> None:
    """Rank r (from 0) by the papers' law: the continuous power law from 1 to ranks + 1, cut off."""
    power = 1.0 - exponent
    whole = _area(ranks + 1.0, power)
    for i in range(len(out)):
        x = _inverse_area(unit(word_at(key, np.uint64(first + i))) * whole, power)
        out[i] = int(min(max(math.floor(x), 1.0), float(ranks))) - 1


@kernel
def hits_at(key: np.uint64, first: int, rate: float, out: Bools) -> None:
    """True for this rate of all numbers."""
    for i in range(len(out)):
        out[i] = unit(word_at(key, np.uint64(first + i))) < rate


@inline
def _area(x: float, power: float) -> float:
    """The area below t^-e from 1 to x; `power` is 1 - e."""
    return math.log(x) if power == 0.0 else math.expm1(power * math.log(x)) / power


@inline
def _inverse_area(area: float, power: float) -> float:
    """The x that leaves this area to its left; infinity past the whole area, which rounding may ask for."""
    if power == 0.0:
        return math.exp(area)
    inner = power * area
    return math.exp(math.log1p(inner) / power) if inner > -1.0 else math.inf


def continuous_shares(ranks: int, exponent: float) -> NDArray[np.float64]:
    """The probability of each rank under the papers' law.

    >>> shares = continuous_shares(1000, 1.0)
    >>> round(float(shares[1] / shares[0]), 3)
    0.585
    """
    edges = np.arange(1, ranks + 2, dtype=np.float64)
    power = 1.0 - exponent
    areas = np.log(edges) if power == 0.0 else np.expm1(power * np.log(edges)) / power
    return np.asarray(np.diff(areas) / areas[-1])
