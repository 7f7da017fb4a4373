"""Keys that stand twice are found on any store of pages."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from semistream.stores.base import Store
from semistream.stores.clustered_build import build
from semistream.stores.duplicates import find_duplicate_keys
from semistream.stores.heap import HeapStore
from semistream.stores.memory import MemoryStore
from semistream.stores.parquet import ParquetStore

TABLE = pa.table({"id": [1, 2, 2, 3, 4, 5, 5, 5, 5, 5, 6, 7, 7], "part": list("abbcdeeefghij")})


@pytest.mark.parametrize("kind", ["memory", "clustered", "heap", "parquet"])
def test_keys_that_stand_twice_are_found_in_and_across_pages(tmp_path: Path, kind: str) -> None:
    def opened(key: str | list[str]) -> Store:
        if kind == "memory":
            return MemoryStore(TABLE, key, page_rows=2)
        if kind == "clustered":
            return build(TABLE, tmp_path, key, page_rows=2)
        if kind == "heap":
            return HeapStore.build(TABLE, tmp_path, key, page_rows=2)
        pq.write_table(TABLE, tmp_path / "m.parquet", row_group_size=2)
        return ParquetStore(tmp_path, key)

    assert find_duplicate_keys(opened("id")) == [2, 5, 7]
    assert find_duplicate_keys(opened("id"), limit=2) == [2, 5]
    assert find_duplicate_keys(opened(["id", "part"])) == [(2, "b"), (5, "e")]


def test_a_heap_may_have_other_keys_between(tmp_path: Path) -> None:
    table = pa.table({"id": [3, 9, 3, 9, 1, 9]})
    assert find_duplicate_keys(HeapStore.build(table, tmp_path, "id", page_rows=2)) == [3, 9]


def test_a_store_that_is_unique_is_not_scanned() -> None:
    store = MemoryStore(pa.table({"id": [1, 2]}), "id")
    store.close()
    assert find_duplicate_keys(store) == []
