"""Damaged files give an error or exactly the right rows, never wrong ones."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from semistream.errors import CorruptStoreError, StoreError
from semistream.stores.base import Store
from semistream.stores.clustered import ClusteredStore
from semistream.stores.clustered_build import build
from semistream.stores.heap import HeapStore
from tests.stores.masters import Rows, files_of, product_table, scanned

Opener = Callable[[Path], Store]


def open_cached(path: Path) -> Store:
    return ClusteredStore.open(path)


def open_direct(path: Path) -> Store:
    return ClusteredStore.open(path, io="direct")


def open_heap(path: Path) -> Store:
    return HeapStore.open(path)


def make(path: Path, opener: Opener) -> None:
    table = product_table(240).select(["id", "code", "name", "colour", "tags", "price"])
    if opener is open_heap:
        HeapStore.build(table, path, "code", page_rows=12).close()
    else:
        build(table, path, "code", page_rows=12, leaf_pages=7, file_bytes=8_000).close()


def everything(path: Path, opener: Opener) -> tuple[Rows, list[list[int]]]:
    """All rows, and the pages of some keys: whatever a join would see of the store."""
    store = opener(path)
    try:
        directory = store.directory(1 << 20)
        assert directory is not None
        codes = pa.array([f"{n:06d}" for n in range(0, 240, 5)])
        located = directory.locate(directory.codec.encode([codes]))
        return scanned(store), [part.tolist() for part in located]
    finally:
        store.close()


@pytest.mark.parametrize("opener", [open_cached, open_direct, open_heap])
def test_a_flipped_bit_anywhere_is_noticed_or_harmless(tmp_path: Path, opener: Opener) -> None:
    make(tmp_path, opener)
    right = everything(tmp_path, opener)
    random = np.random.default_rng(7)
    noticed = harmless = 0
    for file in files_of(tmp_path):
        whole = file.read_bytes()
        positions = {0, len(whole) - 1, *random.integers(0, len(whole), 25).tolist()}
        for position in sorted(positions):
            damaged = bytearray(whole)
            damaged[position] ^= 1 << int(random.integers(8))
            file.write_bytes(damaged)
            complaint = None
            try:
                found = everything(tmp_path, opener)
            except StoreError as error:
                complaint = str(error)
            if complaint is None:
                assert found == right, f"{file} at {position}"
                harmless += 1
            else:
                assert str(tmp_path) in complaint
                assert "build" in complaint
                noticed += 1
        file.write_bytes(whole)
    assert everything(tmp_path, opener) == right
    assert noticed > 100
    assert harmless < noticed, "only what isn't read may be damaged unnoticed: the framing of Arrow files"


@pytest.mark.parametrize("opener", [open_cached, open_direct, open_heap])
def test_a_file_cut_short_or_missing_is_noticed(tmp_path: Path, opener: Opener) -> None:
    make(tmp_path, opener)
    seals = [file for file in files_of(tmp_path) if file.name == "manifest.digest"]
    for file in sorted(set(files_of(tmp_path)) - set(seals)):
        whole = file.read_bytes()
        lengths = np.random.default_rng(3).integers(0, len(whole), 6).tolist()
        for length in {0, len(whole) - 1, *lengths}:
            file.write_bytes(whole[:length])
            with pytest.raises(CorruptStoreError, match="build the copy"):
                everything(tmp_path, opener)
        file.unlink()
        with pytest.raises(StoreError, match=r"missing|not a copy"):
            everything(tmp_path, opener)
        file.write_bytes(whole)
    everything(tmp_path, opener)


def test_a_page_damaged_while_open_is_named(tmp_path: Path) -> None:
    build(product_table(500), tmp_path, "id", page_rows=50)
    store = ClusteredStore.open(tmp_path)
    directory = store.directory(1 << 20)
    at = int(directory.places(np.array([4])).offset[0]) + 200
    file = next((tmp_path / "versions").iterdir()) / store.manifest.data_files[0].name
    with open(file, "r+b") as data:
        data.seek(at)
        byte = data.read(1)
        data.seek(at)
        data.write(bytes([byte[0] ^ 0x10]))
    assert next(store.read([3], ["id"])).batch.num_rows == 50
    with pytest.raises(CorruptStoreError, match=r"page 4 in .*pages-00000.arrow .*build the copy at"):
        list(store.read([2, 3, 4, 5], ["id"]))
    with open(file, "r+b") as data:
        data.truncate(at)
    with pytest.raises(CorruptStoreError, match=r"pages-00000.arrow ends at byte \d+, within pages 6 to 8"):
        list(store.read([6, 7, 8], ["id"]))


def test_files_of_two_versions_do_not_mix(tmp_path: Path) -> None:
    build(product_table(100, seed=1), tmp_path / "one", "id", page_rows=10)
    build(product_table(100, seed=1).slice(1), tmp_path / "two", "id", page_rows=10)
    first, second = (next((tmp_path / name / "versions").iterdir()) for name in ("one", "two"))
    for name in ("manifest.json", "root.arrow", "leaves-00000.arrow", "pages-00000.arrow"):
        copy = tmp_path / f"mixed-{name}"
        shutil.copytree(tmp_path / "one", copy)
        shutil.copy(second / name, copy / "versions" / first.name / name)
        with pytest.raises(CorruptStoreError):
            everything(copy, open_cached)
