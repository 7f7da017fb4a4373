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


# A row of the stream meets hundreds of the weather's master: at the papers' sizes a run would take days.
SHARES = (0.05, 0.005)
SMALL_MEMORY = Axis("memory_mb", "memory", MEMORY.values, quick=(50, 150, 250), unit="MB")
TPCH = Setup(
    master_millions=15,
    order="scattered",
    partition_rows=68,
    quick_partition_rows=425,
    workload="tpch",
    shares=SHARES,
)
WITH_PLAIN = only("hybridjoin", "hybridjoin_l", "hybridjoin_pq", "cachejoin", "cachejoin_l", "cachejoin_pq")


def _data(name: str, title: str, claim: str, setup: Setup, note: str) -> Figure:
    return Figure(name, PAPER, title, (claim,), SERVICE_RATE, SMALL_MEMORY, WITH_PLAIN, setup, note=note)


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
    _data(
        "s4-fig-3d",
        "Service rate by memory: TPC-H, orders with their customers",
        "S4-5",
        TPCH,
        "15 million customers and 150 million orders at scale 100, where the paper has 20 million of both; "
        "all of it, memory too, a twentieth (quick: a two-hundredth). Customers order evenly.",
    ),
    _data(
        "s4-fig-3d-zipf",
        "Service rate by memory: TPC-H with customers who order by Zipf's law",
        "S4-5",
        replace(TPCH, workload="tpch-zipf"),
        "As before, but the customers are drawn by Zipf's law with exponent 1.",
    ),
    _data(
        "s4-fig-3e",
        "Service rate by memory: weather reports by longitude",
        "S4-6",
        replace(TPCH, master_millions=20, workload="weather"),
        "A synthetic stand-in for NDP-026B, many-to-many; all of it, memory too, a twentieth (quick: a "
        "two-hundredth). Rows are charged 120 and 20 bytes as everywhere, where the paper has 128.",
    ),
)
