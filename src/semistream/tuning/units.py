"""What one operation costs on this machine: each timed on the engine's own parts.

A sample of the master's rows is held in memory, so that no device has a part in it. What a load takes
besides its rows is what a whole join of few rows a load takes beyond the sum of its parts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from semistream.columns import resolve
from semistream.costs.accounting import Account, counted
from semistream.costs.base import UnitCosts
from semistream.join import SemiStreamJoin
from semistream.keys import KeyCodec
from semistream.phases.arrivals import ArrivalEncoder, Arrivals
from semistream.phases.loading import Loader
from semistream.stats import Counters
from semistream.stores.base import Store
from semistream.stores.memory import MemoryStore
from semistream.structures.answers import Answers
from semistream.structures.matching import CodeTable
from semistream.structures.pending import Pending
from semistream.structures.rowcache import Replacement, RowCache
from semistream.structures.rowpool import RowPool
from semistream.structures.sources import Sources
from semistream.structures.views import taken
from semistream.tuning.estimates import Estimate, median_of

Int64s = NDArray[np.int64]
Result = TypeVar("Result")

STREAM_ROWS = 20_000
LOADING_ROWS = 1000  # of them, while a load's own cost is measured
ROWS_PER_LOAD = 2  # meanwhile
JOIN_MEMORY = 1 << 28


@dataclass(frozen=True)
class Sample:
    """Master rows in memory, and stream rows with keys of theirs."""

    store: MemoryStore
    stream: pa.RecordBatch
    key: tuple[int, ...]


def sample_of(store: Store, pages: Int64s, seed: int) -> Sample:
    """The rows of these pages (ascending), and a stream that asks for them at random."""
    names = [*store.key, *(name for name in store.schema.names if name not in store.key)]
    found = pa.Table.from_batches([run.batch for run in store.read(pages, names)])
    assert store.layout is not None
    memory = MemoryStore(found, store.key, page_rows=store.layout.max_rows)
    keys = taken(
        found.select(store.key).combine_chunks().to_batches()[0],
        np.random.default_rng(seed).integers(0, found.num_rows, STREAM_ROWS),
    )
    stream = keys.append_column("__row", pa.array(np.arange(STREAM_ROWS)))
    return Sample(memory, stream, tuple(range(len(store.key))))


def unit_estimates(sample: Sample, repeats: int) -> dict[str, Estimate]:
    """Every unit of `UnitCosts`, in seconds."""
    parts: dict[str, list[float]] = {}
    _Parts(sample).once()  # compiles what is to be compiled
    for _ in range(repeats):
        for name, seconds in _Parts(sample).once().items():
            parts.setdefault(name, []).append(seconds)
    found = {name: median_of(seconds) for name, seconds in parts.items()}
    units = UnitCosts(**{name: estimate.value for name, estimate in found.items()})
    found["load"] = median_of([_seconds_of_a_load(sample, units) for _ in range(repeats)])
    return found


class _Parts:
    """The engine's parts around one sample, used once each."""

    def __init__(self, sample: Sample) -> None:
        self._sample = sample
        store, stream = sample.store, sample.stream
        codec = KeyCodec.of_master([store.schema.field(name) for name in store.key])
        fields = [stream.schema.field(i) for i in sample.key]
        self._encoder = ArrivalEncoder(stream.schema, sample.key, codec.accepts(fields))
        columns = resolve(
            stream.schema, store.schema, store.key, on=list(store.key), how="inner", columns=None, suffix="_m"
        )
        self._loader = Loader(store, codec, columns.payload)
        self._output = columns.output

    def once(self) -> dict[str, float]:
        """Seconds per operation."""
        store, rows = self._sample.store, self._sample.stream.num_rows
        least, everything = store.directory_bytes()
        directory = store.directory(max(least, everything))
        assert directory is not None
        read, arrivals = _timed(lambda: self._encoder.encode(self._sample.stream))
        indexed, (pages, _) = _timed(lambda: directory.locate(arrivals.keys))
        probed, master_rows = self._probe()
        copied, copies = self._copy()
        stream = Sources(self._encoder.schema)
        pool, pending = RowPool(stream, 1 << 30), Pending(rows, _pages(store))
        appended, references = _timed(lambda: self._append(arrivals, stream, pool, pending, pages))
        deleted = _timed(lambda: pool.release(pending.take_pages(np.unique(pages)).references))[0]
        put_out = self._put_out(arrivals, references)
        return {
            "probe": probed / master_rows,
            "output": put_out / rows,
            "delete": deleted / rows,
            "read": read / rows,
            "append": appended / rows,
            "copy": copied / copies,
            "index": indexed / rows,
        }

    def _probe(self) -> tuple[float, int]:
        """Master rows as they are decoded, hashed and met by a few waiting rows."""
        names = [*self._sample.store.key, *self._loader.payload]
        runs = self._sample.store.read(np.arange(_pages(self._sample.store)), names)
        batch = pa.concat_batches([run.batch for run in runs])
        codes = self._loader.found(batch).keys.codes[:1]
        seconds, _ = _timed(lambda: CodeTable(self._loader.found(batch).keys.codes).matches(codes))
        return seconds, batch.num_rows

    def _copy(self) -> tuple[float, int]:
        """Rows into an empty cache that has room for them."""
        loaded = self._loader.load_together(0, _pages(self._sample.store) - 1)
        codes, first = np.unique(loaded.keys.codes, return_index=True)
        batch = taken(loaded.batch, first)
        count = len(codes)
        cache = RowCache(self._loader.schema, count, 4 * batch.nbytes + (1 << 20), Replacement.RANDOM, 0)
        ones, rates = np.ones(count, dtype=np.int64), np.full(count, 0.5)
        return _timed(lambda: cache.add(taken(batch, np.arange(count)), codes, ones, rates))[0], count

    def _append(
        self,
        arrivals: Arrivals,
        stream: Sources,
        pool: RowPool,
        pending: Pending,
        pages: Int64s,
    ) -> Int64s:
        batch = taken(arrivals.batch, np.arange(arrivals.rows))
        references = pool.append(batch, arrivals.rows)
        pending.admit(arrivals.keys.codes, pages, references)
        return references

    def _put_out(self, arrivals: Arrivals, references: Int64s) -> float:
        stream, master = Sources(self._encoder.schema), Sources(self._loader.schema)
        RowPool(stream, 1 << 30).append(arrivals.batch, arrivals.rows)
        loaded = self._loader.load_together(0, _pages(self._sample.store) - 1)
        number = np.int64(master.add(loaded.batch)) << 32
        wanted = number + np.random.default_rng(0).integers(0, loaded.rows, len(references))
        answers = Answers(self._output, stream, master, len(references) + 1, 1 << 30)

        def work() -> None:
            answers.matched(references, wanted)
            _drop(answers.flush())

        return _timed(work)[0]


def _seconds_of_a_load(sample: Sample, units: UnitCosts) -> float:
    """What is left of a join's time beyond its parts, per load."""
    pending = max(16, ROWS_PER_LOAD * _pages(sample.store) // 2)
    with SemiStreamJoin(
        sample.store, memory=JOIN_MEMORY, algorithm="hybridjoin", pending_rows=pending
    ) as join:
        _drop(join.push(sample.stream.slice(0, LOADING_ROWS)))
        before: Counters = join.stats.counters
        seconds, _ = _timed(lambda: _drop(join.push(sample.stream.slice(LOADING_ROWS, LOADING_ROWS))))
        counts = counted(before, join.stats.counters)
    account = Account()
    parts = account.front_phase(counts).seconds(units) + account.page_phase(counts).seconds(units)
    return (seconds - parts) / counts.loads


def _pages(store: Store) -> int:
    assert store.layout is not None
    return store.layout.pages


def _timed(work: Callable[[], Result]) -> tuple[float, Result]:
    began = time.perf_counter()
    result = work()
    return time.perf_counter() - began, result


def _drop(batches: Iterable[object]) -> None:
    for _ in batches:
        pass
