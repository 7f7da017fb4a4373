"""A table in memory: sorted once, read without copies."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from semistream.errors import ArgumentError, ColumnError, KeyTypeError, UsageError, VersionGoneError
from semistream.stores.base import Store, Version
from semistream.stores.memory import MemoryStore
from tests.stores.masters import assert_locates_every_key, product_table, scanned, sorted_rows


@pytest.mark.parametrize("key", ["id", "code", ["shop", "code"], "shop"])
def test_rows_come_in_key_order_and_every_key_is_found(key: str | list[str]) -> None:
    table = product_table(700)
    store = MemoryStore(table, key, page_rows=13)
    assert isinstance(store, Store)
    assert scanned(store) == sorted_rows(table, key)
    assert store.unique is (key != "shop")
    for memory in store.directory_bytes():
        assert_locates_every_key(store, store.directory(memory))


def test_reading_copies_nothing_and_counts_nothing_that_was_lent() -> None:
    table = pa.record_batch({"id": pa.array(np.arange(1000)), "value": pa.array(np.arange(1000))})
    store = MemoryStore(table, "id", page_rows=100)
    run = next(store.read([3, 4], ["value"]))
    assert run.batch.column(0).buffers()[1].address == table.column("value").buffers()[1].address
    assert run.offsets.tolist() == [0, 100, 200]
    assert store.held_bytes < 1000
    backwards = MemoryStore(table.take(pa.array(np.arange(999, -1, -1))), "id", page_rows=100)
    assert backwards.held_bytes >= 16000


def test_rows_with_null_keys_are_left_out() -> None:
    table = pa.table({"a": [3, None, 1, 2], "b": ["x", "y", None, "z"]})
    assert scanned(MemoryStore(table, ["a", "b"])) == [{"a": 2, "b": "z"}, {"a": 3, "b": "x"}]
    assert MemoryStore(table, "a").rows == 3
    assert MemoryStore(table.slice(1, 1), "a").rows == 0


def test_pages_are_about_64_kib_but_never_more_than_8192_rows() -> None:
    small = pa.table({"id": np.arange(20000, dtype=np.int8).astype(np.int64)})
    assert MemoryStore(small, "id").layout.max_rows == 8192
    wide = pa.table({"id": np.arange(50), "payload": ["x" * 30000] * 50})
    assert MemoryStore(wide, "id").layout.max_rows == 2
    huge = pa.table({"id": np.arange(3), "payload": ["x" * 300000] * 3})
    assert MemoryStore(huge, "id").layout.max_rows == 1


def test_only_the_columns_asked_for_are_shown() -> None:
    store = MemoryStore(product_table(20), "id", columns=["price"])
    assert store.schema.names == ["id", "price"]
    with pytest.raises(ColumnError, match=r"'name'; it has id, price"):
        store.read([0], ["name"])


def test_lookup_gives_all_rows_of_the_keys_asked_for() -> None:
    table = product_table(700)
    store = MemoryStore(table, "shop", page_rows=13)
    asked = pa.table({"shop": pa.array([3, 3, None, 700, 9, -1], pa.int64())})
    found = store.lookup(asked, ["code", "shop"])
    assert found.schema.names == ["code", "shop"]
    wanted = [row for row in sorted_rows(table, "shop", ["code", "shop"]) if row["shop"] in (3, 9)]
    assert found.to_pylist() == wanted
    assert store.lookup(asked.slice(2, 2), ["code"]).num_rows == 0


def test_versions_tell_contents_apart() -> None:
    one, same = MemoryStore(product_table(50), "id"), MemoryStore(product_table(50), "id")
    other = MemoryStore(product_table(51), "id")
    assert one.version() == same.version() != other.version()
    assert one.at(same.version()) is one
    with pytest.raises(VersionGoneError, match="gone"):
        one.at(Version("nothing"))


def test_what_cannot_be_a_master_is_refused() -> None:
    table = product_table(10)
    with pytest.raises(ColumnError, match=r"no column 'sku'; it has id, code"):
        MemoryStore(table, "sku")
    with pytest.raises(KeyTypeError):
        MemoryStore(pa.table({"x": [1.5]}), "x")
    with pytest.raises(ArgumentError, match="page_rows=0"):
        MemoryStore(table, "id", page_rows=0)
    with pytest.raises(ArgumentError, match="twice"):
        MemoryStore(table, ["id", "id"])
    store = MemoryStore(table, "id", page_rows=5)
    with pytest.raises(ArgumentError, match="ascending numbers from 0 to 1"):
        store.read([1, 0], ["id"])
    with pytest.raises(ArgumentError, match="ascending"):
        store.read([2], ["id"])
    store.close()
    with pytest.raises(UsageError, match="closed"):
        store.read([0], ["id"])


def test_an_empty_master_finds_nothing() -> None:
    store = MemoryStore(product_table(10).slice(0, 0), "id")
    assert (store.rows, store.layout.pages, store.unique) == (0, 0, True)
    first, last = store.directory(1000).locate(store.directory(1000).codec.encode([pa.array([1, 2])]))
    assert first.tolist() == last.tolist() == [-1, -1]
    assert scanned(store) == []
    assert store.lookup(pa.table({"id": [1]}), ["name"]).num_rows == 0
