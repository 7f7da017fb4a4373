"""Stream keys that follow Zipf's law exactly: key of rank r with probability (r + 1)^-e / sum_i i^-e.

`zipf_keys` draws by inverse CDF: a uniform number, and a binary search for the rank whose interval it
falls into. Cost: O(keys) for the table, 8 bytes a key, then O(log keys) a row.

`KeyStream` is an endless stream in which key number i is a function of the seed and i alone, so that any
part of it can be made anywhere, twice, and in any order. Cost: O(1) a row, no table.

The papers' generator (S3, appendix) inverts the integral of x^-e, which is another law: at e = 1 its
second key comes 0.585 times as often as its first, not 0.5 times. `KeyStream` has it as `law="continuous"`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Literal, get_args

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from semistream.costs.renewal import zipf_shares
from semistream.errors import ArgumentError
from semistream.workloads.draws import (
    continuous_ranks_at,
    continuous_shares,
    exact_ranks_at,
    hits_at,
    purpose_key,
)
from semistream.workloads.scatter import Scatter

Int64s = NDArray[np.int64]
Law = Literal["exact", "continuous"]
Order = Literal["scattered", "frequency"]
MOST_KEYS = 1 << 52  # ranks are computed in double precision

# What one seed is used for.
RANKS, UNMATCHED, NULLS, PLACES = range(4)


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


@dataclass(frozen=True)
class KeyStream:
    """An endless stream of keys out of 0 to `keys` - 1, each computed from its number.

    keys: how many rows the master has.
    exponent: of Zipf's law, from 0 (uniform) up.
    law: `exact`, or `continuous`, which is the papers' generator.
    order: `scattered`: frequent keys lie anywhere in key order; `frequency`: key r is the r-th most
        frequent one.
    seed: streams of different seeds have nothing in common, their scattering included.
    drift_every: after so many rows the ranking rotates by `drift_share` of all keys: what was rare a
        moment ago is frequent, as with a new season's products. None: never.
    unmatched: the share of rows whose key no master row has: such a key is moved up by `keys`, and so lies
        in `keys` to 2 x `keys` - 1.
    nulls: the share of rows without a key.

    >>> stream = KeyStream(1000, seed=7)
    >>> stream.array(0, 5).to_pylist()
    [684, 968, 809, 196, 775]
    >>> stream.array(3, 2).equals(stream.array(0, 5).slice(3))
    True
    """

    keys: int
    exponent: float = 1.0
    law: Law = "exact"
    order: Order = "scattered"
    seed: int = 0
    drift_every: int | None = None
    drift_share: float = 0.1
    unmatched: float = 0.0
    nulls: float = 0.0

    def __post_init__(self) -> None:
        if not 1 <= self.keys <= MOST_KEYS:
            raise ArgumentError(f"keys={self.keys} can't be drawn from: give 1 to 2^52")
        if not 0 <= self.exponent < float("inf"):
            raise ArgumentError(
                f"exponent={self.exponent} is no exponent of Zipf's law: give 0 (uniform) or more"
            )
        for name, known in (("law", get_args(Law)), ("order", get_args(Order))):
            if getattr(self, name) not in known:
                raise ArgumentError(f"{name}={getattr(self, name)!r} isn't known: give {' or '.join(known)}")
        if self.drift_every is not None and self.drift_every < 1:
            raise ArgumentError(f"drift_every={self.drift_every} is no number of rows: give at least 1")
        for name in ("drift_share", "unmatched", "nulls"):
            if not 0 <= getattr(self, name) <= 1:
                raise ArgumentError(f"{name}={getattr(self, name)} is no share: give 0 to 1")

    def ranks(self, first: int, count: int) -> Int64s:
        """The rank, from 0 for the most frequent, behind each of these rows' keys."""
        if first < 0 or count < 0:
            raise ArgumentError(f"rows {first} to {first + count - 1} don't exist: rows count from 0")
        out = np.empty(count, dtype=np.int64)
        draw = exact_ranks_at if self.law == "exact" else continuous_ranks_at
        draw(purpose_key(self.seed, RANKS), first, self.keys, float(self.exponent), out)
        return out

    def values(self, first: int, count: int) -> Int64s:
        """The keys of these rows, without regard to nulls."""
        out = self.ranks(first, count)
        if self.drift_every is not None:
            self._drift(out, first, self.drift_every)
        if self.order == "scattered":
            self._scatter.place(out)
        if self.unmatched:
            out += self._hits(UNMATCHED, self.unmatched, first, count) * np.int64(self.keys)
        return out

    def array(self, first: int, count: int) -> pa.Array:
        """The keys of these rows as an Arrow array."""
        mask = self._hits(NULLS, self.nulls, first, count) if self.nulls else None
        return pa.array(self.values(first, count), mask=mask)

    def key_of_rank(self, ranks: Int64s, row: int = 0) -> Int64s:
        """The keys that have these ranks when row number `row` is drawn."""
        out = np.array(ranks, dtype=np.int64)
        if self.drift_every is not None:
            out = (out + self._shift(row // self.drift_every)) % self.keys
        return self._scatter.places(out) if self.order == "scattered" else out

    def rank_shares(self) -> NDArray[np.float64]:
        """The probability of each rank; a table of all keys, for tests and models."""
        shares = zipf_shares if self.law == "exact" else continuous_shares
        return shares(self.keys, self.exponent)

    @cached_property
    def _scatter(self) -> Scatter:
        return Scatter(self.keys, int(purpose_key(self.seed, PLACES)))

    def _shift(self, rotations: int) -> int:
        return rotations * round(self.drift_share * self.keys) % self.keys

    def _drift(self, ranks: Int64s, first: int, every: int) -> None:
        """Rotate the ranking by where each row stands; between two rotations all rows shift alike."""
        last = first + len(ranks)
        edges = [first, *range((first // every + 1) * every, last, every), last]
        for start, end in pairwise(edges):
            part = ranks[start - first : end - first]
            part += self._shift(start // every)
            part[part >= self.keys] -= self.keys

    def _hits(self, purpose: int, rate: float, first: int, count: int) -> NDArray[np.bool_]:
        out = np.empty(count, dtype=np.bool_)
        hits_at(purpose_key(self.seed, purpose), first, rate, out)
        return out
