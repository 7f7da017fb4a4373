"""The virtual clock's arithmetic."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from semistream.costs.accounting import Counts
from semistream.costs.base import DeviceCosts, UnitCosts
from semistream.experiments.disks import Reads, SimulatedDisk, front_seconds, pages_seconds
from semistream.experiments.timeline import Piece, parallel_seconds
from semistream.stores.memory import MemoryStore

DISK = DeviceCosts(0.010, 1_000_000)
UNITS = UnitCosts(probe=1, output=10, delete=100, read=1_000, append=10_000, copy=100_000, index=1_000_000)
COUNTS = Counts(rows=5, hits=2, loads=1, master_rows=7, promotions=1)


def disk() -> SimulatedDisk:
    keys = np.arange(100)
    return SimulatedDisk(MemoryStore(pa.record_batch({"key": keys}), "key", page_rows=10), DISK)


def load(on: SimulatedDisk, *pages: int) -> None:
    assert sum(run.pages for run in on.read(list(pages), ["key"])) == len(pages)


def test_a_load_is_a_seek_and_the_papers_bytes() -> None:
    one = disk()
    load(one, 3)
    assert one.reads == Reads(1, 1, 1200)
    assert one.clock.now == pytest.approx(0.010 + 1200 / 1_000_000)


def test_reading_on_is_known_and_seeks_all_the_same() -> None:
    one = disk()
    for page in (3, 4, 5, 5):
        load(one, page)
    assert one.reads == Reads(4, 2, 4800)
    assert one.clock.now == pytest.approx(4 * 0.010 + 0.0048)
    assert one.reads.undisturbed().seconds(DISK) == pytest.approx(2 * 0.010 + 0.0048)
    assert one.loads_by_page.tolist() == [0, 0, 0, 1, 1, 2, 0, 0, 0, 0]


def test_two_loads_at_a_time_need_a_device_that_can() -> None:
    reads = Reads(4, 4, 4000)
    assert reads.seconds(DISK, in_flight=2) == reads.seconds(DISK) == pytest.approx(0.044)
    deep = DeviceCosts(0.010, 1_000_000, queue_depth=8)
    assert reads.seconds(deep, in_flight=2) == pytest.approx(0.022)
    assert Reads().seconds(deep, in_flight=2) == 0


@pytest.mark.parametrize(
    ("name", "front", "pages"),
    [
        # 5 rows are read; 7 rows of the load probe; 5 rows are put out; each waits, and its page is found.
        ("hybridjoin", 5_000, 5 * 1_010_110 + 7),
        ("meshjoin", 5_000, 5 * 10_110 + 7),
        ("inlj", 5_000, 5 * 1_000_011),
        # 2 hits are put out by the front, which all 5 probe; 3 rows wait.
        ("cachejoin", 5_000 + 5 + 20, 3 * 1_010_110 + 7 + 100_000),
        ("p_cachejoin", 5_000 + 5 + 20 + 30_000, 3 * 1_011_110 + 7 + 100_000),
        # All 5 rows' pages are found in front; the 2 on kept ones probe these.
        ("x_hybridjoin", 5_000 + 2 + 20 + 5_000_000, 3 * 10_110 + 7 + 100_000),
    ],
)
def test_counted_operations_have_their_price(name: str, front: float, pages: float) -> None:
    counts = COUNTS
    if front == 5_000:
        counts = Counts(rows=5, hits=0, loads=1, master_rows=7)
    assert front_seconds(name, counts, UNITS) == front
    assert pages_seconds(name, counts, UNITS) == pages


def test_side_by_side_takes_as_long_as_the_longer_phase() -> None:
    front_bound = [Piece(2.0, 1.0, 10)] * 100
    pages_bound = [Piece(1.0, 2.0, 10)] * 100
    assert parallel_seconds(front_bound, 1_000_000) == 201.0
    assert parallel_seconds(pages_bound, 1_000_000) == 201.0


def test_a_small_buffer_makes_the_phases_wait() -> None:
    """A front that may run ahead of slow pages has its own slow time behind it when they are fast."""
    uneven = [Piece(1.0, 10.0, 10)] * 10 + [Piece(10.0, 1.0, 10)] * 10
    assert parallel_seconds(uneven, 1_000) == 1 + 10 * 10 + 10 * 1
    assert parallel_seconds(uneven, 10) == 81 + 10 * 10 + 1, "the tenth piece is put when the ninth is taken"
    assert parallel_seconds(uneven, 1_000) < parallel_seconds(uneven, 50) < parallel_seconds(uneven, 10)
