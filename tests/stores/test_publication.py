"""A copy is replaced at once or not at all, whatever dies, and those who read it go on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from semistream.errors import CorruptStoreError, StoreError, VersionGoneError
from semistream.stores import clustered, publication
from semistream.stores.base import Version
from semistream.stores.clustered import ClusteredStore
from semistream.stores.clustered_build import ClusteredWriter, build
from semistream.stores.manifest import read_current
from tests.stores.masters import scanned


def numbered(version: int, rows: int = 300) -> pa.Table:
    return pa.table({"id": np.arange(rows), "version": np.full(rows, version)})


def versions_in(path: Path) -> set[int]:
    store = ClusteredStore.open(path)
    try:
        return {row["version"] for row in scanned(store)}
    finally:
        store.close()


def folders(path: Path) -> list[str]:
    return sorted(folder.name for folder in (path / "versions").iterdir())


@pytest.mark.parametrize("step", ["write_synced", "sync_folder", "rename", "replace"])
@pytest.mark.parametrize("call", range(4))
def test_a_build_that_fails_at_any_step_leaves_the_old_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, call: int
) -> None:
    build(numbered(1), tmp_path, "id", page_rows=10)
    owner = os if step in ("rename", "replace") else publication
    real = getattr(owner, step)
    calls = 0

    def failing(*arguments: object) -> object:
        nonlocal calls
        calls += 1
        if calls == call + 1:
            raise OSError("the disk is full")
        return real(*arguments)

    monkeypatch.setattr(owner, step, failing)
    reached = True
    try:
        build(numbered(2), tmp_path, "id", page_rows=10)
    except OSError:
        reached = False
    assert reached == (calls <= call), "the failure is reported"
    monkeypatch.setattr(owner, step, real)
    # Once `CURRENT` is replaced the new version is there, though syncing it failed.
    after = reached or (step == "sync_folder" and call == 2)
    assert versions_in(tmp_path) == {2 if after else 1}
    build(numbered(3), tmp_path, "id", page_rows=10)
    assert versions_in(tmp_path) == {3}
    assert len(folders(tmp_path)) == 2
    assert not [name for name in folders(tmp_path) if name.endswith(".tmp")]


def test_an_exception_in_mid_build_leaves_the_old_version(tmp_path: Path) -> None:
    build(numbered(1), tmp_path, "id")
    before = folders(tmp_path)
    table = numbered(2)

    def interrupted() -> None:
        with ClusteredWriter(tmp_path, table.schema, "id") as writer:
            writer.write(table.to_batches()[0])
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        interrupted()
    assert folders(tmp_path) == before
    assert versions_in(tmp_path) == {1}


WRITE_FOREVER = """
import sys, numpy as np, pyarrow as pa
from semistream.stores.clustered_build import ClusteredWriter
schema = pa.schema([("id", pa.int64()), ("version", pa.int64())])
writer = ClusteredWriter(sys.argv[1], schema, "id", page_rows=10)
number = 0
while True:
    ids = np.arange(number * 1000, (number + 1) * 1000)
    writer.write(pa.record_batch([pa.array(ids), pa.array(np.full(1000, 2))], schema=schema))
    number += 1
    print(number, flush=True)
"""


def test_a_killed_build_leaves_the_old_version_and_its_remains_are_removed(tmp_path: Path) -> None:
    build(numbered(1), tmp_path, "id")
    with subprocess.Popen(
        [sys.executable, "-c", WRITE_FOREVER, str(tmp_path)], stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        for _ in range(5):
            assert process.stdout.readline()
        with pytest.raises(StoreError, match="another build of the copy"):
            build(numbered(3), tmp_path, "id")
        process.send_signal(signal.SIGKILL)
    assert [name for name in folders(tmp_path) if name.endswith(".tmp")]
    assert versions_in(tmp_path) == {1}
    build(numbered(2), tmp_path, "id")
    assert versions_in(tmp_path) == {2}
    assert not [name for name in folders(tmp_path) if name.endswith(".tmp")]


def test_readers_go_on_while_the_copy_is_replaced_under_them(tmp_path: Path) -> None:
    build(numbered(0), tmp_path, "id", page_rows=10)
    stop = threading.Event()
    seen: set[int] = set()
    wrong: list[object] = []

    def read() -> None:
        while not stop.is_set():
            try:
                found = versions_in(tmp_path)
            except Exception as error:
                wrong.append(error)
                return
            if len(found) != 1:
                wrong.append(found)
            seen.update(found)

    opened = ClusteredStore.open(tmp_path)
    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    deadline = time.monotonic() + 20
    version = 0
    while (version < 30 or len(seen) < 5) and not wrong and time.monotonic() < deadline:
        version += 1
        build(numbered(version), tmp_path, "id", page_rows=10).close()
    stop.set()
    for reader in readers:
        reader.join()
    assert not wrong
    assert len(seen) >= 5
    assert {row["version"] for row in scanned(opened)} == {0}, "its files are gone, but it has them open"


def test_opening_survives_two_builds_between_its_steps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(numbered(1), tmp_path, "id").close()
    stale = read_current(tmp_path)
    build(numbered(2), tmp_path, "id").close()
    build(numbered(3), tmp_path, "id").close()
    answers = [stale]
    monkeypatch.setattr(
        clustered, "read_current", lambda path: answers.pop() if answers else read_current(path)
    )
    assert versions_in(tmp_path) == {3}
    assert answers == []


def test_the_version_before_stays_until_the_build_after_next(tmp_path: Path) -> None:
    first = build(numbered(1), tmp_path, "id")
    assert first.at(first.version()) is first
    second = build(numbered(2), tmp_path, "id")
    assert first.version() != second.version()
    old = second.at(first.version())
    assert {row["version"] for row in scanned(old)} == {1}
    build(numbered(3), tmp_path, "id")
    with pytest.raises(VersionGoneError, match=first.version().token):
        second.at(first.version())
    assert {row["version"] for row in scanned(second)} == {2}
    publication.prune(tmp_path)
    assert len(folders(tmp_path)) == 1
    with pytest.raises(VersionGoneError):
        second.at(Version(""))
    assert versions_in(tmp_path) == {3}


def test_equal_content_is_an_equal_version_and_a_rebuild_mends_damage(tmp_path: Path) -> None:
    first = build(numbered(1), tmp_path, "id", page_rows=10)
    file = tmp_path / "versions" / folders(tmp_path)[0] / first.manifest.data_files[0].name
    data = bytearray(file.read_bytes())
    data[5000] ^= 1
    file.write_bytes(data)
    with pytest.raises(CorruptStoreError):
        versions_in(tmp_path)
    again = build(numbered(1), tmp_path, "id", page_rows=10)
    assert again.version() == first.version()
    assert versions_in(tmp_path) == {1}
    assert build(numbered(1), tmp_path, "id", page_rows=11).version() != first.version()
