"""P- and OP-CACHEJOIN (S5): two phases side by side, and two loads."""

from __future__ import annotations

from dataclasses import replace

from semistream.experiments.axes import (
    ALL,
    EXPONENT,
    INTERMEDIATE,
    MASTER,
    MEMORY,
    ROWS_PER_LOAD,
    RUN_LENGTH,
    SERVICE_RATE,
    SSD_SERVICE_RATE,
    flat_but,
    only,
)
from semistream.experiments.figure import Axis, Figure, Metric, Setup

PAPER = "S5"
BASE = Setup(queue_node_bytes=4)
OWN = ("cachejoin", "p_cachejoin", "op_cachejoin")
PARALLEL = ("p_cachejoin", "op_cachejoin")
SMALLER = Axis("master_millions", MASTER.name, (0.5, 1, 2), unit=MASTER.unit, log=True)
SKEWED = Axis("exponent", EXPONENT.name, (0.5, 0.75, 1.0))


def _io(name: str, key: str, where: str) -> Figure:
    return Figure(
        name,
        PAPER,
        f"I/O of a load in units of CACHEJOIN's, {where}",
        ("S5-6",),
        Metric(key, "I/O time of a load", relative_to="cachejoin"),
        MEMORY,
        only(*OWN),
        BASE,
    )


FIGURES = (
    Figure(
        "s5-fig-3",
        PAPER,
        "Service rate by the intermediate buffer",
        ("S5-1",),
        SERVICE_RATE,
        INTERMEDIATE,
        flat_but(*PARALLEL),
        replace(BASE, memory_mb=100),
    ),
    Figure(
        "s5-fig-3-ssd",
        PAPER,
        "Service rate by the intermediate buffer, on an SSD",
        ("S5-1",),
        SSD_SERVICE_RATE,
        INTERMEDIATE,
        flat_but(*PARALLEL),
        replace(BASE, memory_mb=100),
    ),
    Figure("s5-fig-4a", PAPER, "Service rate by the size of R", ("S5-2",), SERVICE_RATE, SMALLER, ALL, BASE),
    Figure("s5-fig-4b", PAPER, "Service rate by memory", ("S5-3",), SERVICE_RATE, MEMORY, ALL, BASE),
    Figure("s5-fig-4c", PAPER, "Service rate by skew", ("S5-4",), SERVICE_RATE, SKEWED, ALL, BASE),
    Figure(
        "s5-fig-6a",
        PAPER,
        "Service rate by the size of R, on an SSD",
        ("S5-2", "S5-5"),
        SSD_SERVICE_RATE,
        SMALLER,
        ALL,
        BASE,
    ),
    Figure(
        "s5-fig-6b",
        PAPER,
        "Service rate by memory, on an SSD",
        ("S5-3", "S5-5"),
        SSD_SERVICE_RATE,
        MEMORY,
        ALL,
        BASE,
    ),
    Figure(
        "s5-fig-6c",
        PAPER,
        "Service rate by skew, on an SSD",
        ("S5-4", "S5-5"),
        SSD_SERVICE_RATE,
        SKEWED,
        ALL,
        BASE,
    ),
    _io("s5-io", "io_seconds_per_load", "on one arm"),
    _io("s5-io-ssd", "ssd_io_seconds_per_load", "on a device that serves two reads at once"),
    Figure(
        "s5-iterations",
        PAPER,
        "Rows answered a load in short and in long runs, from an empty queue",
        ("S5-7",),
        ROWS_PER_LOAD,
        RUN_LENGTH,
        only(*OWN),
        replace(BASE, settings=(("warm_up", 0),)),
    ),
    Figure(
        "s5-fig-6b-real",
        PAPER,
        "Service rate by memory, on this machine's disk",
        ("S5-3", "S5-5"),
        SERVICE_RATE,
        Axis("memory_mb", "memory", MEMORY.values, quick=(50, 250), unit="MB"),
        only(*OWN),
        replace(BASE, disk="real"),
    ),
)
