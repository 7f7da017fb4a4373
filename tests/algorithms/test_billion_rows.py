"""A billion rows join in 64 MiB, by every algorithm that uses an index."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from semistream import SemiStreamJoin
from semistream.stores.directory import FenceDirectory
from tests.algorithms.computed import BILLION, KEY_STEP, ComputedStore, name_of, payload_of
from tests.algorithms.traces import INDEXED, consume, running, small_cache, stream_of

Int64s = NDArray[np.int64]

MEMORY = 64 << 20
ROWS = 2000


@pytest.fixture(scope="module")
def master() -> ComputedStore:
    return ComputedStore()


@pytest.fixture
def arrow_memory() -> Iterator[pa.MemoryPool]:
    """A pool that counts from zero."""
    before = pa.default_memory_pool()
    pool = pa.proxy_memory_pool(before)
    pa.set_memory_pool(pool)
    yield pool
    pa.set_memory_pool(before)


def stream_keys(count: int, seed: int) -> Int64s:
    """From all over the master and beyond both its ends; a few pages are hot; some keys have no row."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(-BILLION // 20, BILLION + BILLION // 20, count)
    hot = rng.random(count) < 0.4
    rows[hot] = rng.integers(0, 2000, hot.sum()) * 400_009
    return np.asarray(rows * KEY_STEP + (rng.random(count) < 0.2), dtype=np.int64)


def assert_joined(out: list[pa.RecordBatch], keys: Int64s) -> None:
    """A left join, by arithmetic."""
    table = pa.Table.from_batches(out).sort_by("s")
    assert np.array_equal(table["s"].to_numpy(), np.arange(len(keys)))
    assert np.array_equal(table["k"].to_numpy(), keys)
    rows = keys // KEY_STEP
    known = (keys % KEY_STEP == 0) & (rows >= 0) & (rows < BILLION)
    assert 0.2 < known.mean() < 0.9
    assert np.array_equal(table["p"].is_valid().to_numpy(), known)
    assert np.array_equal(table["p"].drop_null().to_numpy(), payload_of(rows[known]))
    names = [name_of(row) if there else None for row, there in zip(rows.tolist(), known, strict=True)]
    assert table["name"].to_pylist() == names


@pytest.mark.parametrize("name", INDEXED)
def test_a_billion_rows_join_in_64_mib(name: str, master: ComputedStore, arrow_memory: pa.MemoryPool) -> None:
    count = 300 if name == "inlj" else ROWS
    keys = stream_keys(count, 5)

    def run(keys: Int64s, pending: int | None) -> tuple[SemiStreamJoin, list[pa.RecordBatch]]:
        join = SemiStreamJoin(
            master, how="left", memory=MEMORY, algorithm=name, pending_rows=pending, **small_cache(name)
        )
        out: list[pa.RecordBatch] = []
        for start in range(0, len(keys), 1000):
            consume(join.push(stream_of(keys[start : start + 1000], start)), out)
        consume(join.drain(), out)
        return join, out

    join, out = run(keys, 300)  # a queue that fills up
    assert_joined(out, keys)
    stats, directory = join.stats, running(join).directory
    assert stats.peak_bytes <= MEMORY
    assert isinstance(directory, FenceDirectory)
    assert directory.paged
    assert directory.held_bytes <= running(join).plan.directory_bytes < master.directory_bytes()[1] / 4
    assert stats.index_reads > 100, "leaves are read on demand"
    assert stats.loads >= count // 4
    join.close()
    del join, out

    some = keys[: count // 2]
    tracemalloc.start()
    try:
        before = arrow_memory.bytes_allocated()
        join, out = run(some, None)  # a queue, a cache and buffers as large as the budget lets them be
        python = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert python + arrow_memory.max_memory() - before <= MEMORY
    if name != "inlj":
        assert join.stats.pending_capacity > 100_000
        assert python > MEMORY / 4, "the budget is there to be used"
    assert_joined(out, some)
    join.close()
