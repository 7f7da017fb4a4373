"""How many loads a row costs in steady state: what tells each algorithm from its plainer cousin.

Queues are filled many times over before anything is counted: while a queue fills, loads look better
than they are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from semistream.checks.base import Subject, check, expect
from semistream.checks.data import MasterData, of_keys, ranked, zipf_keys
from semistream.costs.renewal import (
    page_shares,
    rows_per_load,
    rows_per_load_pinned,
    zipf_shares,
)
from semistream.join import SemiStreamJoin

ROWS = 2000
PAGE_ROWS = 20
PAGES = ROWS // PAGE_ROWS
WAITING = 500
WARM_UP = 25  # queues of rows that go by before counting
COUNTED = 15
BATCH = 2 * WAITING
# Of the hits that the most popular pages would have: by utility more of them stay than by last use.
PAGE_CACHES = {"ssij": 0.6, "partitioned_join": 0.25}
SIGNATURE = "it is the count of loads of these algorithms, which no store changes"


@dataclass(frozen=True)
class Steady:
    """What happened while it was counted."""

    rows: int
    loads: int
    hits: int
    age_p99: int
    age_max: int

    @property
    def rows_per_load(self) -> float:
        return self.rows / self.loads if self.loads else float("inf")

    @property
    def hit_share(self) -> float:
        return self.hits / self.rows


def steady(
    subject: Subject, exponent: float, *, warm_up: int = WARM_UP, counted: int = COUNTED, **settings: Any
) -> Steady:
    """Run a stream of Zipf keys over a master in frequency order."""
    keys = zipf_keys(ROWS, exponent, (warm_up + counted) * WAITING, seed=11)
    with subject.join(master(), pending_rows=WAITING, **settings) as trial:
        trial.on_output = lambda batch: None
        for start in range(0, warm_up * WAITING, BATCH):
            trial.push(of_keys(keys[start : start + BATCH]))
        before = trial.join.stats
        for start in range(warm_up * WAITING, len(keys), BATCH):
            trial.push(of_keys(keys[start : start + BATCH]))
        after = trial.join.stats
    return Steady(
        rows=(after.rows_in - after.pending_rows) - (before.rows_in - before.pending_rows),
        loads=after.loads - before.loads,
        hits=after.cache_hits - before.cache_hits,
        age_p99=after.age_p99,
        age_max=after.age_max,
    )


@check(only=("hybridjoin",), stores=("memory",), because=SIGNATURE)
def loads_are_those_of_the_renewal_model(subject: Subject) -> None:
    """Rows answered by a load, within 10 % of `costs.renewal`: even keys, and Zipf 1."""
    for exponent in (0.0, 1.0):
        model = rows_per_load(shares(exponent), WAITING)
        seen = steady(subject, exponent).rows_per_load
        _expect_near(seen, model, 0.10, f"rows a load at Zipf {exponent}")


@check(only=("meshjoin", "r_meshjoin"), stores=("memory",), because=SIGNATURE)
def loads_do_not_depend_on_skew(subject: Subject) -> None:
    """Exactly h / n rows a load: every chunk meets every partition once, whatever its keys."""
    for exponent in (0.0, 1.0):
        seen = steady(subject, exponent, warm_up=2, counted=4)  # a scan is steady once its queue is full
        expect(
            seen.rows * PAGES == seen.loads * WAITING,
            f"Zipf {exponent}: expected {WAITING / PAGES} rows a load exactly, and saw {seen.rows_per_load}",
        )


@check(only=("hybridjoin_pq",), stores=("memory",), because=SIGNATURE)
def frequent_pages_save_loads(subject: Subject) -> None:
    """On a master in frequency order at Zipf 1, a quarter more rows a load than oldest first."""
    least = 1.25 * rows_per_load(shares(1.0), WAITING)
    seen = steady(subject, 1.0).rows_per_load
    expect(seen >= least, f"expected {least:.1f} rows a load or more, and saw {seen:.1f}")


@check(only=("cachejoin_pq",), stores=("memory",), because=SIGNATURE)
def frequent_pages_save_loads_behind_a_cache(subject: Subject) -> None:
    """Behind a cache of the ten hottest rows, a tenth more rows a load than CACHEJOIN."""
    plainer = steady(_plainer(subject, "cachejoin"), 1.0, cache_rows=10).rows_per_load
    seen = steady(subject, 1.0, cache_rows=10).rows_per_load
    expect(seen >= 1.1 * plainer, f"expected {1.1 * plainer:.1f} rows a load or more, and saw {seen:.1f}")


@check(only=("hybridjoin_l",), stores=("memory",), because=SIGNATURE)
def younger_pages_save_loads(subject: Subject) -> None:
    """On a master in frequency order at Zipf 1, a tenth more rows a load than oldest first."""
    least = 1.1 * rows_per_load(shares(1.0), WAITING)
    seen = steady(subject, 1.0).rows_per_load
    expect(seen >= least, f"expected {least:.1f} rows a load or more, and saw {seen:.1f}")


@check(only=("hybridjoin_l", "cachejoin_l"), stores=("memory",), because=SIGNATURE)
def rows_that_were_passed_over_grow_old(subject: Subject) -> None:
    """The queue has a tail of old rows: some wait thrice as long as with oldest first."""
    plainer = steady(_plainer(subject, subject.algorithm.removesuffix("_l")), 1.0).age_max
    seen = steady(subject, 1.0).age_max
    expect(seen >= 3 * plainer, f"expected rows of an age of {3 * plainer} or more, and saw {seen}")


@check(only=("x_hybridjoin", "tuned_x_hybridjoin"), stores=("memory",), because=SIGNATURE)
def pinned_pages_save_their_share_of_loads(subject: Subject) -> None:
    """Loads fall by the share of the stream that the pinned pages answer, within 15 % of the model."""
    pinned = 1 if subject.algorithm == "x_hybridjoin" else 10
    settings: dict[str, Any] = {} if pinned == 1 else {"pinned_partitions": pinned}
    model = rows_per_load_pinned(shares(1.0), pinned, WAITING)
    seen = steady(subject, 1.0, **settings)
    _expect_near(seen.rows_per_load, model, 0.15, f"rows a load with {pinned} pages pinned")
    share = float(shares(1.0)[:pinned].sum())
    _expect_near(seen.hit_share, share, 0.05, "share of rows that pinned pages answer")


@check(only=("cachejoin", "cachejoin_l", "cachejoin_pq", "sscj", "p_cachejoin", "op_cachejoin"),
       stores=("memory",), because=SIGNATURE)  # fmt: skip
def cached_rows_save_their_share_of_loads(subject: Subject) -> None:
    """A cache of a tenth of the rows answers near the best share that one of its size can."""
    best = float(zipf_shares(ROWS, 1.0)[: ROWS // 10].sum())
    settings: dict[str, Any] = (
        {"schedule": "deterministic"} if subject.algorithm in ("p_cachejoin", "op_cachejoin") else {}
    )
    seen = steady(subject, 1.0, cache_rows=ROWS // 10, **settings).hit_share
    expect(0.8 * best <= seen, f"expected hits of {0.8 * best:.2f} of all rows or more, and saw {seen:.2f}")


@check(only=("sscj",), stores=("memory",), because=SIGNATURE)
def the_least_frequent_rows_leave(subject: Subject) -> None:
    """A cache of ten rows holds the ten most frequent: 95 % of their hits; random victims give 60 %."""
    least = 0.95 * float(zipf_shares(ROWS, 1.0)[:10].sum())
    seen = steady(subject, 1.0, cache_rows=10).hit_share
    expect(seen >= least, f"expected hits of {least:.3f} of all rows or more, and saw {seen:.3f}")


@check(only=tuple(PAGE_CACHES), stores=("memory",), because=SIGNATURE)
def cached_pages_save_their_share_of_loads(subject: Subject) -> None:
    """A cache of a tenth of the pages answers a good part of what the most popular tenth would."""
    least = PAGE_CACHES[subject.algorithm] * float(shares(1.0)[: PAGES // 10].sum())
    seen = steady(subject, 1.0, cache_partitions=PAGES // 10).hit_share
    expect(seen >= least, f"expected hits of {least:.2f} of all rows or more, and saw {seen:.2f}")


@cache
def shares(exponent: float) -> NDArray[np.float64]:
    """Each page's share of the stream."""
    return page_shares(zipf_shares(ROWS, exponent), PAGE_ROWS)


def master() -> MasterData:
    return ranked(ROWS, PAGE_ROWS)


def _plainer(subject: Subject, algorithm: str) -> Subject:
    """The engine's own join of another algorithm, to compare with."""
    return replace(subject, algorithm=algorithm, make_join=SemiStreamJoin)


def _expect_near(seen: float, expected: float, share: float, what: str) -> None:
    expect(
        abs(seen - expected) <= share * expected,
        f"expected {what} of {expected:.3f} within {share:.0%}, and saw {seen:.3f}",
    )
