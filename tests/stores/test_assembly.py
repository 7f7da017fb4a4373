"""A version made of parts: whoever wrote them, in whatever order they came, and whatever else lies there."""

from __future__ import annotations

import os
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from semistream.errors import ArgumentError, CorruptStoreError, StoreError
from semistream.keys import KeyCodec
from semistream.stores.assembly import PartedBuild
from semistream.stores.clustered import ClusteredStore
from semistream.stores.clustered_build import build
from semistream.stores.heap import HeapStore
from semistream.stores.parts import Part, PartPlan, PartWriter, read_places
from semistream.stores.sorting import in_key_order, one_batch
from tests.stores.masters import assert_locates_every_key, product_table, scanned, sorted_rows


def numbers(*keys: int) -> pa.RecordBatch:
    return pa.record_batch({"id": pa.array(keys), "text": [f"row {key}" for key in keys]})


def write(plan: PartPlan, number: int, *batches: pa.RecordBatch) -> Part:
    writer = PartWriter(plan, number)
    for batch in batches:
        writer.write(batch)
    return writer.finish()


def in_folder(path: Path) -> list[str]:
    return sorted(file.name for file in (path / "versions").iterdir())


@pytest.mark.parametrize("key", ["id", "code", ["shop", "code"]])
@pytest.mark.parametrize("leaf_pages", [3, 512])
def test_parts_make_the_version_that_one_writer_makes(
    tmp_path: Path, key: str | list[str], leaf_pages: int
) -> None:
    table = product_table(900)
    names = tuple([key] if isinstance(key, str) else key)
    batch, _, _, _ = in_key_order(one_batch(table), names)
    with PartedBuild(tmp_path / "parts", batch.schema, key, page_rows=10, leaf_pages=leaf_pages) as parted:
        cuts = [0, 10, 500, 510, 900]
        ranges = list(pairwise(cuts))
        # They come back in no particular order.
        parts = [
            write(parted.plan, number, batch.slice(begin, end - begin))
            for number, (begin, end) in reversed(list(enumerate(ranges)))
        ]
        built = parted.publish(parts)
    whole = build(table, tmp_path / "whole", key, page_rows=10, leaf_pages=leaf_pages)
    store = ClusteredStore.open(tmp_path / "parts")
    assert scanned(store) == sorted_rows(table, list(names))
    # Equal contents have equal tokens; only the files are cut in other places.
    assert (store.version(), store.layout, store.unique) == (whole.version(), whole.layout, True)
    leaf_bytes, key_bytes = whole.manifest.leaf_bytes, whole.manifest.key_bytes
    assert (store.manifest.leaf_bytes, store.manifest.key_bytes) == (leaf_bytes, key_bytes)
    assert len(store.manifest.data_files) == 4
    assert built.bytes == sum(
        file.stat().st_size for file in (tmp_path / "parts").rglob("*.arrow") if file.is_file()
    )
    for memory in store.directory_bytes():
        assert_locates_every_key(store, store.directory(memory))


def test_a_key_may_go_on_over_parts(tmp_path: Path) -> None:
    schema = numbers(1).schema
    with PartedBuild(tmp_path, schema, "id", page_rows=2) as parted:
        parts = [
            write(parted.plan, 0, numbers(1, 2, 5)),
            write(parted.plan, 1, numbers(5, 7)),
            write(parted.plan, 2, numbers(5, 5, 5)),
            write(parted.plan, 3, numbers(8, 9)),
        ]
        assert [part.unique for part in parts] == [True, True, False, True]
        parted.publish(parts)
    store = ClusteredStore.open(tmp_path)
    assert [row["id"] for row in scanned(store)] == [1, 2, 5, 5, 5, 5, 5, 7, 8, 9]
    assert store.unique is False
    assert_locates_every_key(store, store.directory(1 << 20))
    assert store.lookup(pa.table({"id": [5]}), ["id"]).num_rows == 5


def test_a_key_twice_only_at_the_seam_is_still_a_key_twice(tmp_path: Path) -> None:
    with PartedBuild(tmp_path, numbers(1).schema, "id") as parted:
        parts = [write(parted.plan, 0, numbers(1, 2)), write(parted.plan, 1, numbers(2, 3))]
        assert not parted.publish(parts).manifest.unique


