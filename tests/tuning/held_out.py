"""Five workloads that the tuner was not developed on.

Fixed before it was first run against a finer grid, and unlike those that it was tried with in algorithm,
exponent, size or order.
"""

from __future__ import annotations

from semistream.tuning.tuner import SSD
from tests.tuning.finer import Workload

WORKLOADS = (
    Workload("uniform-ish", "cachejoin_pq", 0.8, "scattered", 6000, "160KiB"),
    Workload("steep", "cachejoin", 1.2, "frequency", 12_000, "128KiB"),
    Workload("pinned", "tuned_x_hybridjoin", 1.0, "frequency", 8000, "192KiB"),
    Workload("fast disk", "op_cachejoin", 0.5, "scattered", 5000, "128KiB", device=SSD),
    Workload("no front", "hybridjoin", 0.9, "frequency", 7000, "160KiB", page_rows=20),
)
