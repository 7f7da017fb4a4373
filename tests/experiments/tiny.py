"""Cells that run in a blink."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from semistream.experiments.cells import Cell

MASTER_ROWS, PARTITION_ROWS = 2_000, 50
PARTITIONS = MASTER_ROWS // PARTITION_ROWS
MEMORY = 64 << 10


def cell(algorithm: str = "hybridjoin", **changed: Any) -> Cell:
    base = Cell(algorithm, MASTER_ROWS, 1.0, "frequency", MEMORY, PARTITION_ROWS, scale=0.001)
    return replace(base, **changed)
