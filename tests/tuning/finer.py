"""The tuner's choice beside the best of a grid ten times finer: joins on a simulated device, exact counts.

A row costs the virtual clock's I/O and unit costs times what the join counted. Every place of the finer grid
runs on one stream. The best few of it run again, as the tuner's choice does, on streams that neither has
seen: the best of many on one stream owes some of it to chance.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from semistream.costs.base import FIXED_UNITS, HARD_DISK_2011, DeviceCosts
from semistream.stores.memory import MemoryStore
from semistream.tuning import Tuned, tune
from semistream.tuning.choices import PAGE_STEP, SHARES, Choice, Point, grid, screened
from semistream.tuning.job import Job
from semistream.tuning.measuring import Trial

STREAM = pa.schema([("k", pa.int64()), ("s", pa.int64())])
FINER = 10
FEWEST_SHARES = 30
FINEST_STEP = 1.001
PRUNED_ABOVE = 1.5  # times the best in closed form: places further off are left out, for time
BEST_OF_GRID = 4
FRESH = 1000  # seeds from here on belong to nobody's search


@dataclass(frozen=True)
class Workload:
    """A join to be tuned. `rows` of 120 bytes; `page_rows` of a page; `stream_rows` in all."""

    name: str
    algorithm: str
    exponent: float
    order: str
    rows: int
    memory: str
    page_rows: int = 10
    device: DeviceCosts = HARD_DISK_2011
    stream_rows: int | None = None
    fresh_streams: int = 4
    pruned_above: float = PRUNED_ABOVE

    @cached_property
    def store(self) -> MemoryStore:
        payload = pa.array(np.zeros(self.rows * 112, np.uint8).view("S112"), pa.binary(112))
        return MemoryStore(pa.table({"k": np.arange(self.rows), "p": payload}), "k", page_rows=self.page_rows)

    def tuned(self, measure: int = 6) -> Tuned:
        return tune(
            self.store,
            self.memory,
            algorithm=self.algorithm,
            exponent=self.exponent,
            order=self.order,
            stream=STREAM,
            units=FIXED_UNITS,
            device=self.device,
            measure=measure,
            rows=self.stream_rows,
        )


@dataclass(frozen=True)
class Comparison:
    """Seconds a row on fresh streams."""

    chosen: float
    best: float
    best_choice: Choice
    default: float
    places: int
    ran: int

    @property
    def ratio(self) -> float:
        """How much dearer the tuner's choice is: 1.0 is as good as the best."""
        return self.chosen / self.best


def finer_grid(job: Job, coarse: int) -> list[Point]:
    """At least ten times as many places; where an algorithm has no front, every whole number of pages."""
    if job.front_setting is None:
        return grid(job, (), FINEST_STEP)
    step = PAGE_STEP ** (1 / 3)
    shares = FEWEST_SHARES
    while len(points := grid(job, _spread(shares), step)) < FINER * coarse:
        shares += shares // 4
    return points


def _spread(count: int) -> tuple[float, ...]:
    return tuple(float(share) for share in np.linspace(0.02, 0.9, count))


def compared(workload: Workload, tuned: Tuned) -> Comparison:
    """Run the finer grid, and the best of it against the tuner's choice."""
    job = tuned.job
    coarse = len(grid(job, SHARES))
    points = finer_grid(job, coarse)
    fitting = [choice for _, choice in screened(job, points)]
    ran = [c for c in fitting if c.seconds <= workload.pruned_above * fitting[0].seconds]
    trial = _trial(job, FRESH)
    ran = [replace(choice, measured_seconds=trial.seconds(choice.settings)) for choice in ran]
    ran.sort(key=lambda choice: choice.seconds)
    fresh = [_trial(job, FRESH + 1 + i) for i in range(workload.fresh_streams)]

    def mean(choice: Choice) -> float:
        return float(np.mean([trial.seconds(dict(choice.settings)) for trial in fresh]))

    means = [(mean(choice), choice) for choice in ran[:BEST_OF_GRID]]
    best, best_choice = min(means, key=lambda pair: pair[0])
    return Comparison(mean(tuned.chosen), best, best_choice, mean(tuned.default), len(points), len(ran))


def _trial(job: Job, seed: int) -> Trial:
    assert job.warm_up_rows is not None
    assert job.measured_rows is not None
    return Trial(job, job.warm_up_rows, job.measured_rows, seed=seed)
