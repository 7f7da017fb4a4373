"""A load answers every row that waits for its partition, in every algorithm that uses an index."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from semistream import SemiStreamJoin
from semistream.phases.loading import Loaded
from semistream.phases.page_phase import Batches, PagePhase
from semistream.stores.base import PageRun
from semistream.stores.wrapped import WrappedStore
from semistream.workloads.keys import zipf_keys
from tests.algorithms.traces import (
    INDEXED,
    PARALLEL,
    assert_answers,
    consume,
    feed,
    fixed_counts,
    master_of,
    small_cache,
)

ROWS = 3000


@pytest.mark.parametrize("partition_pages", [1, 3])
@pytest.mark.parametrize("name", INDEXED)
def test_nothing_that_waits_belongs_to_the_partition_that_was_loaded(
    name: str, partition_pages: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    left: list[int] = []
    answer = PagePhase.answer

    def watched(phase: PagePhase, loaded: Loaded, loads: int) -> Batches:
        yield from answer(phase, loaded, loads)
        partitions = np.arange(loaded.first // partition_pages, loaded.last // partition_pages + 1)
        left.append(int(phase.pending.counts(partitions).sum()))

    monkeypatch.setattr(PagePhase, "answer", watched)
    # Every third key is in the master: a row that isn't answered has to leave as well.
    keys = zipf_keys(1500, ROWS, 0.8, 3, scatter=4)
    master = master_of(np.arange(0, ROWS, 3), 20)
    schedules = [{}, fixed_counts(name)] if name in PARALLEL else [{}]
    for schedule in schedules:
        left.clear()
        join = SemiStreamJoin(
            master, how="left", memory="4MiB", algorithm=name, pending_rows=60, probe_rows=40,
            partition_pages=partition_pages, **schedule, **small_cache(name),
        )  # fmt: skip
        out: list[pa.RecordBatch] = []
        feed(join, keys, 400, into=out)
        for _ in range(5):
            consume(join.step(), out)
        consume(join.drain(), out)
        assert_answers(out, keys, keys % 3 == 0, "left")
        assert len(left) >= 20
        assert not any(left)
        join.close()


class _PageByPage(WrappedStore):
    """A store whose runs end after every page, as a file's may anywhere."""

    def read(self, pages: Sequence[int] | NDArray[np.int64], columns: Sequence[str]) -> Iterator[PageRun]:
        for page in pages:
            yield from self._store.read([int(page)], columns)


@pytest.mark.parametrize("name", INDEXED)
def test_a_partition_is_one_however_the_store_cuts_its_runs(name: str) -> None:
    master = _PageByPage(master_of(range(1000), 7))
    keys = zipf_keys(700, 1000, 0.0, 1)
    out: list[pa.RecordBatch] = []
    with SemiStreamJoin(
        master, memory="4MiB", algorithm=name, pending_rows=300, partition_pages=4, **fixed_counts(name)
    ) as join:
        feed(join, keys, 350, into=out)
        consume(join.drain(), out)
        join.check()
    assert_answers(out, keys, np.ones(700, dtype=np.bool_), "inner")
