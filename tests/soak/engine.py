"""One join after the other for a long time, on a stream whose favourites change: does it keep its memory?

Each algorithm gets an equal share of the time. Held bytes must stay within the budget at every call,
every row must come out exactly once, and the resident memory of the second half must not grow above
that of the first by more than a tenth of the budget.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

import semistream as ss
from semistream.stores.clustered_build import build
from semistream.workloads.keys import zipf_keys

MASTER_ROWS = 200_000
MEMORY = 4 * 2**20
BATCH = 5_000
DRIFT_EVERY = 40  # batches between two changes of favourites


def stream(random: np.random.Generator) -> Iterator[pa.RecordBatch]:
    shift = 0
    while True:
        shift += MASTER_ROWS // 7
        for _ in range(DRIFT_EVERY):
            keys = (zipf_keys(BATCH, MASTER_ROWS + 500, 1.0, random) * 31 + shift) % (MASTER_ROWS + 500)
            yield pa.record_batch({"id": pa.array(keys, mask=random.random(BATCH) < 0.01)})


def soak(algorithm: str, path: str, seconds: float) -> str:
    """Run one algorithm; returns what went wrong, or nothing."""
    resident: list[int] = []
    pushed = out = 0
    with ss.SemiStreamJoin(ss.master(path, key="id"), how="left", memory=MEMORY, algorithm=algorithm) as join:
        end = time.monotonic() + seconds
        for batch in stream(np.random.default_rng(1)):
            pushed += batch.num_rows
            for answers in join.push(batch):
                out += answers.num_rows
            join.check()
            if join.stats.peak_bytes > MEMORY:
                return f"held {join.stats.peak_bytes} bytes of {MEMORY}"
            resident.append(resident_bytes())
            if time.monotonic() > end:
                break
        out += sum(answers.num_rows for answers in join.drain())
        loads = join.stats.loads
    if out != pushed:
        return f"{pushed} rows in, {out} out"
    half = len(resident) // 2
    growth = max(resident[half:]) - max(resident[: half or 1])
    print(
        f"{algorithm:20} {pushed:>12,} rows {loads:>10,} loads, resident {growth / 2**20:+.1f} MiB",
        flush=True,
    )
    return f"resident memory grew by {growth} bytes" if growth > MEMORY // 10 + 2**20 else ""


def resident_bytes() -> int:
    status = Path("/proc/self/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1]) * 1024


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("algorithms", nargs="*", default=ss.algorithms(), help="only these")
    parser.add_argument("--minutes", type=float, default=16.0, help="of all of them together")


def run(options: argparse.Namespace) -> list[str]:
    """What went wrong."""
    master = pa.table({"id": np.arange(MASTER_ROWS), "name": pa.array(["x" * 90] * MASTER_ROWS)})
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "master")
        build(master, path, "id", page_rows=128).close()
        for algorithm in options.algorithms:
            failure = soak(algorithm, path, 60 * options.minutes / len(options.algorithms))
            if failure:
                failures.append(f"{algorithm}: {failure}")
    return failures
