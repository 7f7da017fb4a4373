"""P- and OP-CACHEJOIN on threads lose nothing, double nothing, and let go of everything."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from semistream import SemiStreamJoin
from semistream.columns import HOWS
from semistream.errors import StoreError
from semistream.stores.base import PageRun, Store
from semistream.stores.wrapped import WrappedStore
from semistream.workloads.keys import zipf_keys
from tests.algorithms.traces import PARALLEL, assert_answers, consume, master_of, stream_of

RUNS = 500
AT_ONCE = 8  # runs beside each other: their sleeps overlap, and their threads disturb one another
ROWS, ARRIVALS = 400, 120
MASTER = master_of(range(0, ROWS, 2), 10)
SHORT = 0.002  # seconds, the longest sleep
PATIENCE = 20.0  # seconds after which a call that should return has hung


class DelayedStore(WrappedStore):
    """Takes a random time for each read, and fails at one of them if told to."""

    def __init__(self, store: Store, seed: int, fails_at: int | None = None, delay: float = SHORT) -> None:
        super().__init__(store)
        self._random = Random(seed)
        self._lock = threading.Lock()
        self._fails_at = fails_at
        self._delay = delay
        self.reads = 0

    def read(self, pages: Sequence[int] | NDArray[np.int64], columns: Sequence[str]) -> Iterator[PageRun]:
        with self._lock:
            self.reads += 1
            failing = self._fails_at is not None and self.reads >= self._fails_at
            delay = self._random.random() * self._delay
        time.sleep(delay)
        if failing:
            raise StoreError(f"the device is gone at read {self.reads}: look for it")
        yield from self._store.read(pages, columns)


class Run:
    """One join with delays on both sides. Everything about it follows from its seed."""

    def __init__(self, seed: int, fails_at: int | None = None) -> None:
        self.random = Random(seed)
        self.how = HOWS[seed // 2 % 4]
        self.store = DelayedStore(MASTER, seed, fails_at)
        self.keys = zipf_keys(ARRIVALS, ROWS, self.random.choice([0.0, 0.5, 1.0]), seed, scatter=seed)
        self.null = np.random.default_rng(seed).random(ARRIVALS) < 0.05
        self.out: list[pa.RecordBatch] = []
        self.join = SemiStreamJoin(
            self.store,
            how=self.how,
            memory=self.random.choice(["128KiB", "1MiB"]),
            algorithm=PARALLEL[seed % 2],
            pending_rows=self.random.choice([16, 50]),
            cache_rows=self.random.choice([3, 40]),
            probe_rows=self.random.choice([5, 30, ARRIVALS]),
            output_rows=self.random.choice([1, 10, 65536]),
        )

    def calls(self) -> Iterator[Iterable[pa.RecordBatch]]:
        at = 0
        while at < len(self.keys):
            size = self.random.choice([1, 20, 100])
            end = min(at + size, len(self.keys))
            yield self.join.push(stream_of(self.keys[at:end], at, self.null[at:end]))
            at = end
            if self.random.random() < 0.2:
                yield self.join.step()
            if self.random.random() < 0.1:
                yield self.join.drain()
                assert self.join.waiting_rows == 0
        yield self.join.drain()

    def batches(self) -> Iterator[pa.RecordBatch]:
        """What the calls give, read by somebody who pauses now and then."""
        for call in self.calls():
            for batch in call:
                if self.random.random() < 0.2:
                    time.sleep(self.random.random() * SHORT)
                yield batch

    def whole(self) -> None:
        self.out.extend(self.batches())
        self.join.check()
        assert self.join.waiting_rows == 0
        assert_answers(self.out, self.keys, ~self.null & (self.keys % 2 == 0), self.how)
        stats = self.join.stats
        assert stats.matched + stats.unmatched + stats.null_keys == stats.rows_in == len(self.keys)
        assert stats.rows_out == sum(batch.num_rows for batch in self.out)
        assert stats.peak_bytes <= stats.memory_limit
        assert {*stats.threads["pages"]} == {"semistream-pages"}
        self.join.close()

    def abandoned(self) -> None:
        """Closed after some batches, in the middle of a call or between two."""
        wanted = self.random.randrange(0, 40)
        batches = self.batches()
        for _, _batch in zip(range(wanted), batches, strict=False):
            pass
        self.join.close()
        reads = self.store.reads
        time.sleep(2 * SHORT)
        assert self.store.reads == reads, "somebody goes on reading after the close"


@pytest.fixture(autouse=True)
def _no_thread_is_left() -> Iterator[None]:
    yield
    assert [thread.name for thread in threading.enumerate() if thread.name.startswith("semistream-")] == []


def in_parallel(seeds: range, kind: str) -> None:
    """Run them all; an error says which seed it was."""

    def one(seed: int) -> None:
        try:
            getattr(Run(seed), kind)()
        except BaseException as error:
            error.add_note(f"Run({seed}).{kind}()")
            raise

    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="test") as pool:
        runs = [pool.submit(one, seed) for seed in seeds]
        deadline = time.monotonic() + 10 * PATIENCE
        for run in runs:
            run.result(timeout=deadline - time.monotonic())


def test_nothing_is_lost_and_nothing_doubled_under_random_delays() -> None:
    in_parallel(range(RUNS), "whole")


def test_abandoned_joins_close_and_stop_reading() -> None:
    in_parallel(range(10_000, 10_080), "abandoned")


@pytest.mark.parametrize("name", PARALLEL)
def test_close_waits_for_no_more_than_the_load_under_way(name: str) -> None:
    """The page thread has hundreds of loads of 10 ms before it has answered what it was given."""
    rows = 20_000
    store = DelayedStore(master_of(range(rows), 10), 1, delay=0.02)
    join = SemiStreamJoin(store, memory="64MiB", algorithm=name, pending_rows=500, probe_rows=1500)
    consume(join.push(stream_of(zipf_keys(1500, rows, 0.0))))
    while not store.reads:
        time.sleep(0.001)
    reads = store.reads
    closing = threading.Thread(target=join.close)
    closing.start()
    closing.join(PATIENCE)
    assert not closing.is_alive()
    assert store.reads - reads <= 4, "each loader may have begun one more, and been taken at it"


@pytest.mark.parametrize("fails_at", [1, 2, 5, 9])
@pytest.mark.parametrize("name", PARALLEL)
def test_an_error_of_the_store_surfaces_in_the_caller(name: str, fails_at: int) -> None:
    for seed in range(PARALLEL.index(name), 16, 2):
        run = Run(seed, fails_at)
        with pytest.raises(StoreError, match="the device is gone"):
            consume(run.batches())
        # It isn't forgotten: rows were lost with it, and no later call may look like success.
        with pytest.raises(StoreError, match="the device is gone"):
            consume(run.join.drain())
        run.join.close()


def test_an_error_in_promotion_surfaces_too(monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run(0)
    monkeypatch.setattr("semistream.phases.fronts.RowFront.add", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        consume(run.batches())
    run.join.close()
