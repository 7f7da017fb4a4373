"""X-HYBRIDJOIN and its tuning (S2)."""

from __future__ import annotations

from semistream.experiments.axes import (
    ALL,
    ALONE_SERVICE_RATE,
    COST,
    EXPONENT,
    MASTER,
    MEMORY,
    PINNED,
    SERVICE_RATE,
    SSD_SERVICE_RATE,
    SWAPPABLE,
    both_predicted,
    only,
)
from semistream.experiments.figure import Axis, Figure, Metric, Setup
from semistream.experiments.s1 import GRID_NOTE, TUNED

PAPER = "S2"
OWN = ("x_hybridjoin", "hybridjoin", "r_meshjoin", "meshjoin")

FIGURES = (
    Figure("s2-fig-3a", PAPER, "Service rate by memory", ("S2-1",), SERVICE_RATE, MEMORY, ALL),
    Figure(
        "s2-fig-3a-ssd", PAPER, "Service rate by memory, on an SSD", ("S2-1",), SSD_SERVICE_RATE, MEMORY, ALL
    ),
    Figure(
        "s2-saved-io",
        PAPER,
        "Loads a row, in units of HYBRIDJOIN's: what the non-swappable part saves",
        ("S2-2",),
        Metric("loads_per_row", "loads a row", relative_to="hybridjoin"),
        MEMORY,
        only("hybridjoin", "x_hybridjoin", "tuned_x_hybridjoin"),
    ),
    Figure("s2-fig-3b", PAPER, "Service rate by the size of R", ("S2-3",), SERVICE_RATE, MASTER, ALL),
    Figure(
        "s2-fig-3b-ratio",
        PAPER,
        "Service rate by the size of R, in units of X-HYBRIDJOIN's",
        ("S2-3",),
        Metric("rows_per_second", "service rate", relative_to="x_hybridjoin"),
        MASTER,
        only(*OWN),
    ),
    Figure("s2-fig-3c", PAPER, "Service rate by skew", ("S2-4",), SERVICE_RATE, EXPONENT, ALL),
    Figure(
        "s2-fig-3c-alone",
        PAPER,
        "Service rate by skew, on a disk where a scan never has to seek",
        ("S2-4",),
        ALONE_SERVICE_RATE,
        EXPONENT,
        ALL,
    ),
    Figure(
        "s2-fig-3c-ssd", PAPER, "Service rate by skew, on an SSD", ("S2-4",), SSD_SERVICE_RATE, EXPONENT, ALL
    ),
    Figure(
        "s2-fig-3d",
        PAPER,
        "Rows that the non-swappable part answers in 4,000 iterations",
        ("S2-5",),
        Metric("hits_in_4000_loads", "rows answered"),
        MEMORY,
        both_predicted("x_hybridjoin"),
        Setup(partition_rows=425),
        note="The paper doesn't say how large a partition is: its numbers fit 425 rows.",
    ),
    Figure(
        "s2-fig-4",
        PAPER,
        "Tuning X-HYBRIDJOIN: service rate by both disk buffers",
        ("S2-6",),
        SERVICE_RATE,
        SWAPPABLE,
        TUNED,
        second=PINNED,
        note=GRID_NOTE,
    ),
    Figure(
        "s2-fig-6a",
        PAPER,
        "Tuning by the model and by measuring: swappable part",
        ("S2-8",),
        SERVICE_RATE,
        SWAPPABLE,
        both_predicted("tuned_x_hybridjoin"),
        Setup(settings=(("pinned_rows", 6_400),)),
        note=GRID_NOTE,
    ),
    Figure(
        "s2-fig-6b",
        PAPER,
        "Tuning by the model and by measuring: non-swappable part",
        ("S2-8",),
        SERVICE_RATE,
        PINNED,
        both_predicted("tuned_x_hybridjoin"),
        Setup(partition_rows=850, quick_partition_rows=1_600),
    ),
    Figure(
        "s2-fig-7a",
        PAPER,
        "What tuning gains, by the size of R",
        ("S2-9",),
        SERVICE_RATE,
        MASTER,
        only("tuned_x_hybridjoin", "x_hybridjoin"),
    ),
    Figure(
        "s2-fig-7b",
        PAPER,
        "What tuning gains, by memory",
        ("S2-10",),
        SERVICE_RATE,
        MEMORY,
        only("tuned_x_hybridjoin", "x_hybridjoin"),
    ),
    Figure(
        "s2-fig-8",
        PAPER,
        "Predicted and measured cost of a row",
        ("S2-11",),
        COST,
        MEMORY,
        both_predicted("x_hybridjoin", "tuned_x_hybridjoin"),
    ),
    Figure(
        "s2-fig-3c-real",
        PAPER,
        "Service rate by skew, on this machine's disk",
        ("S2-4",),
        SERVICE_RATE,
        Axis("exponent", "Zipf exponent", EXPONENT.values, quick=(0.0, 1.0)),
        only(*OWN),
        Setup(disk="real"),
    ),
)
