"""Choices of settings: which there are, and what the cost models say of each.

Two things are to be chosen. How many pages a load brings: more make loads fewer and longer, and take
memory from waiting rows. And how what is left is split between the front and the waiting rows: a front
answers rows at once, more waiting rows share a load.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from semistream.costs.accounting import expected, predict
from semistream.costs.base import Prediction, Situation
from semistream.costs.renewal import Floats, page_shares, rows_per_load
from semistream.errors import BudgetError
from semistream.phases.plan import Plan
from semistream.tuning.job import PINNED, SHARE, Job, Settings

SHARES = (0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9)
LARGEST_SHARE, LEAST_SHARE = 0.95, 0.01
PAGE_STEP = 2.0


@dataclass(frozen=True, eq=False)
class Choice:
    """Settings, what they make of the memory, and what a row then costs.

    measured_seconds: of a row, where it was measured.
    """

    settings: Settings
    plan: Plan
    situation: Situation
    prediction: Prediction
    measured_seconds: float | None = None

    @property
    def seconds(self) -> float:
        """Of a row: measured, or else predicted."""
        return self.prediction.seconds if self.measured_seconds is None else self.measured_seconds

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            **{name: value for name, value in self.settings.items() if value is not None},
            "pending_rows": self.plan.pending_rows,
            "cache_rows": self.situation.cache_rows,
            "kept_partitions": self.situation.cached_partitions,
            "partition_rows": self.situation.partition_rows,
            "front_bytes": self.plan.front_bytes,
            "page_bytes": self.plan.pages_bytes,
            "hit_ratio": self.prediction.hit_ratio,
            "loads_per_row": self.prediction.loads_per_row,
            "predicted_seconds": self.prediction.seconds,
            "measured_seconds": self.measured_seconds,
        }


@dataclass(frozen=True, slots=True)
class Point:
    """A place in the space of choices: pages a load, and the front's share of the memory (None: it has
    no front that can be sized)."""

    pages: int
    share: float | None


def page_counts(job: Job, step: float = PAGE_STEP) -> list[int]:
    """Pages a load, each `step` times the one before, as far as the memory goes."""
    found: list[int] = []
    size = 1.0
    while round(size) <= job.layout.pages:
        pages = round(size)
        if not found or pages > found[-1]:
            if not _fits(job, pages):
                break
            found.append(pages)
        size *= step
    return found


def grid(job: Job, shares: Sequence[float] = SHARES, step: float = PAGE_STEP) -> list[Point]:
    """Every place of a grid."""
    split = shares if job.front_setting else (None,)
    return [Point(pages, share) for pages in page_counts(job, step) for share in split]


def around(point: Point, job: Job, page_step: float, share_step: float) -> list[Point]:
    """The neighbours of a place at this distance."""
    pages = {max(1, round(point.pages * page_step**i)) for i in (-1, 0, 1)}
    if point.share is None:
        return [Point(n, None) for n in sorted(pages) if n <= job.layout.pages]
    odds = point.share / (1 - point.share)
    scaled = (odds * share_step**i for i in (-1, 0, 1))
    shares = sorted({min(max(o / (1 + o), LEAST_SHARE), LARGEST_SHARE) for o in scaled})
    return [Point(n, share) for n in sorted(pages) if n <= job.layout.pages for share in shares]


def settings_at(job: Job, point: Point) -> Settings:
    """The settings of a place."""
    settings: Settings = {**job.given, "partition_pages": point.pages}
    if point.share is None or job.front_setting is None:
        return settings
    if job.front_setting == PINNED:
        settings[PINNED] = max(1, round(point.share * job.most_pinned(settings)))
    else:
        settings[SHARE] = round(point.share, 4)
        if job.algorithm == "ssij":
            settings["adapt"] = False  # it would move away from what was chosen
    return settings


def screened(job: Job, points: Iterable[Point]) -> list[tuple[Point, Choice]]:
    """Choices that the memory has room for, judged in closed form, the best first."""
    found: dict[tuple[tuple[str, Any], ...], tuple[Point, Choice]] = {}
    for point in points:
        try:
            settings = settings_at(job, point)
            plan = job.plan(settings)
        except BudgetError:
            continue
        key = tuple(sorted(settings.items()))
        if key not in found:
            situation = job.situation(settings, plan)
            found[key] = point, Choice(settings, plan, situation, at_a_glance(job, situation))
    return sorted(found.values(), key=lambda pair: pair[1].seconds)


def modelled(job: Job, choice: Choice) -> Choice:
    """The same, judged by the algorithm's corrected model."""
    prediction = job.costs.corrected(choice.situation, job.units, job.device)
    return replace(choice, prediction=prediction)


def at_a_glance(job: Job, situation: Situation) -> Prediction:
    """What it would cost if a front always held the most frequent, and the oldest row went first."""
    account = job.costs.ACCOUNT
    if not (account.indexed and account.queued):
        return job.costs.corrected(situation, job.units, job.device)
    hits, rest = _left_by_front(situation, account.front, pinned=job.front_setting != SHARE)
    loads = (1 - hits) / rows_per_load(rest, situation.pending_rows) if rest.sum() > 0 else 0.0
    counts = expected(situation, loads, hits)
    return predict(situation, account, counts, job.units, job.device, 0.0)


def _left_by_front(situation: Situation, front: str, *, pinned: bool) -> tuple[float, Floats]:
    """The share that a front answers, and the partitions' shares of the rest, which add up to 1."""
    if front == "rows":
        descending, total = _by_frequency(situation.key_shares)
        count = min(situation.cache_rows, situation.master_rows)
        hits = float(total[count - 1]) if count else 0.0
        shares = situation.key_shares.copy()
        shares[descending[:count]] = 0.0
        rest = page_shares(shares, situation.partition_rows)
    else:
        rest = situation.partition_shares.copy()
        kept = min(situation.cached_partitions, len(rest)) if front == "partitions" else 0
        chosen = np.arange(kept) if pinned else np.argsort(-rest, kind="stable")[:kept]
        hits = float(rest[chosen].sum())
        rest[chosen] = 0.0
    left = float(rest.sum())
    if left <= 1e-12:
        return 1.0, np.zeros(1)
    return hits, rest / left


class _Same:
    """An array by its identity, to remember what was made of it."""

    def __init__(self, shares: Floats) -> None:
        self.shares = shares

    def __hash__(self) -> int:
        return id(self.shares)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.shares is self.shares


def _by_frequency(shares: Floats) -> tuple[NDArray[np.int64], Floats]:
    return _sorted(_Same(shares))


@lru_cache(maxsize=2)
def _sorted(same: _Same) -> tuple[NDArray[np.int64], Floats]:
    """Positions, the most frequent first, and the shares that they add up to."""
    descending = np.argsort(-same.shares, kind="stable")
    return descending, np.cumsum(same.shares[descending])


def _fits(job: Job, pages: int) -> bool:
    try:
        job.plan({**job.given, "partition_pages": pages})
    except BudgetError:
        return False
    return True
