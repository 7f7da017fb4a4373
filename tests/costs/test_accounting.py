"""Charging: each operation once, phases side by side for the longer of them."""

from __future__ import annotations

import pytest

from semistream.costs.accounting import Account, Counts, Operations, counted
from semistream.costs.base import DeviceCosts, Situation, UnitCosts, zipf_key_shares
from semistream.errors import ArgumentError
from semistream.stats import Counters

UNITS = UnitCosts(probe=1.0, output=1.0, delete=1.0, read=1.0, append=1.0, copy=1.0, index=1.0)
COUNTS = Counts(rows=100, hits=60, loads=2, master_rows=20, promotions=3)
DISK = DeviceCosts(10.0, 100.0)  # 500 bytes a load: 15 s
SSD = DeviceCosts(10.0, 100.0, queue_depth=2)


def test_operations_of_a_row_cache() -> None:
    account = Account(front="rows")
    assert account.front_phase(COUNTS) == Operations(reads=100, probes=100, outputs=60)
    assert account.page_phase(COUNTS) == Operations(
        indexed=40, appends=40, deletes=40, probes=20, outputs=40, copies=3, loads=2
    )
    assert account.charge(COUNTS, 30.0, UNITS, DISK) == (30.0, 443.0, 473.0)


def test_operations_of_pages_in_memory() -> None:
    """Their page is looked up first; only hits are probed."""
    account = Account(front="partitions")
    assert account.front_phase(COUNTS) == Operations(reads=100, indexed=100, probes=60, outputs=60)
    assert account.page_phase(COUNTS).indexed == 0


def test_operations_of_a_scan_and_of_single_rows() -> None:
    assert Account(indexed=False).page_phase(COUNTS).indexed == 0
    single = Account(queued=False).page_phase(COUNTS)
    assert single == Operations(indexed=40, probes=40, outputs=40, copies=3, loads=2)


@pytest.mark.parametrize(
    ("io", "expected"),
    [
        (30.0, 300.0),  # the front: 100 rows read and probed, 60 put out, 40 handed over
        (100.0, 323.0),  # the loads and their pages: 40 misses of 5 operations each, 20 probes, 3 copies
    ],
)
def test_parallel_phases_take_the_longer(io: float, expected: float) -> None:
    account = Account(front="rows", phases="parallel")
    assert account.charge(COUNTS, io, UNITS, DISK) == (io, 523.0, expected)


def test_loads_in_flight_share_the_bus_and_not_the_seek() -> None:
    account = Account(front="rows", phases="overlapped")
    nothing = UnitCosts(probe=0, output=0, delete=0, read=0, append=0, copy=0, index=0)
    assert account.charge(COUNTS, 30.0, nothing, DISK)[2] == 30.0
    assert account.charge(COUNTS, 30.0, nothing, SSD)[2] == 15.0
    assert account.charge(COUNTS, 30.0, UNITS, SSD)[2] == 300.0
    assert SSD.load_seconds(500, in_flight=1) == 15.0
    assert SSD.load_seconds(5000, in_flight=2) == 50.0  # the bus
    assert DISK.load_seconds(500, in_flight=2) == 15.0


def test_counts_are_a_difference() -> None:
    before = Counters(rows_in=10, cache_hits=4, loads=1, rows_read=5, promotions=1)
    after = Counters(rows_in=110, cache_hits=64, loads=3, rows_read=25, promotions=4)
    assert counted(before, after) == COUNTS


def test_what_cannot_be_is_refused() -> None:
    shares = zipf_key_shares(10, 1.0)
    with pytest.raises(ArgumentError, match="pending_rows=0 leaves nothing to model: give at least 1"):
        Situation(key_shares=shares, partition_rows=2, pending_rows=0)
    with pytest.raises(ArgumentError, match="add up to 2: give probabilities"):
        Situation(key_shares=2 * shares, partition_rows=2, pending_rows=1)
    with pytest.raises(ArgumentError, match=r"probe=-1.0 is no cost: give 0 or more"):
        UnitCosts(probe=-1.0, output=0, delete=0, read=0, append=0, copy=0, index=0)
    with pytest.raises(ArgumentError, match="queue_depth >= 1"):
        DeviceCosts(0.0, 1.0, 0)
