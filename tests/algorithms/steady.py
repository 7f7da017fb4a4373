"""Loads in steady state on fixed traces: what an algorithm is worth, apart from any machine.

Each trace warms up for 25 pending capacities, since loads per row are too few while the queue fills
with rare rows, and is measured over 15 more. Its output is checked in full.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

import numpy as np

from semistream import SemiStreamJoin
from semistream.costs.renewal import page_shares
from semistream.workloads.keys import key_shares, zipf_keys
from tests.algorithms.traces import assert_answers, feed, fixed_counts, master_of

ROWS, PAGE_ROWS, PENDING = 10_000, 100, 500
PAGES = ROWS // PAGE_ROWS
WARM_UP, MEASURED = 25, 15  # pending capacities
BATCH_ROWS = 2500
SEED = 1
SCATTER = {"sorted": None, "scattered": 99}
TRACES = tuple(product(("sorted", "scattered"), (0.0, 0.5, 1.0)))
"""(order of the master, Zipf exponent): sorted is in frequency order."""

CACHE_ROWS = 500
CACHE_PAGES = CACHE_ROWS // PAGE_ROWS
Trace = tuple[str, float]
Loads = dict[Trace, int]


@dataclass(frozen=True)
class Steady:
    """Counts over the measured part of a trace, and the greatest age over all of it."""

    rows: int  # stream rows answered
    loads: int
    cache_hits: int
    promotions: int
    wasted_loads: int
    age_max: int

    @property
    def rows_per_load(self) -> float:
        return self.rows / self.loads


def settings_of(name: str) -> dict[str, Any]:
    """Every cache holds as many master rows as every other, and every queue as many stream rows."""
    own: dict[str, Any] = fixed_counts(name)
    if name == "tuned_x_hybridjoin":
        own["pinned_partitions"] = CACHE_PAGES
    elif name in ("ssij", "partitioned_join"):
        own["cache_partitions"] = CACHE_PAGES
    elif "cachejoin" in name or name == "sscj":
        own["cache_rows"] = CACHE_ROWS
    return own


def steady(name: str, trace: Trace, *, scale: int = 1, warm_up: int = WARM_UP, **settings: Any) -> Steady:
    """Run one trace, with the keywords instead of what `settings_of` gives; in a larger system at a
    `scale`. Runs are made once a process."""
    return _steady(name, trace, scale, warm_up, tuple(sorted(settings.items())))


def counted(name: str, **settings: Any) -> Loads:
    """Loads in the measured part of every trace."""
    return {trace: steady(name, trace, **settings).loads for trace in TRACES}


def shares(trace: Trace, *, scale: int = 1) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """The probability of each page of the master."""
    order, exponent = trace
    return page_shares(key_shares(scale * ROWS, exponent, scatter=SCATTER[order]), PAGE_ROWS)


@cache
def _steady(
    name: str, trace: Trace, scale: int, capacities: int, settings: tuple[tuple[str, Any], ...]
) -> Steady:
    order, exponent = trace
    rows, pending = scale * ROWS, scale * PENDING
    warm_up = capacities * pending
    keys = zipf_keys(warm_up + MEASURED * pending, rows, exponent, SEED, scatter=SCATTER[order])
    own = {**settings_of(name), "pending_rows": pending, **dict(settings)}
    join = SemiStreamJoin(master_of(range(rows), PAGE_ROWS), memory="16MiB", algorithm=name, **own)
    out: list[Any] = []
    feed(join, keys[:warm_up], BATCH_ROWS, into=out)
    before = join.stats
    feed(join, keys[warm_up:], BATCH_ROWS, warm_up, into=out)
    after = join.stats
    join.check()
    out.extend(join.drain())
    age_max = join.stats.age_max
    join.close()
    assert_answers(out, keys, np.ones(len(keys), dtype=np.bool_), "inner")
    return Steady(
        rows=(after.rows_in - after.pending_rows) - (before.rows_in - before.pending_rows),
        age_max=age_max,
        **{
            item: getattr(after, item) - getattr(before, item)
            for item in ("loads", "cache_hits", "promotions", "wasted_loads")
        },
    )
