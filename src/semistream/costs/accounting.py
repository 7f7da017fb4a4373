"""From counts to seconds: the same rules for what a model expects and for what a run counted.

    front phase:  read every row; look it up in the front; put hits out
    page phase:   find the pages of misses; append them; per load probe its rows; delete and put out;
                  copy promoted rows
    seconds:      serial      front + pages + I/O
                  parallel    max(front, pages + I/O)
                  overlapped  max(front, pages, I/O with two loads in flight)

The parallel forms are the corrected ones: S5 (Eq. 2) adds up phases that run side by side.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from semistream.costs.base import DeviceCosts, Prediction, Situation, UnitCosts
from semistream.stats import Counters

Front = Literal["none", "rows", "partitions"]
Phases = Literal["serial", "parallel", "overlapped"]
LOADS_IN_FLIGHT = 2  # of overlapped phases


@dataclass(frozen=True, slots=True)
class Counts:
    """What happened, or is expected to, while `rows` stream rows came in."""

    rows: float
    hits: float
    loads: float
    master_rows: float
    promotions: float = 0.0


@dataclass(frozen=True, slots=True)
class Operations:
    """Counted operations of one phase."""

    probes: float = 0.0
    outputs: float = 0.0
    deletes: float = 0.0
    reads: float = 0.0
    appends: float = 0.0
    copies: float = 0.0
    indexed: float = 0.0
    loads: float = 0.0

    def seconds(self, units: UnitCosts) -> float:
        return (
            self.probes * units.probe
            + self.outputs * units.output
            + self.deletes * units.delete
            + self.reads * units.read
            + self.appends * units.append
            + self.copies * units.copy
            + self.indexed * units.index
            + self.loads * units.load
        )


@dataclass(frozen=True, slots=True)
class Account:
    """What an algorithm is charged for.

    front: what arriving rows are looked up in. indexed: whether misses are looked up in the directory.
    queued: whether they wait, or meet their page at once (a probe each). phases: how they run; side by
    side, a miss is appended to and read from the buffer between them as well.
    """

    front: Front = "none"
    indexed: bool = True
    queued: bool = True
    phases: Phases = "serial"

    def front_phase(self, counts: Counts) -> Operations:
        misses = counts.rows - counts.hits
        probes = {"none": 0.0, "rows": counts.rows, "partitions": counts.hits}[self.front]
        return Operations(
            reads=counts.rows,
            probes=probes,
            outputs=counts.hits,
            indexed=counts.rows if self.front == "partitions" else 0.0,
            appends=0.0 if self.phases == "serial" else misses,
        )

    def page_phase(self, counts: Counts) -> Operations:
        misses = counts.rows - counts.hits
        waited = misses if self.queued else 0.0
        return Operations(
            indexed=misses if self.indexed and self.front != "partitions" else 0.0,
            reads=0.0 if self.phases == "serial" else misses,
            appends=waited,
            deletes=waited,
            probes=counts.master_rows if self.queued else misses,
            outputs=misses,
            copies=counts.promotions,
            loads=counts.loads,
        )

    def charge(
        self, counts: Counts, io_seconds: float, units: UnitCosts, device: DeviceCosts
    ) -> tuple[float, float, float]:
        """Seconds of I/O, of other work, and until all is done.

        io_seconds: of loads one after the other, as a virtual clock gives it.
        """
        front = self.front_phase(counts).seconds(units)
        pages = self.page_phase(counts).seconds(units)
        if self.phases == "serial":
            return io_seconds, front + pages, front + pages + io_seconds
        if self.phases == "parallel":
            return io_seconds, front + pages, max(front, pages + io_seconds)
        size = (io_seconds - counts.loads * device.seek_seconds) * device.bandwidth_bytes_per_second
        size /= max(counts.loads, 1e-300)
        together = counts.loads * device.load_seconds(size, LOADS_IN_FLIGHT)
        return together, front + pages, max(front, pages, together)


def counted(before: Counters, after: Counters) -> Counts:
    """The counts of a part of a run, from two snapshots of its counters."""
    return Counts(
        rows=after.rows_in - before.rows_in,
        hits=after.cache_hits - before.cache_hits,
        loads=after.loads - before.loads,
        master_rows=after.rows_read - before.rows_read,
        promotions=after.promotions - before.promotions,
    )


def expected(situation: Situation, loads: float, hits: float = 0.0, promotions: float = 0.0) -> Counts:
    """The counts of one stream row."""
    rows = situation.master_rows / situation.partitions
    return Counts(1.0, hits, loads, loads * rows, promotions)


def predict(
    situation: Situation,
    account: Account,
    counts: Counts,
    units: UnitCosts,
    device: DeviceCosts,
    memory_bytes: float,
) -> Prediction:
    """What these counts cost a row."""
    io = counts.loads * device.load_seconds(situation.partition_bytes)
    io_seconds, cpu_seconds, seconds = account.charge(counts, io, units, device)
    return Prediction(
        rows_per_load=counts.rows / counts.loads if counts.loads else float("inf"),
        hit_ratio=counts.hits / counts.rows,
        loads_per_row=counts.loads / counts.rows,
        io_seconds=io_seconds / counts.rows,
        cpu_seconds=cpu_seconds / counts.rows,
        seconds=seconds / counts.rows,
        memory_bytes=memory_bytes,
    )
