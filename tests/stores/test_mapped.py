"""Single rows out of mapped pages: the same as a lookup that reads the pages, and never a wrong one."""

from __future__ import annotations

import datetime as dt
import os
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from semistream.errors import CorruptStoreError
from semistream.keys import order
from semistream.stores.clustered import ClusteredStore
from semistream.stores.clustered_build import build

KEYS: dict[str, list[pa.Array]] = {
    "int64": [pa.array(range(-300, 300))],
    "int8": [pa.array(range(-100, 100), pa.int8())],
    "uint16": [pa.array(range(0, 60_000, 100), pa.uint16())],
    "uint64": [pa.array([2**63 + i for i in range(-200, 200)], pa.uint64())],
    "date": [pa.array([dt.date(1969, 12, 1) + dt.timedelta(days=i) for i in range(300)])],
    "timestamp": [pa.array(range(-500, 500, 5), pa.timestamp("us", "UTC"))],
    "sparse": [pa.array([i**5 - 10**9 for i in range(200)])],
    "string": [pa.array([f"key {i:x}" for i in range(300)])],
    "large binary": [
        pa.array([bytes([i % 256]) * (i % 7) + str(i).encode() for i in range(300)], pa.large_binary())
    ],
    "two ints": [
        pa.array([i // 20 for i in range(300)], pa.int32()),
        pa.array([i % 20 - 10 for i in range(300)], pa.int16()),
    ],
}


def payload(rows: int) -> dict[str, pa.Array]:
    return {
        "name": pa.array([None if i % 7 == 0 else "x" * (i % 40) + str(i) for i in range(rows)]),
        "flag": pa.array([None if i % 5 == 0 else i % 2 == 0 for i in range(rows)]),
        "price": pa.array([Decimal(i) / 4 for i in range(rows)], pa.decimal128(12, 2)),
        "small": pa.array([i % 120 for i in range(rows)], pa.int8()),
        "seen": pa.array(range(rows), pa.timestamp("us")),
        "raw": pa.array([bytes([i % 256]) * (i % 9) for i in range(rows)], pa.large_binary()),
        "ratio": pa.array([None if i % 3 == 0 else i / 3 for i in range(rows)], pa.float64()),
    }


def table(kind: str, copies: int) -> tuple[pa.Table, list[str]]:
    columns = [pa.concat_arrays([column] * copies) for column in KEYS[kind]]
    names = [f"k{i}" for i in range(len(columns))]
    made = dict(zip(names, columns, strict=True)) | payload(len(columns[0]))
    return pa.table(made), names


def found(
    store: ClusteredStore, keys: list[pa.Array], columns: list[str], most_bytes: int = 1 << 20
) -> list[tuple[Any, ...]]:
    """What a finder finds for these keys, with the number of the key it found it for."""
    directory = store.directory(1 << 20)
    encoded = directory.codec.encode(keys)
    sorted_keys = encoded.take(order(encoded))
    first, last = directory.locate(sorted_keys)
    finder = store.finder(np.unique(first[first >= 0]), columns)
    assert finder is not None
    rows: list[tuple[Any, ...]] = []
    for part in finder.find(sorted_keys, first, last, most_bytes):
        part.batch.validate(full=True)
        assert part.batch.schema.names == columns
        assert np.all(np.diff(part.keys) >= 0)
        rows += [tuple(row.values()) for row in part.batch.to_pylist()]
    return rows


@pytest.mark.parametrize("page_rows", [3, 64])
@pytest.mark.parametrize("copies", [1, 5])
@pytest.mark.parametrize("kind", KEYS)
def test_it_finds_what_a_lookup_finds(tmp_path: Path, kind: str, copies: int, page_rows: int) -> None:
    rows, key = table(kind, copies)
    store = build(rows, tmp_path, key, page_rows=page_rows)
    # Every third key is asked for, and the column shifted against itself gives composites that aren't there.
    asked = [column.slice(0, len(column) - 1) for column in KEYS[kind]]
    asked = [column.take(pa.array(range(0, len(column), 3))) for column in asked]
    columns = rows.column_names
    expected = store.lookup(pa.table(dict(zip(key, asked, strict=True))), columns)
    got = found(store, asked, columns)
    assert len(got) == len(asked[0]) * copies
    assert sorted(got, key=repr) == sorted((tuple(row.values()) for row in expected.to_pylist()), key=repr)
    # In tiny batches, a key's rows cut apart: the same.
    assert found(store, asked, columns, most_bytes=200) == got
    store.close()


def test_absent_keys_are_not_found(tmp_path: Path) -> None:
    rows = pa.table({"id": pa.array(range(0, 900, 3)), "name": [f"n{i}" for i in range(300)]})
    store = build(rows, tmp_path, "id", page_rows=16)
    asked = [pa.array([-5, 0, 1, 2, 3, 447, 448, 897, 898, 5000])]
    assert found(store, asked, ["id", "name"]) == [(0, "n0"), (3, "n1"), (447, "n149"), (897, "n299")]
    assert found(store, [pa.array([3, 3, 3])], ["id"]) == [(3,)] * 3


def test_what_it_cannot_gather_is_left_to_reading_pages(tmp_path: Path) -> None:
    nested = pa.table({"id": [1, 2], "tags": [["a"], None], "name": ["x", "y"]})
    store = build(nested, tmp_path / "nested", "id")
    assert store.finder(np.array([0]), ["id", "tags"]) is None
    assert found(store, [pa.array([2])], ["id", "name"]) == [(2, "y")]  # a nested column beside it is no harm
    texts = pa.table({"a": ["x", "y"], "b": ["p", "q"], "name": ["x", "y"]})
    store = build(texts, tmp_path / "texts", ["a", "b"])
    assert store.finder(np.array([0]), ["a", "b", "name"]) is None
    direct = ClusteredStore.open(tmp_path / "nested", io="direct")
    assert direct.finder(np.array([0]), ["id", "name"]) is None


def data_file(path: Path) -> Path:
    [file] = path.glob("versions/*/pages-00000.arrow")
    return file


def test_pages_that_are_not_in_the_page_cache_are_read(tmp_path: Path) -> None:
    rows = pa.table({"id": range(20_000), "name": ["x" * 100] * 20_000})
    store = build(rows, tmp_path, "id")
    assert store.finder(np.arange(store.layout.pages), ["id", "name"]) is not None
    descriptor = os.open(data_file(tmp_path), os.O_RDONLY)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(descriptor)
    # Mapped pages stay; a store that hasn't mapped them yet finds them gone.
    again = ClusteredStore.open(tmp_path)
    store.close()
    descriptor = os.open(data_file(tmp_path), os.O_RDONLY)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(descriptor)
    assert again.finder(np.arange(again.layout.pages), ["id", "name"]) is None


@pytest.mark.parametrize("when", ["before", "after"])
def test_damage_is_an_error_and_never_a_row(tmp_path: Path, when: str) -> None:
    rows = pa.table({"id": range(2_000), "name": [f"name {i:06}" for i in range(2_000)]})
    store = build(rows, tmp_path, "id", page_rows=50)
    keys = [pa.array([7, 1_000])]
    if when == "after":
        assert len(found(store, keys, ["id", "name"])) == 2
    data = bytearray(data_file(tmp_path).read_bytes())
    at = data.rindex(b"name 001000")  # the bytes behind a page may repeat the next one's
    data[at + 9] ^= 1
    with open(data_file(tmp_path), "r+b") as file:
        file.write(data)
    if when == "before":
        store.close()
        store = ClusteredStore.open(tmp_path)
    with pytest.raises(CorruptStoreError, match=r"pages-00000.arrow.*build the copy at .* again"):
        found(store, keys, ["id", "name"])


LIMITED = """
import resource, sys
import numpy as np
from semistream.stores.clustered import ClusteredStore
store = ClusteredStore.open(sys.argv[1])
assert store.finder(np.array([0]), ["id"]) is not None
resource.setrlimit(resource.RLIMIT_AS, (1 << 40, 1 << 40))
assert ClusteredStore.open(sys.argv[1]).finder(np.array([0]), ["id"]) is None
print("read")
"""


def test_nothing_is_mapped_where_address_space_is_limited(tmp_path: Path) -> None:
    build(pa.table({"id": [1, 2, 3]}), tmp_path, "id").close()
    run = [sys.executable, "-c", LIMITED, str(tmp_path)]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "read\n"), done.stderr
