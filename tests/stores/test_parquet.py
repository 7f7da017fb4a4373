"""Sorted Parquet, used as it lies; unsorted Parquet, refused by name."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from semistream.errors import ArgumentError, ColumnError, CorruptStoreError, StoreError
from semistream.stores.base import Store
from semistream.stores.parquet import ParquetStore
from tests.stores.masters import assert_locates_every_key, product_table, scanned, sorted_rows

COLUMNS = ["id", "code", "shop", "name", "colour", "tags", "size", "price"]


def sorted_table(key: str | list[str], rows: int = 600) -> pa.Table:
    table = product_table(rows).select(COLUMNS)
    names = [key] if isinstance(key, str) else key
    return table.sort_by([(name, "ascending") for name in names])


@pytest.mark.parametrize("statistics", [True, False])
@pytest.mark.parametrize("key", ["id", "code", "shop", ["shop", "code"]])
def test_a_sorted_folder_is_used_as_it_lies(tmp_path: Path, key: str | list[str], statistics: bool) -> None:
    table = sorted_table(key)
    for number, name in [(2, "a"), (0, "b"), (1, "c")]:
        part = table.slice(number * 200, 200)
        pq.write_table(part, tmp_path / f"{name}.parquet", row_group_size=37, write_statistics=statistics)
    (tmp_path / "_SUCCESS").touch()
    store = ParquetStore(tmp_path, key)
    assert isinstance(store, Store)
    assert store.layout.pages == 18
    assert scanned(store) == sorted_rows(table, key)
    assert (store.rows, store.unique) == (600 if statistics else None, None)
    directory = store.directory(store.directory_bytes()[1])
    codec = directory.codec
    arrays = [table[name].combine_chunks() for name in store.key]
    first, last = directory.locate(codec.encode(arrays))
    assert bool(np.all(first >= 0))
    if key == "id" and statistics:
        assert_locates_every_key(store, directory)
        assert bool(np.all(first == last))
    page_of = np.repeat(np.arange(18), ([37] * 5 + [15]) * 3)
    assert bool(np.all((first <= page_of) & (page_of <= last)))
    assert bool(np.all(last - first <= 2 + 50 // 37))


def test_only_the_columns_wanted_are_read_and_counted(tmp_path: Path) -> None:
    pq.write_table(sorted_table("id"), tmp_path / "m.parquet", row_group_size=100)
    store = ParquetStore(tmp_path / "m.parquet", "id")
    whole = sum(run.bytes_read for run in store.scan(COLUMNS))
    some = [run for run in store.read([1, 2], ["price"])]
    assert [(run.first, run.pages, run.reads) for run in some] == [(1, 1, 1), (2, 1, 1)]
    assert 0 < sum(run.bytes_read for run in some) < whole / 4
    assert whole <= (tmp_path / "m.parquet").stat().st_size
    assert next(store.read([0], [])).batch.num_rows == 100


def test_lookup_finds_text_keys(tmp_path: Path) -> None:
    table = sorted_table("code")
    pq.write_table(table, tmp_path / "m.parquet", row_group_size=50)
    codes = table["code"].to_pylist()
    found = ParquetStore(tmp_path, "code").lookup(
        pa.table({"code": [codes[3], "nowhere", codes[599], codes[100]]}), ["id", "code"]
    )
    assert found["code"].to_pylist() == [codes[3], codes[100], codes[599]]


@pytest.mark.parametrize("at_end", [True, False])
def test_null_keys_are_left_out(tmp_path: Path, at_end: bool) -> None:
    values: list[int | None] = [1, 2, 3, 4, 5]
    keys = [*values, None, None, None] if at_end else [None, None, None, *values]
    pq.write_table(pa.table({"id": keys, "at": list(range(8))}), tmp_path / "m.parquet", row_group_size=2)
    store = ParquetStore(tmp_path, "id")
    assert [row["id"] for row in scanned(store)] == values
    assert [row["id"] for row in scanned(store, ["at", "id"])] == values
    assert store.lookup(pa.table({"id": [3, 5]}), ["id"])["id"].to_pylist() == [3, 5]


def test_unsorted_files_are_refused_by_file_and_row_group(tmp_path: Path) -> None:
    ids = np.arange(100)
    ids[35] = 80
    pq.write_table(pa.table({"id": ids}), tmp_path / "m.parquet", row_group_size=10)
    with pytest.raises(StoreError, match=r"row group 4 of .*m\.parquet .* row group 3 .* clustered copy"):
        ParquetStore(tmp_path, "id")
    words = [f"{n:03d}" for n in range(100)]
    words[40] = "000"
    pq.write_table(pa.table({"id": words}), tmp_path / "m.parquet", row_group_size=10)
    with pytest.raises(StoreError, match=r"row group 4 of .*m\.parquet begins below"):
        ParquetStore(tmp_path, "id")
    pq.write_table(pa.table({"id": np.arange(0, 100)}), tmp_path / "m.parquet")
    pq.write_table(pa.table({"id": np.arange(50, 150)}), tmp_path / "n.parquet")
    with pytest.raises(StoreError, match=r"row group 0 of .*n\.parquet"):
        ParquetStore(tmp_path, "id")


@pytest.mark.parametrize("wrong", [("b07", 3), ("b00", 3), ("b99", 5)])
def test_rows_out_of_order_within_a_row_group_are_noticed_when_read(
    tmp_path: Path, wrong: tuple[str, int]
) -> None:
    words = [f"b{n:02d}" for n in range(20)]
    words[wrong[1]] = wrong[0]
    if wrong[0] == "b99":  # sorted within its row group, but reaching past the next
        words[5:10] = ["b05", "b06", "b07", "b08", "b99"]
    pq.write_table(pa.table({"id": words, "v": words}), tmp_path / "m.parquet", row_group_size=10)
    store = ParquetStore(tmp_path, "id")
    with pytest.raises(CorruptStoreError, match=r"row group 0 of .*m\.parquet .*clustered copy"):
        list(store.read([0], ["v"]))
    assert next(store.read([1], ["v"])).batch.num_rows == 10


def test_a_file_replaced_or_cut_while_open_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "m.parquet"
    pq.write_table(sorted_table("id"), path, row_group_size=100)
    store = ParquetStore(path, "id")
    version = store.version()
    pq.write_table(sorted_table("id", 601), tmp_path / "new.parquet", row_group_size=100)
    os.replace(tmp_path / "new.parquet", path)
    with pytest.raises(StoreError):
        list(store.read([1], ["price"]))
    fresh = ParquetStore(path, "id")
    assert fresh.version() != version
    path.write_bytes(path.read_bytes()[:500])
    with pytest.raises(StoreError):
        list(fresh.read([1], ["price"]))
    with pytest.raises(StoreError, match="can't be read as Parquet"):
        ParquetStore(path, "id")


def test_what_is_not_a_parquet_master_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="nothing at"):
        ParquetStore(tmp_path / "none", "id")
    with pytest.raises(StoreError, match=r"no \.parquet file"):
        ParquetStore(tmp_path, "id")
    pq.write_table(pa.table({"id": [1]}), tmp_path / "a.parquet")
    with pytest.raises(ColumnError, match="no column 'sku'; it has id"):
        ParquetStore(tmp_path, "sku")
    pq.write_table(pa.table({"id": [1], "more": [1]}), tmp_path / "b.parquet")
    with pytest.raises(StoreError, match="another schema"):
        ParquetStore(tmp_path, "id")
    (tmp_path / "p" / "day=1").mkdir(parents=True)
    pq.write_table(pa.table({"id": [1]}), tmp_path / "p" / "day=1" / "a.parquet")
    with pytest.raises(ArgumentError, match="partitioned"):
        ParquetStore(tmp_path / "p", "id")
    (tmp_path / "e").mkdir()
    pq.write_table(pa.table({"id": pa.array([], pa.int64())}), tmp_path / "e" / "a.parquet")
    empty = ParquetStore(tmp_path / "e", "id")
    assert (empty.rows, empty.layout.pages, scanned(empty)) == (0, 0, [])
