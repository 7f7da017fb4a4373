"""HYBRIDJOIN (S3)."""

from __future__ import annotations

from semistream.algorithms import names
from semistream.experiments.axes import (
    ALL,
    ALONE_SERVICE_RATE,
    COST,
    EXPONENT,
    LOAD,
    MASTER,
    MEMORY,
    PARTITION,
    RATE,
    RUN_LENGTH,
    SERVICE_RATE,
    SSD_SERVICE_RATE,
    both_predicted,
    only,
)
from semistream.experiments.figure import Axis, Figure, Metric, Series, Setup

PAPER = "S3"
OWN = ("hybridjoin", "meshjoin", "inlj")
PROFILE = Setup(settings=(("profile", True),))
MATCHES = Setup(partition_rows=125, quick_partition_rows=212, settings=(("profile", True),))
COLD = Setup(settings=(("warm_up", 0),))
CONSTANT = Metric("constant", "k in w = k h d / R")


def _costs(figure: str, algorithm: str) -> Figure:
    title = f"Predicted and measured cost of a row: {algorithm}"
    return Figure(f"s3-fig-8{figure}", PAPER, title, ("S3-12",), COST, MEMORY, both_predicted(algorithm))


def _relative(to: str) -> Figure:
    return Figure(
        f"s3-worst-case-{to}",
        PAPER,
        f"Cost of a row in units of {to}'s, by skew",
        ("S3-3",),
        Metric("seconds_per_row", "cost", relative_to=to, log=True),
        EXPONENT,
        only(*OWN),
    )


FIGURES = (
    Figure(
        "s3-theorem-1",
        PAPER,
        "The most loads of one partition while as many rows are admitted as can wait",
        ("S3-1",),
        Metric("most_loads_a_capacity", "loads of one partition"),
        EXPONENT,
        only("hybridjoin"),
        PROFILE,
    ),
    Figure(
        "s3-theorem-2",
        PAPER,
        "Loads a row, by skew",
        ("S3-2",),
        Metric("loads_per_row", "loads a row", log=True),
        EXPONENT,
        ALL,
    ),
    _relative("meshjoin"),
    _relative("inlj"),
    Figure(
        "s3-fig-3",
        PAPER,
        "Rows of the stream that belong to each partition of R",
        ("S3-4",),
        Metric("rows_by_partition", "rows", log=True),
        PARTITION,
        only("hybridjoin"),
        MATCHES,
        profile=True,
    ),
    Figure(
        "s3-fig-3-matches",
        PAPER,
        "Rows that a load of each partition answers",
        ("S3-4",),
        Metric("rows_per_load_by_partition", "rows a load", log=True),
        PARTITION,
        only("hybridjoin"),
        MATCHES,
        profile=True,
    ),
    Figure("s3-fig-6", PAPER, "Service rate by the disk buffer", ("S3-5",), SERVICE_RATE, LOAD, ALL),
    Figure(
        "s3-eq-2",
        PAPER,
        "The constant of Eq. 2 in short and in long runs, from an empty queue",
        ("S3-6",),
        CONSTANT,
        RUN_LENGTH,
        (
            Series("hybridjoin", "hybridjoin"),
            Series("hybridjoin, corrected model", "hybridjoin", source="corrected"),
        ),
        COLD,
    ),
    Figure(
        "s3-eq-2-skew",
        PAPER,
        "The constant of Eq. 2 by skew, in long runs",
        ("S3-6",),
        CONSTANT,
        EXPONENT,
        both_predicted("hybridjoin"),
    ),
    Figure(
        "s3-fig-7a",
        PAPER,
        "Time from a row's loading to its matching, by the size of R",
        ("S3-7",),
        Metric("processing_seconds", "processing time", "s", log=True),
        MASTER,
        ALL,
    ),
    Figure(
        "s3-fig-7a-slow",
        PAPER,
        "Time from a row's loading to its matching, while 500 rows come each second",
        ("S3-7",),
        Metric("processing_seconds", "processing time", "s", log=True),
        MASTER,
        only(*OWN),
        Setup(arrival_rate=500),
    ),
    Figure(
        "s3-fig-7b",
        PAPER,
        "Time that a row waits before it is loaded, by arrival rate",
        ("S3-8",),
        Metric("waiting_seconds", "waiting time", "s", log=True),
        RATE,
        ALL,
    ),
    Figure(
        "s3-fig-7b-processing",
        PAPER,
        "Time from a row's loading to its matching, by arrival rate",
        ("S3-7", "S3-8"),
        Metric("processing_seconds", "processing time", "s", log=True),
        RATE,
        ALL,
    ),
    Figure("s3-fig-7c", PAPER, "Service rate by the size of R", ("S3-9",), SERVICE_RATE, MASTER, ALL),
    Figure("s3-fig-7d", PAPER, "Service rate by memory", ("S3-10",), SERVICE_RATE, MEMORY, ALL),
    Figure("s3-fig-7e", PAPER, "Service rate by skew", ("S3-11",), SERVICE_RATE, EXPONENT, ALL),
    Figure(
        "s3-fig-7e-alone",
        PAPER,
        "Service rate by skew, on a disk where a scan never has to seek",
        ("S3-11",),
        ALONE_SERVICE_RATE,
        EXPONENT,
        ALL,
    ),
    Figure(
        "s3-fig-7e-ssd", PAPER, "Service rate by skew, on an SSD", ("S3-11",), SSD_SERVICE_RATE, EXPONENT, ALL
    ),
    _costs("a", "hybridjoin"),
    _costs("b", "meshjoin"),
    _costs("c", "inlj"),
    Figure(
        "s3-fig-8-all",
        PAPER,
        "Predicted and measured cost of a row: all algorithms",
        ("S3-12",),
        COST,
        MEMORY,
        both_predicted(*names()),
    ),
    Figure(
        "s3-fig-10a",
        PAPER,
        "The generator: share of the stream that the most frequent keys take",
        ("S3-13",),
        Metric("share", "share of the stream"),
        Axis("keys", "share of the keys"),
        made="shares",
    ),
    Figure(
        "s3-fig-10b",
        PAPER,
        "The generator: frequency by rank",
        ("S3-13",),
        Metric("frequency", "frequency", log=True),
        Axis("rank", "rank", log=True),
        made="frequencies",
    ),
    Figure(
        "s3-fig-11",
        PAPER,
        "The generator: rows in each step",
        ("S3-14",),
        Metric("rows", "rows in a step"),
        Axis("step", "step"),
        made="bursts",
    ),
    Figure(
        "s3-fig-11-hurst",
        PAPER,
        "The generator: its Hurst exponent, by two estimators",
        ("S3-14",),
        Metric("hurst", "Hurst exponent"),
        Axis("estimator", "estimator"),
        made="hurst",
    ),
    Figure(
        "s3-fig-7d-real",
        PAPER,
        "Service rate by memory, on this machine's disk",
        ("S3-10",),
        SERVICE_RATE,
        Axis("memory_mb", "memory", MEMORY.values, quick=(50, 250), unit="MB"),
        only(*OWN),
        Setup(disk="real"),
    ),
)
