"""`master` describes what can be opened, travels, and refuses early what can't."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from semistream.errors import ArgumentError, ColumnError, KeyTypeError, StoreError
from semistream.stores.clustered import ClusteredStore
from semistream.stores.clustered_build import build
from semistream.stores.heap import HeapStore
from semistream.stores.master import Master, master
from semistream.stores.memory import MemoryStore
from semistream.stores.parquet import ParquetStore
from tests.stores.masters import product_table, scanned, sorted_rows

TABLE = product_table(60).select(["id", "name", "price"])


def test_each_source_opens_as_what_it_is_and_travels(tmp_path: Path) -> None:
    build(TABLE, tmp_path / "copy", "id")
    HeapStore.build(TABLE, tmp_path / "heap", "id")
    pq.write_table(TABLE.sort_by("id"), tmp_path / "m.parquet")
    kinds: list[tuple[Any, type]] = [
        (TABLE, MemoryStore),
        (TABLE.combine_chunks().to_batches()[0], MemoryStore),
        (tmp_path / "copy", ClusteredStore),
        (str(tmp_path / "heap"), HeapStore),
        (tmp_path / "m.parquet", ParquetStore),
    ]
    for source, kind in kinds:
        described: Master = pickle.loads(pickle.dumps(master(source, "id")))
        store = described.open()
        assert type(store) is kind
        assert sorted(row["id"] for row in scanned(store)) == [3 * n for n in range(60)]
        few = pickle.loads(pickle.dumps(master(source, ["id"], columns=["price"]))).open()
        assert few.schema.names == ["id", "price"]
        assert [row["price"] for row in sorted(scanned(few), key=lambda row: row["id"])] == [
            row["price"] for row in sorted_rows(TABLE, "id")
        ]
        with pytest.raises(ColumnError, match="name"):
            few.read([0], ["name"])


def test_options_reach_the_store(tmp_path: Path) -> None:
    described = master(TABLE, "id", page_rows=7)
    layout = described.open().layout
    assert layout is not None
    assert layout.max_rows == 7
    build(TABLE, tmp_path, "id").close()
    store = master(tmp_path, "id", io="direct").open()
    assert next(store.read([0], ["id"])).bytes_read % 4096 == 0


def test_an_open_store_is_a_master_too() -> None:
    store = MemoryStore(TABLE, "id")
    assert master(store, "id").open() is store
    with pytest.raises(ArgumentError, match="found by id, but key=name"):
        master(store, "name").open()


def test_a_repr_shows_no_data_and_no_secret(tmp_path: Path) -> None:
    assert repr(master(TABLE, "id", page_rows=7)) == "master(<Table of 60 rows>, key=['id'], page_rows=7)"
    assert repr(master(tmp_path / "later", "id")) == f"master('{tmp_path / 'later'}', key=['id'])"
    for secret in (
        "postgresql://me:hunter2@host/db",
        "mysql://me@host/db?password=hunter2",
        "s3://k:hunter2@b/x",
    ):
        with pytest.raises(ArgumentError) as caught:
            master(secret, "id")
        assert "hunter2" not in str(caught.value)
        assert "host" in str(caught.value) or "s3" in str(caught.value)


@pytest.mark.parametrize("source", ["postgresql://h/d", "mysql://h/d", "sqlite:///f", "delta:/some/table"])
def test_databases_are_not_in_this_version(source: str) -> None:
    with pytest.raises(ArgumentError, match="not in this version"):
        master(source, "id")


def test_what_cannot_be_a_master_is_refused_when_it_is_described(tmp_path: Path) -> None:
    build(TABLE, tmp_path / "copy", "id").close()
    pq.write_table(TABLE.sort_by("id"), tmp_path / "m.parquet")
    for source in (TABLE, tmp_path / "copy", tmp_path / "m.parquet", MemoryStore(TABLE, "id")):
        with pytest.raises(ColumnError, match="no column 'sku'; it has id, name, price"):
            master(source, "sku")
        with pytest.raises(ColumnError, match="no column 'colour'"):
            master(source, "id", columns=["colour"])
    with pytest.raises(KeyTypeError, match="x"):
        master(pa.table({"x": [1.5]}), "x")
    with pytest.raises(ArgumentError, match=r"'speed' isn't an option of .*; its options are: io"):
        master(tmp_path / "copy", "id", speed=1)
    with pytest.raises(ArgumentError, match=r"'io' isn't an option .*: page_rows"):
        master(TABLE, "id", io="direct")
    with pytest.raises(ArgumentError, match="choose one of cached, direct"):
        master(tmp_path / "copy", "id", io="fast")
    with pytest.raises(ArgumentError, match="at least 1"):
        master(TABLE, "id", page_rows=0)
    with pytest.raises(ArgumentError, match="'ftp' isn't a kind of master; known are postgresql"):
        master("ftp://somewhere", "id")
    with pytest.raises(ArgumentError, match="a list can't be a master"):
        master([1], "id")
    with pytest.raises(ArgumentError, match="names a table of a database"):
        master(TABLE, "id", table="products")
    for key in ("", [], ["id", "id"]):
        with pytest.raises((ArgumentError, ColumnError)):
            master(TABLE, key)
    with pytest.raises(ArgumentError, match="is one string"):
        master(TABLE, "id", columns="price")


def test_what_cannot_be_opened_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"nothing at .*; give a pyarrow Table"):
        master(tmp_path / "none", "id").open()
    build(TABLE, tmp_path / "copy", "id").close()
    with pytest.raises(ArgumentError, match="found by id, but key=name was given"):
        master(tmp_path / "copy", "name").open()
    pq.write_table(TABLE.sort_by("id"), tmp_path / "m.parquet")
    with pytest.raises(ArgumentError, match="io='direct' needs a clustered copy"):
        master(tmp_path / "m.parquet", "id", io="direct").open()
