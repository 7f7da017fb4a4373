"""Loads of a batch that is drained at its end, as every Spark task is.

A batch has n rows whose keys follow Zipf's law over k master rows, scattered over P pages. The front holds
the c most frequent rows and answers their share of n. The M others meet pages:

- as long as they all fit among the h pending rows, each page that one of them needs is loaded once. With D
  distinct keys among them, thrown at random, that is P (1 - (1 - 1/P)^D) pages;
- of more, M - h are answered while pending is full, w of them a load (`renewal`), and the last h as above.

Both parts assume a front that has found the most frequent rows: a cold one answers nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from semistream.costs.renewal import Floats, rows_per_load

_EXACT = 4096  # ranks that stand for themselves; above it, for a share of their neighbours
_PER_DOUBLING = 64
_MOST_PAGES = 100_000  # shares that are written down page by page


@dataclass(frozen=True)
class Batch:
    """What is expected of one batch."""

    hit_ratio: float
    loads: float


def drained_batch(rows: int, keys: int, exponent: float, cached: int, pages: int, pending: int) -> Batch:
    """Expected hits and loads of a batch of so many rows.

    >>> drained_batch(10_000, 2_000_000, 1.0, 0, 4_000, 50_000).hit_ratio
    0.0
    >>> round(drained_batch(100, 10**6, 0.0, 0, 10**6, 50_000).loads)
    100
    """
    if not (rows and keys and pages):
        return Batch(0.0, 0.0)
    ranks, counts = _ranks(keys, cached)
    weights = ranks**-exponent
    shares = weights / float((weights * counts).sum())
    tail = ranks > cached
    hit = float((shares * counts)[~tail].sum())
    missing = rows * (1.0 - hit)
    waiting = min(missing, float(max(1, pending)))
    together = rows * waiting / missing if missing else 0.0
    distinct = float(
        (counts[tail] * -np.expm1(together * np.log1p(-np.minimum(shares[tail], 1 - 1e-12)))).sum()
    )
    loads = pages * -np.expm1(distinct * np.log1p(-1.0 / pages)) if pages > 1 else -np.expm1(-distinct)
    if missing > waiting:
        loads += (missing - waiting) / _rows_per_load(shares[tail], counts[tail], pages, waiting)
    return Batch(hit, float(loads))


def _ranks(keys: int, cut: int) -> tuple[Floats, Floats]:
    """Ranks that stand for all, and for how many each; none stands for ranks on both sides of `cut`."""
    edges = [np.arange(1, min(keys, _EXACT) + 2, dtype=np.float64)]
    if keys > _EXACT:
        steps = int(np.ceil(np.log2(keys / _EXACT) * _PER_DOUBLING)) + 1
        edges.append(np.geomspace(_EXACT + 1, keys + 1, steps))
    all_edges = np.unique(np.round(np.concatenate([*edges, [min(cut, keys) + 1]])))
    return (all_edges[:-1] + all_edges[1:] - 1) / 2, np.diff(all_edges)


def _rows_per_load(shares: Floats, counts: Floats, pages: int, pending: float) -> float:
    """w, with the most frequent of the tail's keys on pages of their own and the rest spread evenly."""
    total = float((shares * counts).sum())
    shown = min(pages, _MOST_PAGES)
    single = shares[counts == 1][: shown // 2]
    even = np.full(shown, (total - float(single.sum())) / pages)
    even[: len(single)] += single
    rest = total - float(even.sum())  # of the pages that aren't written down
    if rest > 0:
        even += rest / shown
    return max(1.0, rows_per_load(even / even.sum(), pending) * shown / pages)
