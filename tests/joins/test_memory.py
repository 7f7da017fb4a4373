"""The budget against real memory: what Arrow's pool and Python's allocator gave out, numpy's arrays
included, beyond what was there before the join: the store, the stream and the compiled kernels.

Looked at whenever a part of the join reports what it holds, and whenever a batch comes out.
"""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

import semistream as ss
from semistream import SemiStreamJoin
from semistream.budget import Budget
from semistream.stores.base import Store
from semistream.stores.clustered import ClusteredStore
from semistream.stores.clustered_build import build

MIB = 1 << 20


@dataclass(frozen=True)
class Load:
    """A master and a stream that are hard on memory in one way."""

    memory: int
    page_rows: int
    master: Callable[[], pa.Table]
    stream: Callable[[], list[pa.RecordBatch]]


def _texts(rows: int, longest: int, seed: int) -> list[str]:
    return ["x" * int(n) for n in np.random.default_rng(seed).integers(0, longest, rows)]


def _keys(rows: int, most: int, seed: int = 0) -> NDArray[np.int64]:
    """Skewed, and one in ten is nobody's."""
    rng = np.random.default_rng(seed)
    keys = (most ** rng.random(rows)).astype(np.int64)
    return np.where(rng.random(rows) < 0.1, most + keys, keys)


def _cut(batch: pa.RecordBatch, rows: int) -> list[pa.RecordBatch]:
    return [batch.slice(start, rows) for start in range(0, batch.num_rows, rows)]


LOADS = {
    "tiny rows": Load(
        2 * MIB,
        256,
        lambda: pa.table({"id": np.arange(40_000), "v": np.arange(40_000)}),
        lambda: _cut(pa.record_batch({"id": _keys(60_000, 40_000)}), 15_000),
    ),
    "wide rows": Load(
        8 * MIB,
        32,
        lambda: pa.table({"id": np.arange(4_000), "v": _texts(4_000, 2_000, 1)}),
        lambda: _cut(pa.record_batch({"id": _keys(8_000, 4_000), "s": _texts(8_000, 4_000, 2)}), 2_000),
    ),
    "long strings": Load(
        8 * MIB,
        4,
        lambda: pa.table({"id": np.arange(300), "v": _texts(300, 20_000, 3)}),
        lambda: _cut(pa.record_batch({"id": _keys(500, 300), "s": _texts(500, 100_000, 4)}), 100),
    ),
    "text keys": Load(
        4 * MIB,
        64,
        lambda: pa.table(
            {"id": [f"a key with a long prefix {n}" for n in range(10_000)], "v": np.arange(10_000)}
        ),
        lambda: _cut(
            pa.record_batch({"id": [f"a key with a long prefix {n}" for n in _keys(20_000, 10_000)]}), 5_000
        ),
    ),
    "fan-out": Load(
        4 * MIB,
        64,
        lambda: pa.table({"id": np.arange(20_000) // 400, "v": _texts(20_000, 100, 5)}),
        lambda: _cut(pa.record_batch({"id": _keys(800, 50), "s": _texts(800, 200, 6)}), 200),
    ),
    "nested": Load(
        4 * MIB,
        64,
        lambda: pa.table({"id": np.arange(4_000), "v": [[text, "y"] for text in _texts(4_000, 100, 7)]}),
        lambda: _cut(
            pa.record_batch(
                {"id": _keys(6_000, 4_000), "s": [[{"t": text}] for text in _texts(6_000, 100, 8)]}
            ),
            2_000,
        ),
    ),
    "one row at a time": Load(
        2 * MIB,
        64,
        lambda: pa.table({"id": np.arange(4_000), "v": _texts(4_000, 50, 9)}),
        lambda: _cut(pa.record_batch({"id": _keys(1_500, 4_000), "s": _texts(1_500, 50, 10)}), 1),
    ),
}


class Meter:
    """Real bytes above those at its start, and the most there have been."""

    def __init__(self) -> None:
        self.most = 0
        self.where = ""
        self.looks = 0
        self._before = self._now()

    def look(self, where: str) -> None:
        self.looks += 1
        size = self._now() - self._before
        if size > self.most:
            self.most, self.where = size, where

    @staticmethod
    def _now() -> int:
        return int(pa.default_memory_pool().bytes_allocated()) + tracemalloc.get_traced_memory()[0]


def _run(
    store: Store, batches: list[pa.RecordBatch], memory: int, algorithm: str, look: Callable[[str], None]
) -> int:
    """Join everything with each batch let go as it comes; returns the rows that came out."""
    rows = 0
    with SemiStreamJoin(store, how="left", memory=memory, algorithm=algorithm) as join:

        def read(out: Iterator[pa.RecordBatch], call: str) -> int:
            count = 0
            for batch in out:
                count += batch.num_rows
                look(f"a batch of {batch.num_rows} rows and {batch.nbytes} bytes from {call}")
                del batch
            look(f"the end of {call}")
            return count

        for batch in batches:
            rows += read(join.push(batch), "push")
        rows += read(join.drain(), "drain")
        assert join.stats.loads > 1
        assert join.stats.peak_bytes <= memory
    return rows


@pytest.fixture(scope="module", params=LOADS)
def load(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Load, Path]:
    chosen = LOADS[request.param]
    path: Path = tmp_path_factory.mktemp("master")
    build(chosen.master(), path, "id", page_rows=chosen.page_rows).close()
    return chosen, path


@pytest.mark.parametrize("algorithm", ss.algorithms())
def test_real_memory_stays_within_the_budget(
    algorithm: str, load: tuple[Load, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen, path = load
    batches = chosen.stream()
    if algorithm == "inlj":  # a load a row: fewer say as much
        batches = [batch.slice(0, 200) for batch in batches]
    store = ClusteredStore.open(path)
    warm = _run(store, batches[:2], chosen.memory, algorithm, lambda where: None)
    gc.collect()
    tracemalloc.start()
    try:
        meter = Meter()
        real = Budget.hold

        def hold(budget: Budget, part: str, size: int) -> None:
            real(budget, part, size)
            meter.look(part)

        monkeypatch.setattr(Budget, "hold", hold)
        rows = _run(store, batches, chosen.memory, algorithm, meter.look)
    finally:
        tracemalloc.stop()
        store.close()
    assert rows > warm > 0
    assert meter.looks > 100
    # A meter that sees nothing would let everything pass.
    assert meter.most > chosen.memory // 50, meter.most
    assert meter.most <= chosen.memory, (
        f"{meter.most / chosen.memory:.2f} of the budget, when it was the turn of: {meter.where}"
    )