def test_overlapping_parts_are_refused_and_the_old_version_stays(tmp_path: Path) -> None:
    build(pa.Table.from_batches([numbers(4)]), tmp_path, "id").close()
    before = in_folder(tmp_path)

    def overlapping() -> None:
        with PartedBuild(tmp_path, numbers(1).schema, "id") as parted:
            parts = [write(parted.plan, 0, numbers(1, 6)), write(parted.plan, 1, numbers(5, 9))]
            parted.publish(parts)

    with pytest.raises(ArgumentError, match="a part ends with key 6, and the next one begins with 5"):
        overlapping()
    assert in_folder(tmp_path) == before
    assert [row["id"] for row in scanned(ClusteredStore.open(tmp_path))] == [4]


def test_rows_in_another_order_are_refused_where_they_are_written(tmp_path: Path) -> None:
    with PartedBuild(tmp_path, numbers(1).schema, "id") as parted:
        writer = PartWriter(parted.plan, 0)
        writer.write(numbers(1, 7))
        with pytest.raises(ArgumentError, match=r"row 2 has key 3, below 7 .* orders keys in another way"):
            writer.write(numbers(3))
        writer.abandon()
        assert [file.name for file in parted.plan.scratch.iterdir()] == ["marker"]


def test_only_the_attempt_that_reached_the_driver_counts(tmp_path: Path) -> None:
    with PartedBuild(tmp_path, numbers(1).schema, "id") as parted:
        died = PartWriter(parted.plan, 0)  # and never removed its files
        died.write(numbers(1, 2))
        lost = write(parted.plan, 0, numbers(1, 2))
        won = write(parted.plan, 0, numbers(1, 2))
        scratch = parted.plan.scratch
        assert len(list(scratch.iterdir())) == 4
        assert lost.name != won.name
        parted.publish([won])
        # An attempt that goes on after the end does no harm.
        with pytest.raises(StoreError, match="doesn't see the folder"):
            PartWriter(parted.plan, 0)
        died.write(numbers(3))
        died.abandon()
    assert not scratch.exists()
    assert [row["id"] for row in scanned(ClusteredStore.open(tmp_path))] == [1, 2]
    assert len(in_folder(tmp_path)) == 1


def test_nothing_was_written(tmp_path: Path) -> None:
    with PartedBuild(tmp_path, numbers(1).schema, "id") as parted:
        none = write(parted.plan, 0, numbers(1).filter(pa.array([False])))
        assert parted.publish([none]).manifest.rows == 0
    with PartedBuild(tmp_path, numbers(1).schema, "id") as parted:
        nulls = pa.record_batch({"id": pa.nulls(3, pa.int64()), "text": ["a", "b", "c"]})
        manifest = parted.publish([write(parted.plan, 0, nulls), write(parted.plan, 1, numbers(1))]).manifest
    assert (manifest.rows, manifest.null_key_rows, manifest.unique) == (1, 3, True)


def test_a_folder_that_a_task_does_not_see(tmp_path: Path) -> None:
    with PartedBuild(tmp_path, numbers(1).schema, "id") as parted:
        elsewhere = replace(parted.plan, scratch=tmp_path / "elsewhere")
        with pytest.raises(
            StoreError, match=r"host .+ doesn't see the folder .* the driver and every executor"
        ):
            PartWriter(elsewhere, 0)
        # A folder of that name may be there, and not be the driver's.
        with pytest.raises(StoreError, match="doesn't see the folder"):
            PartWriter(replace(parted.plan, marker="another"), 0)
    assert in_folder(tmp_path) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser writes anywhere")
def test_a_folder_that_a_task_may_not_write_to(tmp_path: Path) -> None:
    with PartedBuild(tmp_path, numbers(1).schema, "id") as parted:
        parted.plan.scratch.chmod(0o500)
        with pytest.raises(StoreError, match=r"can't write to .* Permission denied"):
            PartWriter(parted.plan, 0)
        parted.plan.scratch.chmod(0o700)


