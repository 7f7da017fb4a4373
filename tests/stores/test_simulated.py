"""A virtual device: times follow the model, rows stay what they are."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from semistream.errors import ArgumentError
from semistream.stores.base import Store
from semistream.stores.clustered_build import build
from semistream.stores.memory import MemoryStore
from semistream.stores.simulated import Device, SimulatedStore
from tests.stores.masters import assert_locates_every_key, product_table, scanned, sorted_rows

PAGE = 100 * 8


def numbers(device: Device, real_time: bool = False) -> SimulatedStore:
    return SimulatedStore(
        MemoryStore(pa.table({"id": np.arange(1000)}), "id", page_rows=100), device, real_time=real_time
    )


def test_neighbours_cost_one_seek_and_others_one_each() -> None:
    store = numbers(Device(1.0, PAGE, 1))
    run = next(iter(store.read([2, 3, 4], ["id"])))
    assert (run.reads, run.bytes_read) == (1, 3 * PAGE)
    assert store.clock.now == pytest.approx(1 + 3)
    list(store.read([0, 2, 4], ["id"]))
    assert store.clock.now == pytest.approx(4 + 3 * 2)
    list(store.scan(["id"]))
    assert store.clock.now == pytest.approx(10 + 1 + 10)


def test_runs_that_read_on_from_one_another_cost_one_seek_together(tmp_path: Path) -> None:
    table = pa.table({"id": np.arange(200), "payload": ["x" * 60_000] * 200})
    copy = build(table, tmp_path, "id", page_rows=1)
    store = SimulatedStore(copy, Device(1.0, 1e15))
    alive = store.directory(1 << 20)
    before = store.clock.now
    assert len(list(store.scan(["id"]))) > 2
    assert store.clock.now - before == pytest.approx(1, abs=1e-3)
    assert alive is not None


def test_channels_seek_side_by_side_and_share_the_bandwidth() -> None:
    store = numbers(Device(10.0, PAGE, 2))
    times = [store.clock.now for _ in store.read([0, 2, 4, 6], ["id"])]
    assert times == pytest.approx([11, 12, 22, 23])


def test_it_gives_what_the_store_gives(tmp_path: Path) -> None:
    table = product_table(300)
    store = SimulatedStore(build(table, tmp_path, "id", page_rows=7, leaf_pages=5), Device(1e-3, 1e6, 4))
    assert isinstance(store, Store)
    assert scanned(store) == sorted_rows(table, "id")
    directory = store.directory(store.directory_bytes()[0])
    assert directory is not None
    assert_locates_every_key(store, directory)
    before, reads = store.clock.now, directory.reads
    directory.locate(directory.codec.encode([pa.array([0, 450, 897])]))
    assert directory.reads >= reads + 2
    assert store.clock.now > before + 1e-3 * (directory.reads - reads)
    before = store.clock.now
    assert store.lookup(pa.table({"id": [3, 600]}), ["price"]).num_rows == 2
    assert store.clock.now > before
    again = store.at(store.version())
    assert isinstance(again, SimulatedStore)
    assert again.clock is store.clock


def test_threads_are_requests_in_flight() -> None:
    store = numbers(Device(0.0, PAGE, 4))
    with ThreadPoolExecutor(4) as pool:
        runs = list(pool.map(lambda page: list(store.read([page], ["id"])), list(range(10)) * 20))
    assert store.clock.now == pytest.approx(200)
    assert sum(run.batch.num_rows for part in runs for run in part) == 20_000


def test_real_time_waits_as_long_as_the_clock_says() -> None:
    store = numbers(Device(0.02, 1e12, 1), real_time=True)
    began = time.monotonic()
    list(store.read([0, 2], ["id"]))
    assert time.monotonic() - began >= 0.04


@pytest.mark.parametrize("wrong", [(-1.0, 1.0, 1), (0.0, 0.0, 1), (0.0, 1.0, 0)])
def test_devices_that_cannot_exist_are_refused(wrong: tuple[float, float, int]) -> None:
    with pytest.raises(ArgumentError, match="can't exist"):
        Device(*wrong)
