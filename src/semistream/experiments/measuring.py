"""Running cells: warm-up, then the measured parts, then every row out and checked.

Cells that differ in nothing but their arrival rate share one join and its warm-up.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from semistream.costs.accounting import Counts, counted
from semistream.costs.base import HARD_DISK_2011, DeviceCosts
from semistream.experiments.accounting import (
    MASTER_ROW_BYTES,
    PARALLEL,
    REORDERED,
    SCANS,
    Capacities,
    capacities,
    partitions_of,
)
from semistream.experiments.cells import Cell
from semistream.experiments.disks import SSD, Reads, SimulatedDisk, front_seconds, pages_seconds
from semistream.experiments.results import CellResult
from semistream.experiments.timeline import Piece, parallel_seconds
from semistream.experiments.worlds import Oracle, World, world_of
from semistream.join import SemiStreamJoin
from semistream.stats import Stats

WARM_UP = 25.0  # pending capacities
SCAN_WARM_UP = 2.0  # a scan repeats itself
LEAST_ADMITTED = 5.0  # pending capacities: behind a front that answers nearly all, the queue fills slowly
MOST_WARM_UP = 150.0
MEASURED = 2.5  # loads of each page, over all repeats
LEAST_MEASURED = 1.0  # in each of several repeats
MOST_MEASURED = 100.0  # pending capacities, in each repeat
INLJ_ROWS = 20_000
LEAST_INLJ_ROWS = 1_000
BATCH_ROWS = 1 << 16
LEAST_PIECE = 64
PIECES_IN_BUFFER = 4
DEVICES = {"": HARD_DISK_2011, "scan_": HARD_DISK_2011, "ssd_": SSD}  # by the prefix of their results


@dataclass(frozen=True, slots=True)
class Moment:
    """Everything that is counted, at one time."""

    stats: Stats
    reads: Reads
    waiting: int


class Driver:
    """One join, its stream, and what it was asked and answered so far."""

    def __init__(self, cell: Cell, split: Capacities, world: World) -> None:
        self.cell, self.split = cell, split
        self.world = world
        self.oracle = Oracle(world)
        self.store = world.store()
        self.disk = self.store if isinstance(self.store, SimulatedDisk) else None
        self.join = SemiStreamJoin(
            self.store,
            columns=["payload"],
            memory=_memory(cell, split),
            algorithm=cell.algorithm,
            **split.settings,
        )
        self.pushed = self.warm_up = 0
        self.part = 1
        self.now = Moment(self.join.stats, Reads(), 0)
        self.pieces: list[tuple[Counts, Reads]] = []

    def push(self, rows: int) -> None:
        """The next rows of the stream."""
        batch = self.world.batch(self.pushed, rows)
        self.pushed += rows
        self.oracle.goes_in(batch)
        self.oracle.comes_out(self.join.push(batch))

    def push_timed(self, rows: int) -> float:
        """The next rows, made before and checked behind the time that is taken; how long it was."""
        starts = range(self.pushed, self.pushed + rows, BATCH_ROWS)
        end = self.pushed + rows
        batches = [self.world.batch(start, min(BATCH_ROWS, end - start)) for start in starts]
        answers: list[pa.RecordBatch] = []
        began = time.perf_counter()
        for batch in batches:
            answers.extend(self.join.push(batch))
        seconds = time.perf_counter() - began
        self.pushed = end
        for batch in batches:
            self.oracle.goes_in(batch)
        self.oracle.comes_out(answers)
        self.now = self.moment()
        return seconds

    def push_all(self, rows: int, most: int = BATCH_ROWS) -> None:
        """The next rows, in pieces whose counts are noted one by one."""
        while rows > 0:
            self.push(min(rows, most))
            rows -= most
            self.note()

    def note(self) -> tuple[Counts, Reads]:
        """What happened since the last note; the clock moves on by what it cost the processor."""
        before, self.now = self.now, self.moment()
        counts = counted(before.stats.counters, self.now.stats.counters), self.now.reads - before.reads
        if self.disk is not None:
            name = self.cell.algorithm
            self.disk.clock.now += front_seconds(name, counts[0]) + pages_seconds(name, counts[0])
        self.pieces.append(counts)
        return counts

    def moment(self) -> Moment:
        reads = Reads() if self.disk is None else self.disk.reads
        return Moment(self.join.stats, reads, self.join.waiting_rows)

    def finish(self) -> dict[str, int]:
        """Every row out; what the oracle compared."""
        self.oracle.comes_out(self.join.drain())
        return {"rows_out": self.oracle.all_out(), "sampled": self.oracle.compared}

    def close(self) -> None:
        self.join.close()
        self.store.close()


def run(cells: Sequence[Cell], folder: Path | None = None) -> list[CellResult]:
    """Run cells that share a join (`Cell.saturated`). One that fails is a result too."""
    began = time.perf_counter()
    try:
        return _run(cells, folder, began)
    except Exception as error:
        told = f"{type(error).__name__}: {error}"
        where = traceback.extract_tb(error.__traceback__)[-1]
        told += f" ({Path(where.filename).name}, line {where.lineno})"
        return [CellResult(cell, error=told, seconds=time.perf_counter() - began) for cell in cells]


def _run(cells: Sequence[Cell], folder: Path | None, began: float) -> list[CellResult]:
    from semistream.experiments.rates import at_rate

    shared = cells[0].saturated
    split = capacities(shared)
    found: list[tuple[Cell, list[dict[str, Any]], float]] = []
    with closing(Driver(shared, split, world_of(shared, folder))) as driver:
        _warm_up(driver)
        for cell in sorted(cells, key=lambda cell: cell.arrival_rate or 0.0):
            if cell.arrival_rate is None:
                repeats = [_measured(driver) for _ in range(cell.repeats)]
            else:
                repeats = [at_rate(driver, cell.arrival_rate) for _ in range(cell.repeats)]
            found.append((cell, repeats, time.perf_counter() - began))
            began = time.perf_counter()
        checked = driver.finish()
        told = {
            **split.as_json(shared),
            "warm_up_rows": driver.warm_up,
            "memory": driver.join.stats.memory_limit,
            "peak_bytes": driver.join.stats.peak_bytes,
        }
    return [CellResult(cell, tuple(repeats), checked, told, None, took) for cell, repeats, took in found]


def warm_up_rows(cell: Cell, split: Capacities) -> int:
    """Stream rows that are left out."""
    if cell.algorithm == "inlj":
        return 0
    given = cell.setting("warm_up")
    wanted = float(given) if given is not None else SCAN_WARM_UP if cell.algorithm in SCANS else WARM_UP
    return int(wanted * split.pending_rows)


def measured_rows(cell: Cell, split: Capacities, rows_per_load: float) -> int:
    """Stream rows of each measured part: some loads of each page, as many rows as that takes by the
    warm-up's rows a load. A scan needs its one load of each page, and INLJ some thousand rows."""
    if cell.algorithm == "inlj":
        return max(LEAST_INLJ_ROWS, int(INLJ_ROWS * cell.scale)) // cell.repeats
    given = cell.setting("measured")
    if given is not None:
        return max(1, int(float(given) * split.pending_rows))
    if cell.algorithm in SCANS:
        return split.pending_rows
    loads = partitions_of(cell) * max(LEAST_MEASURED, MEASURED / cell.repeats)
    return max(1, int(min(loads * rows_per_load, MOST_MEASURED * split.pending_rows)))


