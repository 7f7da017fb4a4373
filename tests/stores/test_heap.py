"""Rows in an order of their own, found through an index on disk."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from semistream.errors import ArgumentError, BudgetError
from semistream.stores.base import Store
from semistream.stores.clustered import ClusteredStore
from semistream.stores.heap import HeapStore
from tests.stores.masters import assert_locates_every_key, product_table, scanned


@pytest.mark.parametrize("key", ["id", "code", ["shop", "code"]])
def test_rows_stay_in_the_order_given_and_every_key_is_found(tmp_path: Path, key: str | list[str]) -> None:
    table = product_table(900)
    store = HeapStore.build(table, tmp_path, key, page_rows=13)
    assert isinstance(store, Store)
    assert scanned(store) == table.to_pylist()
    assert (store.unique, store.rows) == (True, 900)
    for memory in store.directory_bytes():
        directory = store.directory(memory)
        assert_locates_every_key(store, directory)
        assert directory.held_bytes <= memory
    store.close()


def test_order_by_access_counts_puts_hot_rows_first(tmp_path: Path) -> None:
    table = pa.table({"id": np.arange(100), "count": np.arange(100) % 10})
    store = HeapStore.build(table, tmp_path, "id", page_rows=10, order="count")
    hot = next(store.read([0], ["id", "count"])).batch
    assert hot.to_pydict() == {"id": list(range(9, 100, 10)), "count": [9] * 10}
    with pytest.raises(ArgumentError, match="neither 'given' nor a column; the columns are id, count"):
        HeapStore.build(table, tmp_path, "id", order="frequency")


def test_locating_counts_what_it_reads_of_the_index(tmp_path: Path) -> None:
    ids = np.random.default_rng(0).permutation(60_000)
    store = HeapStore.build(pa.table({"id": ids}), tmp_path, "id", page_rows=100)
    directory = store.directory(store.directory_bytes()[0])
    before = directory.reads, directory.bytes_read
    keys = directory.codec.encode([pa.array([0, 1, 2, 59_999, 60_000, None])])
    first, last = directory.locate(keys)
    places = np.argsort(ids) // 100
    assert first.tolist() == last.tolist() == [*places[[0, 1, 2, 59_999]], -1, -1]
    assert directory.reads - before[0] >= 2, "the first and the last page of the index"
    assert directory.bytes_read > before[1]
    with pytest.raises(BudgetError, match=f"it needs {store.directory_bytes()[0]}"):
        store.directory(store.directory_bytes()[0] - 1)


def test_duplicates_may_lie_on_neighbouring_pages_only(tmp_path: Path) -> None:
    table = pa.table({"id": [5, 5, 5, 5, 5, 1, 9, 1, 3, 3], "row": range(10)})
    store = HeapStore.build(table, tmp_path, "id", page_rows=2)
    assert store.unique is False
    directory = store.directory(1 << 20)
    first, last = directory.locate(directory.codec.encode([pa.array([5, 1, 3, 9])]))
    assert list(zip(first.tolist(), last.tolist(), strict=True)) == [(0, 2), (2, 3), (4, 4), (3, 3)]
    assert store.lookup(pa.table({"id": [1, 5]}), ["row"])["row"].to_pylist() == [0, 1, 2, 3, 4, 5, 7]
    torn = [*range(12), *range(12)]
    with pytest.raises(ArgumentError) as caught:
        HeapStore.build(pa.table({"id": torn}), tmp_path, "id", page_rows=2)
    assert "those of 0, 1, 2, 3, 4, 5, 6, 7, 8, 9 don't" in str(caught.value)
    assert HeapStore.open(tmp_path).rows == 10


def test_null_keys_are_left_out_and_kinds_are_not_confused(tmp_path: Path) -> None:
    store = HeapStore.build(pa.table({"id": [3, None, 1], "v": ["c", "x", "a"]}), tmp_path, "id")
    assert scanned(store, ["v"]) == [{"v": "c"}, {"v": "a"}]
    assert store.at(store.version()) is store
    with pytest.raises(ArgumentError, match="is a heap copy, not a clustered one"):
        ClusteredStore.open(tmp_path)
    old = store.version()
    newer = HeapStore.build(pa.table({"id": [4]}), tmp_path, "id")
    assert scanned(newer.at(old), ["id"]) == [{"id": 3}, {"id": 1}]
