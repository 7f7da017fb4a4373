"""How skewed a stream is, and where its frequent keys lie in the master: told, or found from a sample.

The exponent. A sample of N rows shows how often each key came, but not which rank it has. Each of the
n keys of the master is taken for a draw from all ranks, so that it comes j times with probability

    f(j) = 1/n sum_r Poisson(j; N p_r),      p_r = r^-e / sum_i i^-e

and e is the one under which the counts found, those of keys that did not come included, are the most
likely. Ranking keys by their counts and fitting a line would find skew in uniform keys: chance alone makes
some come more often. The few hottest keys only count as hot: one key that stands for "unknown" would
bend the whole law.

The order. A key that came c times has under Zipf's law a rank of about some value; in a master in frequency
order that rank is its position. `in_order` is the share of the sample's rows whose keys are explained better
by this than by any place being as likely as another.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from semistream.costs.renewal import Floats, zipf_shares
from semistream.errors import ArgumentError

Int64s = NDArray[np.int64]

MOST_EXPONENT = 3.0
HOTTEST = 16  # keys of which only that they are hot counts
LEAST_KEYS = 64  # different ones in a sample; fewer say nothing of a law
DROP = 1.92  # of the log-likelihood, to the ends of an interval of 95 %
EXACT = 2048  # ranks that stand for themselves; above it, for a share of their neighbours
PER_DOUBLING = 64
WINDOW = 2.0  # a rank is known by this factor, at best


@dataclass(frozen=True, slots=True)
class Skew:
    """What the tuner takes a stream for.

    exponent: of Zipf's law, with `low` and `high` its interval of 95 % where it was estimated.
    in_order: the share of the stream whose keys lie where a master in frequency order has them: 1 if the
        most frequent come first, 0 if they are scattered.
    sample_rows, sample_keys: what it was estimated from, and how many different keys that had; 0: told.
    """

    exponent: float
    in_order: float = 0.0
    low: float | None = None
    high: float | None = None
    sample_rows: int = 0
    sample_keys: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.exponent < float("inf"):
            raise ArgumentError(f"exponent={self.exponent} is no exponent of Zipf's law: give 0 or more")
        if not 0 <= self.in_order <= 1:
            raise ArgumentError(f"in_order={self.in_order} is no share: give 0 (scattered) to 1")

    @property
    def order(self) -> str:
        """In a word."""
        return "frequency" if self.in_order >= 0.5 else "scattered"

    def key_shares(self, rows: int, seed: int = 0) -> Floats:
        """The probability of each key by position in a master of so many rows.

        >>> Skew(1.0, in_order=1.0).key_shares(3).round(3).tolist()
        [0.545, 0.273, 0.182]
        """
        shares = zipf_shares(rows, self.exponent)
        rng = np.random.default_rng(seed)
        moved = np.flatnonzero(rng.random(rows) >= self.in_order)
        shares[moved] = shares[rng.permutation(moved)]
        return shares


def estimated(counts: Int64s, positions: Int64s, page_rows: int, master_rows: int) -> Skew:
    """The skew behind a sample.

    counts: how often each key of the sample came that the master has. positions: the master's row (or the
    first of the page) that it was found at. page_rows: how exact that is.
    """
    if len(counts) < LEAST_KEYS:
        raise ArgumentError(
            f"the sample has {len(counts)} different keys of the master's, too few to tell a law from: give "
            f"more rows (at least {LEAST_KEYS} keys), or the exponent itself"
        )
    law = _Law(counts, master_rows)
    best = _largest(law.likelihood, 0.0, MOST_EXPONENT)
    least = law.likelihood(best) - DROP
    return Skew(
        exponent=best,
        in_order=_in_order(law, best, counts, positions, page_rows),
        low=_crossing(law.likelihood, least, best, 0.0),
        high=_crossing(law.likelihood, least, best, MOST_EXPONENT),
        sample_rows=int(counts.sum()),
        sample_keys=len(counts),
    )


class _Law:
    """The likelihood of how often keys came, by exponent."""

    def __init__(self, counts: Int64s, master_rows: int) -> None:
        self.rows = master_rows
        self.ranks, self.each = _rank_groups(master_rows)
        hottest = np.sort(counts)[-min(HOTTEST, len(counts) // 4)]
        self.hot = max(int(hottest), 2)  # from so often on
        self.values, self.keys = np.unique(counts[counts < self.hot], return_counts=True)
        self.hot_keys = int((counts >= self.hot).sum())
        self.unseen = master_rows - len(counts)
        self.other_rows = int(counts[counts < self.hot].sum())
        self.others = np.where(self.ranks > self.hot_keys, self.each, 0.0)

    def expected(self, exponent: float) -> Floats:
        """How often a key of each group of ranks should come, by the rows of all but the hottest."""
        weights = self.ranks**-exponent
        return np.asarray(self.other_rows * weights / float((weights * self.others).sum()))

    def likelihood(self, exponent: float) -> float:
        """The logarithm, without what doesn't depend on the exponent."""
        mean = self.expected(exponent)
        logs = poisson_logs(np.concatenate([[0], self.values]), mean)
        shares = np.exp(logs) @ (self.each / self.rows)
        found = float(np.log(np.maximum(shares, 1e-300)) @ np.concatenate([[self.unseen], self.keys]))
        above = float((self.each / self.rows) @ _poisson_above(self.hot, mean))
        return found + self.hot_keys * math.log(max(above, 1e-300))