def expected_seconds(cell: Cell) -> float:
    """Roughly, and of one core: for the order of work, and the time left."""
    try:
        split = capacities(cell)
    except Exception:
        return 0.0
    typical = max(1.0, 2 * split.pending_rows / partitions_of(cell))
    rows = warm_up_rows(cell, split) + cell.repeats * measured_rows(cell, split, typical)
    loads = rows if cell.algorithm == "inlj" else rows / typical
    return 0.1 + 1e-6 * rows + 2.5e-4 * loads


def piece_rows(cell: Cell, split: Capacities) -> int:
    """Two phases side by side are followed in pieces small against the buffer between them."""
    if cell.algorithm not in PARALLEL:
        return BATCH_ROWS
    return max(LEAST_PIECE, min(BATCH_ROWS, split.intermediate_rows // PIECES_IN_BUFFER))


def _warm_up(driver: Driver) -> None:
    """Until the queue is in its steady state; then `driver.part` rows are measured at a time."""
    cell, pending = driver.cell, driver.split.pending_rows
    driver.push_all(warm_up_rows(cell, driver.split))
    while cell.setting("warm_up") is None and cell.algorithm not in (*SCANS, "inlj"):
        counters = driver.now.stats.counters
        answered = counters.cache_hits >= counters.rows_in - LEAST_ADMITTED * pending
        if not answered or driver.pushed >= MOST_WARM_UP * pending:
            break
        driver.push_all(pending)
    driver.warm_up = driver.pushed
    driver.part = measured_rows(driver.cell, driver.split, _late_rows_per_load(driver))


def _late_rows_per_load(driver: Driver) -> float:
    """By the second half of the warm-up: in the first the queue fills."""
    late = driver.pieces[len(driver.pieces) // 2 :]
    rows, loads = sum(counts.rows for counts, _ in late), sum(reads.loads for _, reads in late)
    return rows / loads if loads else float(driver.split.pending_rows)


def _measured(driver: Driver) -> dict[str, Any]:
    """One measured part."""
    before, began = driver.now, time.perf_counter()
    driver.pieces.clear()
    if driver.disk is None:
        return _summary(driver, before, driver.push_timed(driver.part))
    profile: dict[str, Any] = {}
    if driver.cell.setting("profile"):
        profile = _profiled(driver)
    else:
        driver.push_all(driver.part, piece_rows(driver.cell, driver.split))
    return {**_summary(driver, before, time.perf_counter() - began), **profile}


def _profiled(driver: Driver) -> dict[str, Any]:
    """By partition: loads, and rows that were answered; and the most loads while one capacity came in."""
    assert driver.disk is not None
    capacity = driver.split.pending_rows
    begin, most = driver.disk.loads_by_page.copy(), 0
    asked = np.zeros(len(begin), dtype=np.int64)
    for start in range(0, driver.part, capacity):
        before = driver.disk.loads_by_page.copy()
        keys = driver.world.batch(driver.pushed, min(capacity, driver.part - start)).column("key").to_numpy()
        asked += np.bincount(keys // driver.cell.partition_rows, minlength=len(asked))
        driver.push_all(len(keys))
        most = max(most, int((driver.disk.loads_by_page - before).max()))
    loads = driver.disk.loads_by_page - begin
    return {
        "loads_by_partition": loads.tolist(),
        "rows_by_partition": asked.tolist(),
        "share_by_partition": (asked / asked.sum()).tolist(),
        "rows_per_load_by_partition": (asked / np.maximum(loads, 1)).tolist(),
        "most_loads_a_capacity": most,
    }


def _summary(driver: Driver, before: Moment, wall: float) -> dict[str, Any]:
    """A measured part in numbers; on the virtual clock, or by this machine's."""
    cell, after = driver.cell, driver.now
    counts = counted(before.stats.counters, after.stats.counters)
    rows = int(counts.rows) - (after.waiting - before.waiting)  # answered
    loads = after.stats.loads - before.stats.loads
    waited = after.stats.waiting_row_seconds - before.stats.waiting_row_seconds
    found: dict[str, Any] = {
        "seed": cell.seed,
        "rows": rows,
        "loads": loads,
        "wasted_loads": after.stats.wasted_loads - before.stats.wasted_loads,
        "hits": int(counts.hits),
        "promotions": int(counts.promotions),
        "evictions": after.stats.evictions - before.stats.evictions,
        "master_rows": int(counts.master_rows),
        "rows_per_load": rows / loads if loads else None,
        "loads_per_row": loads / rows,
        "hit_ratio": counts.hits / counts.rows,
        "hits_in_4000_loads": 4000 * counts.hits / loads if loads else None,
        "constant": rows * partitions_of(cell) / (loads * driver.split.pending_rows) if loads else None,
        "oldest_rows": after.stats.age_max / driver.split.pending_rows,
        # A row of a scan is matched half-way through its time in memory, on average.
        "processing_seconds": waited / rows / (2 if cell.algorithm in SCANS else 1),
        "wall_seconds": wall,
    }
    if driver.disk is None:
        busy = after.stats.processing_seconds - before.stats.processing_seconds
        bytes_read = after.stats.bytes_read - before.stats.bytes_read
        return {
            **found,
            "bytes": bytes_read,
            **_speed(rows, wall if cell.algorithm in PARALLEL else busy, ""),
        }
    reads = after.reads - before.reads
    front = front_seconds(cell.algorithm, counts)
    pages = pages_seconds(cell.algorithm, counts)
    found.update(jumps=reads.jumps, bytes=reads.bytes, cpu_seconds=front + pages, front_seconds=front)
    for prefix, device in DEVICES.items():
        io, seconds = _virtual(driver, reads, front + pages, device, alone=prefix == "scan_")
        found.update(
            {f"{prefix}io_seconds": io, f"{prefix}io_seconds_per_load": io / loads if loads else None}
        )
        found.update(_speed(rows, seconds, prefix))
    if cell.setting(REORDERED) is not None:
        found["missed_rows"] = _reordering_seconds(cell) * found["rows_per_second"]
        found["missed_capacities"] = found["missed_rows"] / driver.split.pending_rows
    return found


def _reordering_seconds(cell: Cell) -> float:
    """All of R read once and written once, in its new order, on the same disk."""
    if not cell.setting(REORDERED):
        return 0.0
    return 2 * cell.master_rows * MASTER_ROW_BYTES / HARD_DISK_2011.bandwidth_bytes_per_second


def _virtual(
    driver: Driver, reads: Reads, cpu: float, device: DeviceCosts, *, alone: bool
) -> tuple[float, float]:
    """I/O seconds, and the seconds that all of it takes: phases side by side have a timeline each."""
    name = driver.cell.algorithm
    if name not in PARALLEL:
        io = (reads.undisturbed() if alone else reads).seconds(device)
        return io, io + cpu
    in_flight = 2 if name == "op_cachejoin" else 1
    pieces, total = [], 0.0
    for counts, its_reads in driver.pieces:
        io = (its_reads.undisturbed() if alone else its_reads).seconds(device, in_flight)
        work = pages_seconds(name, counts)
        total += io
        pages = max(io, work) if in_flight > 1 else io + work  # a second buffer loads meanwhile
        pieces.append(Piece(front_seconds(name, counts), pages, int(counts.rows - counts.hits)))
    return total, parallel_seconds(pieces, driver.split.intermediate_rows)


def _speed(rows: int, seconds: float, prefix: str) -> dict[str, float]:
    return {
        f"{prefix}seconds": seconds,
        f"{prefix}rows_per_second": rows / seconds,
        f"{prefix}seconds_per_row": seconds / rows,
    }


def _memory(cell: Cell, split: Capacities) -> int:
    """As much as the capacities need in this implementation, with room for large pieces."""
    partition = cell.partition_rows * 1024
    needed = 400 * (split.pending_rows + split.cache_rows) + partition * (8 + 2 * split.cached_partitions)
    return (256 << 20) + needed


def group(cells: Sequence[Cell]) -> list[list[Cell]]:
    """Cells that share a join, together."""
    found: dict[str, list[Cell]] = {}
    for cell in cells:
        found.setdefault(replace(cell.saturated, scale=1.0).id, []).append(cell)
    return list(found.values())
