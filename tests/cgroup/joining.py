"""Runs in a process of its own, inside a memory cgroup: joins a stream with a large master.

Arguments: the master's path, how it is read, the cgroup's folder, the bytes allowed above the bare
process, the algorithm. What the bare process holds was charged before it enters the cgroup, so the
limit is for the join alone, with every page of the master that it reads through the page cache.
Prints what happened as JSON.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import semistream as ss
from tests.cgroup.control import Cgroup

ROWS = 200_000
BATCH = 10_000


def names_of(rows: np.ndarray[tuple[int], np.dtype[np.int64]]) -> pa.Array:
    """The name of each row of the master."""
    return pc.utf8_lpad(pa.array(rows).cast(pa.string()), 12, "0")


def join(master: str, io: str, algorithm: str, rows: int) -> ss.Stats:
    """Join so many stream rows; half the keys of the master's range are in it. Every answer is checked."""
    random = np.random.default_rng(5)
    out = 0
    with ss.SemiStreamJoin(
        ss.master(master, key="id", io=io), how="left", columns=["name"], memory="64MiB", algorithm=algorithm
    ) as joined:
        top = 2 * int(joined.master_rows or 0)
        for start in range(0, rows, BATCH):
            keys = np.minimum((top ** random.random(BATCH)).astype(np.int64), top - 1)
            batch = pa.record_batch({"id": keys, "event": np.arange(start, start + BATCH)})
            for answers in joined.push(batch):
                out += check(answers)
        for answers in joined.drain():
            out += check(answers)
        stats = joined.stats
    assert out == rows, (out, rows)
    return stats


def check(answers: pa.RecordBatch) -> int:
    keys = answers.column("id").to_numpy()
    names = answers.column("name")
    there = keys % 2 == 0
    assert names.is_valid().to_numpy(zero_copy_only=False).tolist() == there.tolist()
    assert names.filter(pa.array(there)).equals(names_of(keys[there] // 2))
    return int(answers.num_rows)


def main() -> None:
    master, io, folder, spare, algorithm = sys.argv[1:]
    small = str(Path(master).parent / "small")
    join(small, io, algorithm, BATCH)  # kernels and libraries belong to the bare process
    cgroup = Cgroup(Path(folder))
    cgroup.limit(int(spare))
    cgroup.enter()
    stats = join(master, io, algorithm, ROWS)
    print(json.dumps({"cgroup_peak": cgroup.peak(), **stats.as_dict()}))


if __name__ == "__main__":
    main()
