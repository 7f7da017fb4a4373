"""What a memory in the papers' accounting holds: pending rows, cached rows, pinned partitions.

    pending rows = (M - page buffers - front - intermediate buffer) / (f v_S + v_Q)

with f = 8, v_S = 20 and v_R = 120 bytes; v_Q is the cell's. Every algorithm is charged alike: what it
really allocates is another number, which results give beside this one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from semistream.budget import FUDGE_FACTOR
from semistream.costs.renewal import rows_per_load_pinned, zipf_shares
from semistream.errors import ArgumentError
from semistream.experiments.cells import Cell

STREAM_ROW_BYTES = 20
MASTER_ROW_BYTES = 120

CACHE_SHARE = 0.25  # of M, for rows or pages that are kept
SLOT_CACHE_SHARE = 0.10  # of M, for Partitioned Join's pages

MOST_PINNED = 0.8  # of M
GROUPS = 4096

ROW_CACHES = ("cachejoin", "cachejoin_l", "cachejoin_pq", "op_cachejoin", "p_cachejoin", "sscj")
PARALLEL = ("op_cachejoin", "p_cachejoin")
SCANS = ("meshjoin", "r_meshjoin")
PINNED = ("x_hybridjoin", "tuned_x_hybridjoin")
REORDERED = "reordered_after"  # pending capacities of the stream by which R is put into frequency order
# Settings of a cell that its run or its accounting reads, and no algorithm.
OWN_SETTINGS = frozenset(
    {"cache_share", "intermediate_bytes", "measured", "pinned_rows", "profile", REORDERED, "warm_up"}
)


@dataclass(frozen=True, slots=True)
class Capacities:
    """The split. `settings` are those of the join."""

    pending_rows: int
    cache_rows: int = 0
    cached_partitions: int = 0
    intermediate_rows: int = 0
    settings: dict[str, Any] = field(default_factory=dict)

    def paper_bytes(self, cell: Cell) -> int:
        """What the papers' equation charges for it."""
        return _fixed_bytes(cell, self) + self.pending_rows * _pending_row_bytes(cell)

    def as_json(self, cell: Cell) -> dict[str, Any]:
        return {
            "pending_rows": self.pending_rows,
            "cache_rows": self.cache_rows,
            "cached_partitions": self.cached_partitions,
            "intermediate_rows": self.intermediate_rows,
            "partitions": partitions_of(cell),
            "paper_bytes": self.paper_bytes(cell),
        }


def capacities(cell: Cell) -> Capacities:
    """How many rows and partitions the cell's memory holds.

    >>> from semistream.experiments.cells import Cell
    >>> capacities(Cell("hybridjoin", 2_000_000, 1.0, "frequency", 50 << 20, 850)).pending_rows
    304225
    """
    settings = {name: value for name, value in cell.settings if name not in OWN_SETTINGS}
    share = float(cell.setting("cache_share") or CACHE_SHARE)
    rows = partitions = intermediate = 0
    if cell.algorithm in ROW_CACHES:
        rows = int(share * cell.memory / MASTER_ROW_BYTES)
        settings["cache_rows"] = rows = min(rows, cell.master_rows)
    elif cell.algorithm == "ssij":
        settings["cache_partitions"] = partitions = _whole_partitions(cell, share * cell.memory)
    elif cell.algorithm == "partitioned_join":
        share = float(cell.setting("cache_share") or SLOT_CACHE_SHARE)
        settings["cache_partitions"] = partitions = _whole_partitions(cell, share * cell.memory)
    elif cell.algorithm == "x_hybridjoin":
        partitions = 1
    elif cell.algorithm == "tuned_x_hybridjoin":
        settings["pinned_partitions"] = partitions = _pinned(cell)
    if cell.algorithm in PARALLEL:
        intermediate = int(cell.setting("intermediate_bytes") or 0) // STREAM_ROW_BYTES
        settings["schedule"] = "deterministic" if cell.disk == "simulated" else "threads"
    split = Capacities(0, rows, partitions, intermediate)
    pending = (cell.memory - _fixed_bytes(cell, split)) // _pending_row_bytes(cell)
    if pending < 1:
        raise ArgumentError(
            f"{cell.memory} bytes leave {cell.algorithm} no room for pending rows beside its buffers: "
            "give more memory, or smaller partitions"
        )
    if cell.algorithm != "inlj":
        settings["pending_rows"] = pending
    return Capacities(1 if cell.algorithm == "inlj" else pending, rows, partitions, intermediate, settings)


def partitions_of(cell: Cell) -> int:
    return -(-cell.master_rows // cell.partition_rows)


def _pending_row_bytes(cell: Cell) -> int:
    return FUDGE_FACTOR * STREAM_ROW_BYTES + cell.queue_node_bytes


def _fixed_bytes(cell: Cell, split: Capacities) -> int:
    buffers = 2 if cell.algorithm == "op_cachejoin" else 1
    partition = cell.partition_rows * MASTER_ROW_BYTES
    return (
        (buffers + split.cached_partitions) * partition
        + split.cache_rows * MASTER_ROW_BYTES
        + split.intermediate_rows * STREAM_ROW_BYTES
    )


def _whole_partitions(cell: Cell, size: float) -> int:
    return max(1, min(int(size / (cell.partition_rows * MASTER_ROW_BYTES)), partitions_of(cell)))


def _pinned(cell: Cell) -> int:
    """Pinned partitions: as many rows as the cell says (rounded up to partitions), or the best by the
    renewal model: memory that is pinned is memory in which no row can wait."""
    given = cell.setting("pinned_rows")
    if given is not None:
        return min(max(1, -(-int(given) // cell.partition_rows)), partitions_of(cell) - 1)
    if cell.order == "scattered" and not cell.setting(REORDERED):  # then no partition is better than another
        return 1
    return _best_pinned(
        cell.master_rows, cell.exponent, cell.partition_rows, cell.memory, _pending_row_bytes(cell)
    )


@cache
def _best_pinned(rows: int, exponent: float, partition_rows: int, memory: int, pending_row: int) -> int:
    """Partitions are looked at in at most `GROUPS` groups: the law is smooth."""
    partitions = -(-rows // partition_rows)
    size = -(-partitions // GROUPS)
    by_key = zipf_shares(rows, exponent)
    shares = np.add.reduceat(by_key, np.arange(0, rows, size * partition_rows))
    group = size * partition_rows * MASTER_ROW_BYTES
    most = min(len(shares) - 1, int(MOST_PINNED * memory / group))
    candidates = sorted({max(1, round(1.5**i)) for i in range(40) if 1.5**i <= most} | {1})

    def rate(count: int) -> float:
        left = memory - partition_rows * MASTER_ROW_BYTES - count * group
        return rows_per_load_pinned(shares, count, max(1.0, left / pending_row))

    return min(size * max(candidates, key=rate), partitions - 1)
