"""The clustered copy: what goes in comes out, through every way of reading, one page or many."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from semistream.errors import ArgumentError, BudgetError, ColumnError, SchemaError, StoreError, UsageError
from semistream.stores.base import Store
from semistream.stores.clustered import ClusteredStore
from semistream.stores.clustered_build import ClusteredWriter, build
from semistream.stores.memory import MemoryStore
from tests.stores.masters import assert_locates_every_key, product_table, scanned, sorted_rows

KEYS: list[str | list[str]] = ["id", "code", "view", ["shop", "code"], "shop"]


@pytest.mark.parametrize("io", ["cached", "direct"])
@pytest.mark.parametrize("key", KEYS)
def test_a_copy_gives_back_every_row_in_key_order(tmp_path: Path, key: str | list[str], io: str) -> None:
    table = product_table(1200)
    with_keys = table.set_column(0, "id", table["id"].combine_chunks().cast(pa.int64()))
    build(with_keys, tmp_path, key, page_rows=17, leaf_pages=6, file_bytes=100_000).close()
    store = ClusteredStore.open(tmp_path, io=io)
    assert isinstance(store, Store)
    assert store.schema == with_keys.schema
    assert len(store.manifest.data_files) > 2
    assert scanned(store) == sorted_rows(table, key)
    assert scanned(store, ["tags", "id"]) == sorted_rows(table, key, ["tags", "id"])
    assert (store.rows, store.unique) == (1200, key != "shop")
    for memory in store.directory_bytes():
        directory = store.directory(memory)
        assert_locates_every_key(store, directory)
        assert directory.held_bytes <= memory
        directory.check()
    store.close()


def test_duplicates_that_span_pages_and_leaves_are_all_found(tmp_path: Path) -> None:
    keys = [1] * 3 + [2] * 95 + [3] * 7 + [4] + [5] * 60 + [6]
    table = pa.table({"id": keys, "row": np.arange(len(keys))})
    store = build(table, tmp_path, "id", page_rows=5, leaf_pages=3)
    assert store.unique is False
    for memory in store.directory_bytes():
        directory = store.directory(memory)
        assert_locates_every_key(store, directory)
        first, last = directory.locate(directory.codec.encode([pa.array([2, 5, 7, 0])]))
        assert first.tolist() == [0, 21, 33, -1]
        assert last.tolist() == [19, 33, 33, -1]
    found = store.lookup(pa.table({"id": [5, 2]}), ["row"])
    assert found["row"].to_pylist() == [*range(3, 98), *range(106, 166)]


def test_runs_of_neighbours_are_one_read_and_count_their_bytes(tmp_path: Path) -> None:
    store = build(product_table(400), tmp_path, "id", page_rows=10)
    directory = store.directory(store.directory_bytes()[1])
    runs = list(store.read([3, 4, 5, 9, 20], ["id"]))
    assert [(run.first, run.pages, run.reads) for run in runs] == [(3, 3, 1), (9, 1, 1), (20, 1, 1)]
    lengths = directory.places(np.array([3, 4, 5])).length
    assert runs[0].bytes_read == lengths.sum()
    direct = ClusteredStore.open(tmp_path, io="direct")
    alive = direct.directory(direct.directory_bytes()[1])
    aligned = next(direct.read([3, 4, 5], ["id"]))
    assert aligned.bytes_read % 4096 == 0
    assert aligned.bytes_read >= runs[0].bytes_read
    assert aligned.batch == runs[0].batch
    assert alive.reads == 1


def test_without_a_directory_reading_pays_for_finding_the_pages(tmp_path: Path) -> None:
    store = build(product_table(400), tmp_path, "id", page_rows=10, leaf_pages=4)
    again = [run.reads for _ in range(2) for run in store.read([20], ["id"])]
    assert again == [2, 1]
    far_apart = [run.reads for page in (0, 10, 30, 0) for run in store.read([page], ["id"])]
    assert far_apart == [2, 2, 2, 2], "few leaves are kept without a directory"


def test_one_read_takes_at_most_4_mib(tmp_path: Path) -> None:
    table = pa.table({"id": np.arange(200), "payload": ["x" * 60_000] * 200})
    store = build(table, tmp_path, "id", page_rows=1)
    directory = store.directory(100_000)
    for runs in (list(store.scan(["id"])), list(store.read(range(200), ["id"]))):
        assert sum(run.pages for run in runs) == 200
        assert 3 << 20 < max(run.bytes_read for run in runs) <= 4 << 20
        assert [run.reads for run in runs] == [1] * len(runs)
    assert directory.held_bytes <= 100_000


def test_pages_follow_the_size_of_their_rows(tmp_path: Path) -> None:
    payload = ["x" * 10] * 5000 + ["y" * 200_000] * 5 + ["z"] * 5000
    table = pa.table({"id": np.arange(len(payload)), "payload": payload})
    store = build(table, tmp_path, "id", page_bytes=64 << 10)
    assert store.layout.max_rows <= 8192
    assert store.layout.max_bytes < 5 * (64 << 10)
    assert scanned(store, ["payload"]) == [{"payload": text} for text in payload]


def test_any_arrow_tool_reads_the_files(tmp_path: Path) -> None:
    store = build(product_table(300), tmp_path, "id", page_rows=20, file_bytes=10_000)
    folder = next((tmp_path / "versions").iterdir())
    ids: list[int] = []
    for entry in store.manifest.data_files:
        with pa.ipc.open_file(folder / entry.name) as file:
            assert file.num_record_batches == entry.pages
            ids.extend(file.read_all()["id"].to_pylist())
    assert ids == [3 * n for n in range(300)]
    with pa.ipc.open_file(folder / store.manifest.leaf_files[0].name) as leaves:
        fences = leaves.read_all()
    assert fences["key_0"].to_pylist() == ids[::20]
    assert sum(fences["rows"].to_pylist()) == 300


def test_null_keys_are_left_out_and_counted(tmp_path: Path) -> None:
    table = pa.table({"a": [2, None, 1, 3], "b": ["x", "y", None, "z"]})
    store = build(table, tmp_path, ["a", "b"])
    assert (store.rows, store.manifest.null_key_rows) == (2, 2)
    with ClusteredWriter(tmp_path / "written", table.schema, "a", page_rows=1) as writer:
        for batch in table.take([2, 1, 0, 3]).to_batches(max_chunksize=1):
            writer.write(batch)
    written = ClusteredStore.open(tmp_path / "written")
    assert (written.rows, written.manifest.null_key_rows) == (3, 1)
    assert [row["a"] for row in scanned(written)] == [1, 2, 3]


def test_an_empty_master_is_a_copy_too(tmp_path: Path) -> None:
    table = product_table(5).slice(0, 0)
    store = build(table, tmp_path, "id")
    assert (store.rows, store.layout.pages, scanned(store)) == (0, 0, [])
    directory = store.directory(store.directory_bytes()[0])
    assert directory.locate(directory.codec.encode([pa.array([1])]))[0].tolist() == [-1]
    assert store.lookup(pa.table({"id": [1]}), ["name"]).num_rows == 0


def test_what_the_writer_gets_must_ascend_within_and_across_batches(tmp_path: Path) -> None:
    schema = pa.schema([("id", pa.string())])

    def batch(*values: str) -> pa.RecordBatch:
        return pa.record_batch({"id": pa.array(values)})

    def write(*batches: pa.RecordBatch) -> None:
        with ClusteredWriter(tmp_path, schema, "id") as writer:
            for part in batches:
                writer.write(part)

    with pytest.raises(ArgumentError, match=r"row 3 has key 'a', below 'c' of the row before.*use build"):
        write(batch("a", "b"), batch("c", "a", "d"))
    with pytest.raises(ArgumentError, match=r"row 2 has key 'a', below 'b'"):
        write(batch("a", "b"), batch("a"))
    with pytest.raises(StoreError, match="not a copy"):
        ClusteredStore.open(tmp_path)
    assert list((tmp_path / "versions").iterdir()) == []
    with pytest.raises(SchemaError, match="int64"), ClusteredWriter(tmp_path, schema, "id") as writer:
        writer.write(pa.record_batch({"id": pa.array([1])}))
    with pytest.raises(UsageError, match="abandoned"):
        writer.write(batch("a"))


def test_the_writer_holds_a_batch_and_a_page_at_most(tmp_path: Path) -> None:
    payload = pa.array([b"x" * 1000] * 2000)
    held: list[int] = []
    before = pa.total_allocated_bytes()
    schema = pa.schema([("id", pa.int64()), ("payload", pa.binary())])
    with ClusteredWriter(tmp_path, schema, "id", leaf_pages=16) as writer:
        for number in range(40):
            ids = pa.array(np.arange(number * 2000, (number + 1) * 2000))
            writer.write(pa.record_batch([ids, payload], schema=schema))
            held.append(pa.total_allocated_bytes() - before)
    assert ClusteredStore.open(tmp_path).rows == 80_000
    assert max(held[5:]) < 3 * payload.nbytes, "80 MB were written"


def test_columns_and_keys_that_cannot_be_written_are_refused(tmp_path: Path) -> None:
    table = product_table(300)
    assert build(table, tmp_path, "id", columns=["price"]).schema.names == ["id", "price"]
    with pytest.raises(ColumnError, match="no column 'prize'; it has id, code"):
        build(table, tmp_path, "id", columns=["prize"])
    narrow = pa.array([f"v{n}" for n in range(100)])
    batches = [
        pa.record_batch(
            {
                "id": pa.array(np.arange(at, at + 100)),
                "v": pa.array([f"{at}-{n}" for n in range(100)]).cast(pa.dictionary(pa.int8(), narrow.type)),
            }
        )
        for at in (0, 100)
    ]
    writer = ClusteredWriter(tmp_path, batches[0].schema, "id", page_rows=10)
    writer.write(batches[0])
    with pytest.raises(ArgumentError, match="'v' has over 128 distinct values"):
        writer.write(batches[1])
    writer.abandon()
    ordered = pa.DictionaryArray.from_arrays(pa.array([0, 1]), ["low", "high"], ordered=True)
    with pytest.raises(ArgumentError, match="ordered dictionary"):
        build(pa.table({"id": [1, 2], "level": ordered}), tmp_path, "id")
    assert ClusteredStore.open(tmp_path).schema.names == ["id", "price"]


def test_memory_that_is_too_small_names_the_least(tmp_path: Path) -> None:
    store = build(product_table(900), tmp_path, "code", page_rows=5, leaf_pages=8)
    least, everything = store.directory_bytes()
    assert least < everything
    with pytest.raises(BudgetError, match=f"it needs {least}"):
        store.directory(least - 1)
    assert store.directory(everything).held_bytes == everything


def test_closing_ends_reading(tmp_path: Path) -> None:
    store = build(product_table(50), tmp_path, "id")
    store.close()
    store.close()
    with pytest.raises(UsageError, match="closed"):
        store.scan(["id"])
    with pytest.raises(ArgumentError, match="io='fast' isn't known; choose one of cached, direct"):
        ClusteredStore.open(tmp_path, io="fast")


def test_a_copy_and_a_table_in_memory_answer_alike(tmp_path: Path) -> None:
    table = product_table(900)
    copy, memory = build(table, tmp_path, "shop", page_rows=8), MemoryStore(table, "shop", page_rows=8)
    asked = pa.table({"shop": pa.array([0, 17, 99, 4], pa.int64())})
    assert (
        copy.lookup(asked, copy.schema.names).to_pylist()
        == memory.lookup(asked, copy.schema.names).to_pylist()
    )
    keys = copy.directory(1 << 20).codec.encode([pa.array(range(-1, 20), pa.int32())])
    for mine, theirs in zip(
        copy.directory(copy.directory_bytes()[0]).locate(keys),
        memory.directory(1 << 20).locate(keys),
        strict=True,
    ):
        assert mine.tolist() == theirs.tolist()
