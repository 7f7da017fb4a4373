"""The tuner's choice costs at most 5 % more than the best of a grid ten times finer.

On five workloads that it was not developed on: fixed before the tuner was first run against a finer grid, and
unlike those it was tried with in algorithm, exponent, size or order. `benchmarks/tuning.py` has them larger.
"""

from __future__ import annotations

import pytest

from semistream.costs.base import HARD_DISK_2011
from semistream.tuning.tuner import SSD
from tests.tuning.finer import FINER, Workload, compared, finer_grid
from semistream.tuning.choices import SHARES, grid

TOLERANCE = 1.05

WORKLOADS = [
    Workload("uniform-ish", "cachejoin_pq", 0.8, "scattered", 6000, "160KiB"),
    Workload("steep", "cachejoin", 1.2, "frequency", 12_000, "128KiB"),
    Workload("pinned", "tuned_x_hybridjoin", 1.0, "frequency", 8000, "192KiB"),
    Workload("fast disk", "op_cachejoin", 0.5, "scattered", 5000, "128KiB", device=SSD),
    Workload("no front", "hybridjoin", 0.9, "frequency", 7000, "160KiB", page_rows=20),
]


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: workload.name)
def test_within_five_per_cent_of_the_best(workload: Workload) -> None:
    tuned = workload.tuned()
    found = compared(workload, tuned)
    assert found.ratio <= TOLERANCE, (found.best_choice.settings, tuned.chosen.settings)
    assert found.default / found.chosen > 1.0