def poisson_logs(values: Int64s, mean: Floats) -> Floats:
    """Logarithms of Poisson(value; mean), a row a value."""
    factorials = np.array([math.lgamma(value + 1) for value in values])
    return np.asarray(values[:, None] * np.log(mean)[None, :] - mean[None, :] - factorials[:, None])


def _poisson_above(least: int, mean: Floats) -> Floats:
    """P(count >= least): by its sum, or by the cube root that is nearly normal (Wilson and Hilferty)."""
    if least <= 64:
        below = np.exp(poisson_logs(np.arange(least), mean)).sum(axis=0)
        return np.asarray(np.clip(1.0 - below, 1e-300, 1.0))
    z = ((mean / least) ** (1 / 3) - (1 - 1 / (9 * least))) * 3 * math.sqrt(least)
    return np.array([max(0.5 * math.erfc(-value / math.sqrt(2)), 1e-300) for value in z])


def _in_order(law: _Law, exponent: float, counts: Int64s, positions: Int64s, page_rows: int) -> float:
    """The share of order that makes the places of keys the most likely, each row a voice."""
    mean = law.expected(exponent)
    ends = np.cumsum(law.each)
    edges = np.concatenate([[0.0], ends])
    first = np.maximum(positions / WINDOW, 0.0)
    last = np.minimum((positions + page_rows) * WINDOW, law.rows)
    better = np.empty(len(counts))
    order = np.argsort(counts, kind="stable")
    values, starts = np.unique(counts[order], return_index=True)
    for value, begin, end in zip(values, starts, np.append(starts[1:], len(counts)), strict=True):
        mine = order[begin:end]
        logs = poisson_logs(np.array([value]), mean)[0]
        weights = np.exp(logs - logs.max()) * law.each
        mass = np.concatenate([[0.0], np.cumsum(weights / weights.sum())])
        inside = np.interp(last[mine], edges, mass) - np.interp(first[mine], edges, mass)
        better[mine] = inside * law.rows / (last[mine] - first[mine])
    alphas = np.linspace(0.0, 1.0, 101)
    share = np.maximum(alphas[:, None] * better[None, :] + (1 - alphas[:, None]), 1e-12)
    return float(alphas[np.argmax(np.log(share) @ counts.astype(np.float64))])


def _rank_groups(rows: int) -> tuple[Floats, Floats]:
    """Ranks that stand for all, and for how many each."""
    edges = [np.arange(1, min(rows, EXACT) + 2, dtype=np.float64)]
    if rows > EXACT:
        steps = int(np.ceil(np.log2(rows / EXACT) * PER_DOUBLING)) + 1
        edges.append(np.round(np.geomspace(EXACT + 1, rows + 1, steps)))
    every = np.unique(np.concatenate(edges))
    return (every[:-1] + every[1:] - 1) / 2, np.diff(every)


def _largest(function: Callable[[float], float], low: float, high: float) -> float:
    """Where it is largest: a coarse look, then the golden section."""
    places = np.linspace(low, high, 25)
    values = [function(float(place)) for place in places]
    at = int(np.argmax(values))
    low, high = float(places[max(0, at - 1)]), float(places[min(len(places) - 1, at + 1)])
    golden = (math.sqrt(5) - 1) / 2
    while high - low > 1e-4:
        inner_low, inner_high = high - golden * (high - low), low + golden * (high - low)
        if function(inner_low) < function(inner_high):
            low = inner_low
        else:
            high = inner_high
    return (low + high) / 2


def _crossing(function: Callable[[float], float], least: float, inside: float, outside: float) -> float:
    """Where it falls to `least` on the way out, or the end of the way."""
    if function(outside) >= least:
        return outside
    for _ in range(20):
        middle = (inside + outside) / 2
        if function(middle) >= least:
            inside = middle
        else:
            outside = middle
    return inside