@pytest.mark.parametrize("file", ["pages-00000.arrow", "entries.arrow"])
@pytest.mark.parametrize("missing", [True, False])
def test_a_part_that_lost_something_is_not_published(tmp_path: Path, file: str, missing: bool) -> None:
    build(pa.Table.from_batches([numbers(4)]), tmp_path, "id").close()

    def damaged() -> None:
        with PartedBuild(tmp_path, numbers(1).schema, "id") as parted:
            part = write(parted.plan, 0, numbers(1, 2))
            path = parted.plan.scratch / part.name / file
            if missing:
                path.unlink()
            else:
                os.truncate(path, path.stat().st_size - 8)
            parted.publish([part])

    with pytest.raises(
        StoreError, match="isn't seen|can't be read" if missing else "has|doesn't hold"
    ) as found:
        damaged()
    assert isinstance(found.value, CorruptStoreError) is not missing
    assert [row["id"] for row in scanned(ClusteredStore.open(tmp_path))] == [4]
    assert len(in_folder(tmp_path)) == 1


def test_another_build_waits_for_the_driver(tmp_path: Path) -> None:
    schema = numbers(1).schema
    with (
        PartedBuild(tmp_path, schema, "id"),
        pytest.raises(StoreError, match="another build of the copy"),
    ):
        PartedBuild(tmp_path, schema, "id")
    with PartedBuild(tmp_path, schema, "id") as again:
        again.publish([])


def write_heap(path: Path, table: pa.Table, key: tuple[str, ...], cuts: list[int], page_rows: int) -> None:
    batch = one_batch(table)
    with PartedBuild(path, batch.schema, key, "heap", page_rows=page_rows) as parted:
        ranges = pairwise(cuts)
        parts = [
            write(parted.plan, number, *(batch.slice(at, 1) for at in range(begin, end)))
            for number, (begin, end) in enumerate(ranges)
        ]
        places, before = [], 0
        for part in parts:
            places += list(read_places(parted.plan, part, before))
            before += part.pages
        together = one_batch(pa.Table.from_batches(places, parted.index_plan.schema))
        ordered, _, _, _ = in_key_order(together, parted.index_plan.key)
        half = ordered.num_rows // 2
        index = [write(parted.index_plan, 0, ordered.slice(0, half))]
        index.append(write(parted.index_plan, 1, ordered.slice(half)))
        parted.publish(parts, index)


@pytest.mark.parametrize("key", [("id",), ("shop", "code")])
@pytest.mark.parametrize("page_rows", [1, 7, 1000])
def test_a_heap_of_parts_is_the_heap_of_one_writer(
    tmp_path: Path, key: tuple[str, ...], page_rows: int
) -> None:
    table = product_table(210)
    write_heap(tmp_path / "parts", table, key, [0, 70, 70, 140, 210], page_rows)
    whole = HeapStore.build(table, tmp_path / "whole", key, page_rows=min(page_rows, 70))
    store = HeapStore.open(tmp_path / "parts")
    assert scanned(store) == table.to_pylist()
    assert (store.layout.pages, store.layout.max_rows) == (whole.layout.pages, whole.layout.max_rows)
    # A column put together from several batches may carry null bits that one slice does without.
    assert store.layout.max_bytes == pytest.approx(whole.layout.max_bytes, rel=0.1)
    assert store.unique is True
    assert_locates_every_key(store, store.directory(1 << 20), exact=True)


def test_a_heaps_keys_that_go_on_over_pages(tmp_path: Path) -> None:
    ids = [7, 7, 7, 7, 7, 3, 4, 4, 4, 9, 9, 1]
    table = pa.table({"id": ids, "row": range(12)})
    write_heap(tmp_path, table, ("id",), [0, 6, 12], 2)
    store = HeapStore.open(tmp_path)
    directory = store.directory(1 << 20)
    keys = KeyCodec.of_master([table.schema.field("id")]).encode([pa.array([7, 3, 4, 9, 1, 5])])
    first, last = directory.locate(keys)
    assert first.tolist() == [0, 2, 3, 4, 5, -1]
    assert last.tolist() == [2, 2, 4, 5, 5, -1]
    assert store.unique is False
    counts = [row["rows"] for row in scanned(store._indexes[0])]
    assert counts == [1, 1, 3, 5, 2]  # of the keys 1, 3, 4, 7 and 9


def test_a_heaps_key_in_two_parts_is_refused(tmp_path: Path) -> None:
    table = pa.table({"id": np.array([1, 2, 2, 3])})
    with pytest.raises(StoreError, match="came to lie in two parts of the heap"):
        write_heap(tmp_path, table, ("id",), [0, 2, 4], 2)
