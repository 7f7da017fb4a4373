"""Tuned X-HYBRIDJOIN (S1)."""

from __future__ import annotations

from semistream.experiments.axes import (
    ALL,
    LOAD,
    MASTER,
    MEMORY,
    PARTITION,
    PINNED,
    RATE,
    SERVICE_RATE,
    SWAPPABLE,
    both_predicted,
    only,
)
from semistream.experiments.figure import Axis, Figure, Metric, Setup

PAPER = "S1"
TUNED = only("tuned_x_hybridjoin")
GRID_NOTE = "A non-swappable part is whole partitions: smaller ones are rounded up to one."

FIGURES = (
    Figure(
        "s1-fig-3",
        PAPER,
        "Tuning X-HYBRIDJOIN: service rate by both disk buffers",
        ("S1-3",),
        SERVICE_RATE,
        SWAPPABLE,
        TUNED,
        second=PINNED,
        note=GRID_NOTE,
    ),
    Figure(
        "s1-fig-4",
        PAPER,
        "Share of the stream that each partition answers",
        ("S1-4",),
        Metric("share_by_partition", "share of the stream", log=True),
        PARTITION,
        only("hybridjoin"),
        Setup(settings=(("profile", True),)),
        profile=True,
    ),
    Figure(
        "s1-fig-5a",
        PAPER,
        "Tuning by the model and by measuring: swappable part",
        ("S1-5",),
        SERVICE_RATE,
        SWAPPABLE,
        both_predicted("tuned_x_hybridjoin"),
        Setup(settings=(("pinned_rows", 6_400),)),
        note=GRID_NOTE,
    ),
    Figure(
        "s1-fig-5b",
        PAPER,
        "Tuning by the model and by measuring: non-swappable part",
        ("S1-6",),
        SERVICE_RATE,
        PINNED,
        both_predicted("tuned_x_hybridjoin"),
        Setup(partition_rows=850, quick_partition_rows=1_600),
    ),
    Figure("s1-fig-6a", PAPER, "Service rate by the size of R", ("S1-7",), SERVICE_RATE, MASTER, ALL),
    Figure("s1-fig-6b", PAPER, "Service rate by memory", ("S1-8",), SERVICE_RATE, MEMORY, ALL),
    Figure(
        "s1-stream-buffer",
        PAPER,
        "Most rows that waited in front of the join, in stream buffers of 0.05 MB",
        ("S1-9",),
        Metric("stream_buffers", "backlog", "stream buffers", log=True),
        RATE,
        ALL,
    ),
    Figure(
        "s1-fig-6b-real",
        PAPER,
        "Service rate by memory, on this machine's disk",
        ("S1-8",),
        SERVICE_RATE,
        Axis("memory_mb", "memory", MEMORY.values, quick=(50, 250), unit="MB"),
        only("tuned_x_hybridjoin", "x_hybridjoin", "hybridjoin", "r_meshjoin", "meshjoin"),
        Setup(disk="real"),
    ),
    Figure(
        "s1-load",
        PAPER,
        "Service rate by the disk buffer, without tuning the rest",
        ("S1-3",),
        SERVICE_RATE,
        LOAD,
        ALL,
    ),
)
