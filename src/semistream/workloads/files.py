"""Writing a workload to files: a folder with the master, one with the stream, and what they are.

    OUT/workload.json   how it was made, its key columns, its numbers of rows
    OUT/master/         Parquet files; or a clustered copy; or a heap, which keeps the order of the rows
    OUT/stream/         Parquet files in the order of the stream, for Spark's file source

The folder appears with everything in it or not at all. Memory: a batch and a row group of it; but a clustered
copy of a master whose rows don't come by key is sorted in memory, and a heap indexed there.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pyarrow.parquet as pq

from semistream.errors import ArgumentError, UsageError
from semistream.stores.clustered_build import ClusteredWriter, build
from semistream.stores.heap import HeapStore
from semistream.workloads.base import Side, Workload

FILE_ROWS = 1_000_000
MasterFiles = Literal["parquet", "clustered", "heap"]
DESCRIPTION = "workload.json"


@dataclass(frozen=True)
class Written:
    """What one side became."""

    rows: int
    bytes: int
    files: int


def write(
    workload: Workload,
    out: str | os.PathLike[str],
    *,
    master_files: MasterFiles = "parquet",
    file_rows: int = FILE_ROWS,
    label: Mapping[str, Any] | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> tuple[Written, Written]:
    """Write master and stream into the folder `out`, which must be new or empty.

    label: how the workload was made; goes into the description.
    """
    if file_rows < 1:
        raise ArgumentError(f"file_rows={file_rows} leaves files empty: give at least 1")
    path = Path(out).resolve()
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise UsageError(f"{path} is there already and not an empty folder: give another place")
    partial = path.parent / f".{path.name}.partial"
    try:
        partial.mkdir(parents=True)
    except FileExistsError:
        raise UsageError(
            f"{partial} is there: another process is writing, or one was cut off; remove it if none is"
        ) from None
    try:
        progress("Writing the master ...")
        master = _write_master(workload, partial / "master", master_files, file_rows)
        progress("Writing the stream ...")
        stream = write_parquet(workload.stream, partial / "stream", file_rows)
        _describe(partial / DESCRIPTION, workload, label or {}, master, stream)
        os.replace(partial, path)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    return master, stream


def write_parquet(side: Side, folder: Path, file_rows: int = FILE_ROWS) -> Written:
    """Files of so many rows, named in their order; one without rows where there are none."""
    folder.mkdir()
    batches = side.batches(min(file_rows, 1 << 16))
    rows = files = 0
    batch = next(batches, None)
    while batch is not None or files == 0:
        with pq.ParquetWriter(
            folder / f"part-{files:05d}.parquet", side.schema, compression="zstd"
        ) as writer:
            room = file_rows
            while batch is not None and room:
                fits = batch.slice(0, room)
                writer.write_batch(fits)
                rows, room = rows + fits.num_rows, room - fits.num_rows
                left = batch.slice(fits.num_rows)
                batch = left if left.num_rows else next(batches, None)
        files += 1
    return Written(rows, _bytes_in(folder), files)


def _write_master(workload: Workload, folder: Path, kind: MasterFiles, file_rows: int) -> Written:
    side = workload.master
    if kind == "parquet":
        return write_parquet(side, folder, file_rows)
    if kind == "heap":
        with_rows = HeapStore.build(side.table(), folder, workload.key)
        rows = with_rows.rows
        with_rows.close()
    elif workload.in_key_order:
        rows = 0
        with ClusteredWriter(folder, side.schema, workload.key) as writer:
            for batch in side.batches():
                writer.write(batch)
                rows += batch.num_rows
    else:
        store = build(side.table(), folder, workload.key)
        rows = store.rows
        store.close()
    return Written(rows, _bytes_in(folder), sum(1 for file in folder.rglob("*") if file.is_file()))


def _describe(
    file: Path, workload: Workload, label: Mapping[str, Any], master: Written, stream: Written
) -> None:
    description = {
        **label,
        "key": list(workload.key),
        "on": dict(workload.on),
        "master_rows": master.rows,
        "stream_rows": stream.rows,
    }
    file.write_text(json.dumps(description, indent=1) + "\n")


def _bytes_in(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
