"""What is written is the workload, whole or not at all, and the library opens it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import semistream as ss
from semistream.errors import ArgumentError, UsageError
from semistream.stores.heap import HeapStore
from semistream.workloads.base import Side, Workload
from semistream.workloads.files import MasterFiles, write, write_parquet
from semistream.workloads.masters import MasterOrder, rows_of
from semistream.workloads.synthetic import zipf

MASTER, STREAM = 3000, 2500


def workload(order: MasterOrder = "key") -> Workload:
    return zipf(master_rows=MASTER, stream_rows=STREAM, master_order=order, unmatched=0.1, nulls=0.02)


def test_files_hold_the_rows_in_their_order(tmp_path: Path) -> None:
    made = workload("scattered")
    master, stream = write(made, tmp_path / "new" / "out", file_rows=1000, label={"workload": "zipf"})
    out = tmp_path / "new" / "out"
    assert (master.rows, master.files) == (MASTER, 3)
    assert (stream.rows, stream.files) == (STREAM, 3)
    for side, written, name in ((made.master, master, "master"), (made.stream, stream, "stream")):
        files = sorted((out / name).iterdir())
        assert [file.name for file in files] == [f"part-{i:05d}.parquet" for i in range(3)]
        assert sum(file.stat().st_size for file in files) == written.bytes
        found = pa.concat_tables([pq.read_table(file) for file in files])
        assert found.combine_chunks().equals(side.table().combine_chunks())
    assert json.loads((out / "workload.json").read_text()) == {
        "workload": "zipf",
        "key": ["key"],
        "on": {"key": "key"},
        "master_rows": MASTER,
        "stream_rows": STREAM,
    }
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["out"]


@pytest.mark.parametrize(
    ("order", "files"),
    [("key", "parquet"), ("key", "clustered"), ("scattered", "clustered"), ("frequency", "heap")],
)
def test_a_join_finds_every_row(tmp_path: Path, order: MasterOrder, files: MasterFiles) -> None:
    made = workload(order)
    write(made, tmp_path / "out", master_files=files)
    master = ss.master(tmp_path / "out" / "master", key=made.key)
    with ss.SemiStreamJoin(master, memory="8MiB") as join:
        out = [batch for part in made.stream.batches(500) for batch in join.push(part)]
        joined = pa.Table.from_batches([*out, *join.drain()], join.output_schema)
    keys = made.stream.table()["key"].combine_chunks().drop_null().to_numpy()
    assert joined.num_rows == np.count_nonzero(keys < MASTER) < STREAM
    expected = rows_of(joined["key"].to_numpy())
    for name in ("surrogate_key", "price", "supplier", "description"):
        assert joined[name].combine_chunks().equals(expected[name])


def test_a_heap_keeps_the_order_of_the_rows(tmp_path: Path) -> None:
    made = workload("frequency")
    write(made, tmp_path / "out", master_files="heap")
    with closing(HeapStore.open(tmp_path / "out" / "master")) as store:
        keys = [key for run in store.scan(["key"]) for key in run.batch["key"].to_pylist()]
    assert keys == made.master.table()["key"].to_pylist()


@pytest.mark.parametrize("rows", [0, 1, 99, 100, 101])
def test_no_file_but_a_stream_without_rows_is_empty(tmp_path: Path, rows: int) -> None:
    written = write_parquet(workload().stream.first(rows), tmp_path / "stream", 100)
    found = [pq.read_metadata(file).num_rows for file in sorted((tmp_path / "stream").iterdir())]
    assert found == ({0: [0], 101: [100, 1]}.get(rows) or [rows])
    assert (written.rows, written.files) == (rows, len(found))


def test_a_folder_with_something_in_it_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").write_text("mine")
    (tmp_path / "file").write_text("mine")
    for name in ("full", "file"):
        with pytest.raises(UsageError, match="not an empty folder"):
            write(workload(), tmp_path / name)
    assert (tmp_path / "full" / "mine").read_text() == "mine"
    (tmp_path / "empty").mkdir()
    assert write(workload(), tmp_path / "empty")[1].rows == STREAM


def test_what_breaks_off_leaves_nothing_behind(tmp_path: Path) -> None:
    def broken(batch_rows: int) -> Iterator[pa.RecordBatch]:
        yield from workload().stream.first(batch_rows).batches(batch_rows)
        raise RuntimeError("the source broke off")

    stream = workload().stream
    with pytest.raises(RuntimeError, match="broke off"):
        write(replace(workload(), stream=Side(stream.schema, broken)), tmp_path / "out", file_rows=100)
    assert list(tmp_path.iterdir()) == []


def test_two_writers_dont_meet(tmp_path: Path) -> None:
    (tmp_path / ".out.partial").mkdir()
    with pytest.raises(UsageError, match=r"\.out\.partial is there"):
        write(workload(), tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == [".out.partial"]


def test_files_without_rows_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="file_rows=0"):
        write(workload(), tmp_path / "out", file_rows=0)
