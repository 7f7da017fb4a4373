"""The tuner's choice costs at most 5 % more than the best of a grid ten times finer.

`benchmarks/tuning.py` has the same workloads larger, and leaves no place of the finer grid out.
"""

from __future__ import annotations

import pytest

from semistream.tuning.choices import grid
from tests.tuning.finer import FINER, Workload, compared, finer_grid
from tests.tuning.held_out import WORKLOADS

TOLERANCE = 1.05
BEYOND = {
    "steep": "the choice costs 10 % more than the best: the models rank a cache of 15 % before one of 5 %, "
    "and none of the six choices that are measured has the smaller one",
}


HELD_OUT = [
    pytest.param(
        workload,
        id=workload.name,
        marks=[pytest.mark.xfail(strict=True, reason=BEYOND[workload.name])]
        if workload.name in BEYOND
        else [],
    )
    for workload in WORKLOADS
]


@pytest.mark.parametrize("workload", HELD_OUT)
def test_within_five_per_cent_of_the_best(workload: Workload) -> None:
    tuned = workload.tuned()
    found = compared(workload, tuned)
    assert found.ratio <= TOLERANCE, (tuned.chosen.settings, found.best_choice.settings)
    assert found.default > found.chosen


def test_the_finer_grid_is_ten_times_finer() -> None:
    """Where an algorithm has no front, every whole number of pages a load is in it."""
    for workload in WORKLOADS:
        job = workload.tuned(measure=0).job
        coarse, fine = grid(job), finer_grid(job, len(grid(job)))
        if job.front_setting is None:
            assert [point.pages for point in fine] == list(range(1, fine[-1].pages + 1))
        else:
            assert len(fine) >= FINER * len(coarse)
