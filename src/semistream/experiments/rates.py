"""A stream that comes at a rate, in virtual time: how long rows wait, and for what.

    take what has arrived (what fits; MESHJOIN waits for a whole chunk, INLJ takes one row)
    do one load if any row waits; the clock moves on by what all of it costs
    nothing there, nothing waits: the clock moves on to the next arrival

A row *waits* from its arrival until the join takes it; it is *processed* from then to its answer, on a
clock that stands still while the join has nothing to do (S3, section 3).
"""

from __future__ import annotations

from typing import Any

from semistream.experiments.accounting import PARALLEL, SCANS, partitions_of
from semistream.experiments.disks import front_seconds, pages_seconds
from semistream.experiments.measuring import Driver

SECONDS = 60.0  # virtual ones, of a full run
LEAST_SECONDS = 5.0
STREAM_BUFFER_ROWS = 2_621  # 0.05 MB of 20 bytes (S1, S2)


def at_rate(driver: Driver, rate: float) -> dict[str, Any]:
    """Run for some virtual time at `rate` rows a second, from an empty queue."""
    driver.oracle.comes_out(driver.join.drain())
    driver.note()
    cell, before = driver.cell, driver.now
    lasts = max(LEAST_SECONDS, SECONDS * cell.scale)
    least = chunk_rows(driver)
    most = 1 if cell.algorithm == "inlj" else driver.split.pending_rows
    now, taken, waited, backlog = 0.0, 0, 0.0, 0
    while now < lasts:
        there = int(now * rate) + 1 - taken  # the first row is there from the beginning
        backlog = max(backlog, there)
        count = min(there, most)
        if cell.algorithm != "inlj":
            count = min(count, max(1, driver.split.pending_rows - driver.join.waiting_rows))
        if count >= least:
            waited += count * now - (taken * count + count * (count - 1) / 2) / rate
            driver.push(count)
            taken += count
        elif cell.algorithm in SCANS or not driver.join.waiting_rows:
            now = (taken + least - 1) / rate + 1e-9
            continue
        if cell.algorithm not in SCANS:
            driver.oracle.comes_out(driver.join.step())
        now += _seconds(driver)
    after = driver.now
    busy = after.stats.waiting_row_seconds - before.stats.waiting_row_seconds
    loads = after.stats.loads - before.stats.loads
    return {
        "seed": cell.seed,
        "arrival_rate": rate,
        "rows": taken,
        "loads": loads,
        "hits": after.stats.cache_hits - before.stats.cache_hits,
        "loads_per_row": loads / taken,
        "rows_per_load": taken / loads if loads else None,
        "waiting_seconds": waited / taken,
        "processing_seconds": busy / taken / (2 if cell.algorithm in SCANS else 1),
        "most_waiting_rows": backlog,
        "stream_buffers": backlog / STREAM_BUFFER_ROWS,
        "rows_per_second": taken / now,
        "virtual_seconds": now,
    }


def chunk_rows(driver: Driver) -> int:
    """The fewest rows with which a join goes on: MESHJOIN wants a chunk."""
    if driver.cell.algorithm not in SCANS:
        return 1
    return max(1, driver.split.pending_rows // partitions_of(driver.cell))


def _seconds(driver: Driver) -> float:
    """What this turn took."""
    assert driver.disk is not None
    counts, reads = driver.note()
    name = driver.cell.algorithm
    front, pages = front_seconds(name, counts), pages_seconds(name, counts)
    io = reads.seconds(driver.disk.device)
    return max(front, pages + io) if name in PARALLEL else front + pages + io
