"""The promise of `memory` where it counts: under a kernel that kills whoever breaks it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from semistream.stores.clustered_build import ClusteredWriter
from tests.cgroup.control import memory_cgroup
from tests.cgroup.joining import names_of

MASTER_BYTES = 2_000_000_000
SPARE = 128 * 2**20  # above the bare process, the page cache included
PAYLOAD = 400


def write_master(path: Path, size: int) -> None:
    schema = pa.schema({"id": pa.int64(), "name": pa.string(), "payload": pa.binary(PAYLOAD)})
    chunk = 50_000
    payload = pa.FixedSizeBinaryArray.from_buffers(
        pa.binary(PAYLOAD), chunk, [None, pa.py_buffer(bytes(range(250)) * (PAYLOAD * chunk // 250))]
    )
    with ClusteredWriter(path, schema, "id") as writer:
        for start in range(0, -(-size // (PAYLOAD + 20)), chunk):
            rows = np.arange(start, start + chunk)
            writer.write(pa.record_batch([pa.array(2 * rows), names_of(rows), payload], schema=schema))


@pytest.fixture(scope="module")
def master(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("masters")
    write_master(folder / "small", 10_000_000)
    write_master(folder / "large", MASTER_BYTES)
    assert sum(file.stat().st_size for file in (folder / "large").rglob("*")) >= MASTER_BYTES
    return folder / "large"


def evict(folder: Path) -> None:
    """Drop these files from the page cache: pages held on the writer's account would be free to the join."""
    for file in folder.rglob("*"):
        if file.is_file():
            descriptor = os.open(file, os.O_RDONLY)
            try:
                os.fsync(descriptor)
                os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            finally:
                os.close(descriptor)


@pytest.mark.parametrize(("io", "algorithm"), [("cached", "cachejoin_pq"), ("direct", "op_cachejoin")])
def test_a_master_far_larger_than_memory(master: Path, io: str, algorithm: str) -> None:
    evict(master)
    try:
        with memory_cgroup() as cgroup:
            command = [sys.executable, "-m", "tests.cgroup.joining", str(master), io, str(cgroup.folder)]
            done = subprocess.run(
                [*command, str(SPARE), algorithm],
                capture_output=True,
                text=True,
                timeout=240,
                check=False,
                cwd=Path(__file__).parents[2],
                env={**os.environ, "MALLOC_ARENA_MAX": "2"},
            )
    except OSError as error:
        pytest.skip(str(error))
    assert done.returncode == 0, f"exit {done.returncode} (-9: killed for its memory)\n{done.stderr}"
    told = json.loads(done.stdout)
    assert 0 < told["cgroup_peak"] <= SPARE
    assert told["peak_bytes"] <= told["memory_limit"] == 64 * 2**20
    # The master was really read, and far more of it than fits.
    assert told["bytes_read"] > 2 * SPARE
    assert told["loads"] > 1000
