"""What several papers vary, show and compare: axes, metrics and series by name."""

from __future__ import annotations

from semistream.algorithms import names
from semistream.experiments.figure import Axis, Metric, Series

MEMORY = Axis("memory_mb", "memory", (50, 100, 150, 200, 250), unit="MB")
MASTER = Axis("master_millions", "size of R", (0.5, 1, 2, 4, 8), unit="million rows", log=True)
EXPONENT = Axis("exponent", "Zipf exponent", (0.0, 0.25, 0.5, 0.75, 1.0))
RATE = Axis(
    "arrival_rate",
    "arrival rate",
    (60, 125, 250, 500, 1_000, 2_000),  # the papers begin at 125, which is all that INLJ answers here
    quick=(60, 125, 500, 1_000, 2_000),
    unit="rows/s",
    log=True,
)
LOAD = Axis(
    "partition_rows",
    "disk buffer",
    (68, 212, 425, 850, 1_700, 3_400, 6_800, 13_600, 27_200, 54_400),
    quick=(425, 850, 1_700, 3_400, 6_800),
    unit="rows",
    log=True,
)
PINNED = Axis(
    "pinned_rows",
    "non-swappable part",
    (850, 3_400, 13_600, 27_200, 54_400, 108_800, 163_200),
    quick=(1_600, 3_200, 6_400, 9_600, 12_800),
    unit="rows",
    log=True,
)
SWAPPABLE = Axis(
    "partition_rows",
    "swappable part",
    (850, 1_700, 3_400, 6_800, 13_600, 27_200, 54_400),
    quick=(400, 800, 1_600, 3_200, 6_400),
    unit="rows",
    log=True,
)
POSITION = Axis(
    "position",
    "lookup position, from the young end",
    (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0),
    quick=(0.1, 0.3, 0.5, 0.7, 0.9),
)
INTERMEDIATE = Axis(
    "intermediate_mb",
    "intermediate buffer",
    (0.125, 0.25, 0.5, 1, 2, 4, 8, 16),
    quick=(0.25, 1, 2, 4, 8),
    unit="MB",
    log=True,
)
PARTITION = Axis("partition", "partition of R")
RUN_LENGTH = Axis(
    "measured", "length of the run", (1.5, 3, 6, 12, 25, 50, 100), unit="pending capacities", log=True
)

SERVICE_RATE = Metric("rows_per_second", "service rate", "rows/s")
SSD_SERVICE_RATE = Metric("ssd_rows_per_second", "service rate on an SSD", "rows/s")
ALONE_SERVICE_RATE = Metric("scan_rows_per_second", "service rate where a scan never has to seek", "rows/s")
COST = Metric("seconds_per_row", "cost", "s/row", log=True)
ROWS_PER_LOAD = Metric("rows_per_load", "rows answered a load")

ALL = tuple(Series(name, name) for name in names())
"""Every algorithm, in one line each."""


def only(*algorithms: str) -> tuple[Series, ...]:
    return tuple(Series(name, name) for name in algorithms)


def both_predicted(*algorithms: str) -> tuple[Series, ...]:
    """Measured, and by either form of the cost model."""
    return tuple(
        Series(name if source == "measured" else f"{name}, {source} model", name, source=source)
        for name in algorithms
        for source in ("measured", "corrected", "paper")
    )


def flat_but(*algorithms: str) -> tuple[Series, ...]:
    """All, of which the axis concerns only these."""
    return tuple(Series(name, name, follows_axis=name in algorithms) for name in names())
