"""HYBRIDJOIN-PQ and CACHEJOIN-PQ (S4): pages of 8 KiB, and R in no order that its keys tell."""

from __future__ import annotations

from dataclasses import replace

from semistream.experiments.axes import ALL, EXPONENT, MASTER, MEMORY, POSITION, SERVICE_RATE, flat_but, only
from semistream.experiments.figure import Axis, Figure, Series, Setup

PAPER = "S4"
SCATTERED = Setup(order="scattered", partition_rows=68, quick_partition_rows=850)
SORTED = Setup(partition_rows=68, quick_partition_rows=850)
OWN = ("hybridjoin_l", "hybridjoin_pq", "cachejoin_l", "cachejoin_pq")
SKEWED = Axis("exponent", "Zipf exponent", (0.25, 0.5, 0.75, 1.0))
THRESHOLD = Axis(
    "page_threshold",
    "rows that make a page frequent",
    (10, 20, 40, 80, 160, 320),
    quick=(125, 250, 500, 1_000, 2_000),
    unit="rows",
    log=True,
)


def _positions(name: str, setup: Setup, where: str) -> Figure:
    return Figure(
        name,
        PAPER,
        f"Service rate of HYBRIDJOIN-L by its lookup position and skew, {where}",
        ("S4-1",),
        SERVICE_RATE,
        POSITION,
        only("hybridjoin_l"),
        setup,
        second=SKEWED,
    )


FIGURES = (
    _positions("s4-fig-2", SCATTERED, "R scattered"),
    _positions("s4-fig-2-sorted", SORTED, "R in frequency order"),
    Figure(
        "s4-fig-2-all",
        PAPER,
        "Service rate by lookup position, at Zipf 1",
        ("S4-1",),
        SERVICE_RATE,
        POSITION,
        flat_but("hybridjoin_l", "cachejoin_l"),
        SCATTERED,
    ),
    Figure(
        "s4-fig-3a", PAPER, "Service rate by memory", ("S4-2", "S4-7"), SERVICE_RATE, MEMORY, ALL, SCATTERED
    ),
    Figure(
        "s4-fig-3a-sorted",
        PAPER,
        "Service rate by memory, R in frequency order",
        ("S4-2", "S4-7"),
        SERVICE_RATE,
        MEMORY,
        ALL,
        SORTED,
    ),
    Figure(
        "s4-fig-3b", PAPER, "Service rate by the size of R", ("S4-3",), SERVICE_RATE, MASTER, ALL, SCATTERED
    ),
    Figure(
        "s4-fig-3c", PAPER, "Service rate by skew", ("S4-4", "S4-7"), SERVICE_RATE, SKEWED, ALL, SCATTERED
    ),
    Figure(
        "s4-threshold",
        PAPER,
        "Service rate by the threshold of the page queue, fixed or found while running",
        ("S4-8",),
        SERVICE_RATE,
        THRESHOLD,
        (
            *(Series(f"{name}, fixed", name) for name in ("hybridjoin_pq", "cachejoin_pq")),
            *(
                Series(name, name, follows_axis=False)
                for name in ("hybridjoin_pq", "cachejoin_pq", "hybridjoin", "cachejoin")
            ),
        ),
        SCATTERED,
    ),
    Figure(
        "s4-fig-3a-real",
        PAPER,
        "Service rate by memory, on this machine's disk",
        ("S4-2",),
        SERVICE_RATE,
        Axis("memory_mb", "memory", MEMORY.values, quick=(50, 250), unit="MB"),
        only(*OWN),
        replace(SCATTERED, disk="real"),
    ),
    Figure(
        "s4-fig-3c-uniform",
        PAPER,
        "Service rate by skew, from uniform keys on",
        ("S4-4",),
        SERVICE_RATE,
        EXPONENT,
        only(*OWN, "hybridjoin", "cachejoin"),
        SCATTERED,
    ),
)
