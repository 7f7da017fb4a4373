"""In MESHJOIN and R-MESHJOIN every row meets every partition exactly once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semistream import SemiStreamJoin
from semistream.phases.loading import Loaded
from semistream.phases.page_phase import Batches
from semistream.workloads.keys import zipf_keys
from tests.algorithms.steady import MEASURED, PAGES, PENDING, TRACES, counted
from tests.algorithms.traces import assert_answers, consume, feed, master_of, running, stream_of


@settings(max_examples=25, deadline=None)
@given(
    name=st.sampled_from(["meshjoin", "r_meshjoin"]),
    loads_per_chunk=st.integers(1, 12),
    pending=st.integers(1, 90),
    page_rows=st.integers(5, 60),
    partition_pages=st.integers(1, 3),
    calls=st.lists(st.sampled_from(["", "step", "step", "drain"]), min_size=4, max_size=12),
    seed=st.integers(0, 1000),
)
def test_every_row_meets_every_partition_exactly_once(
    name: str,
    loads_per_chunk: int,
    pending: int,
    page_rows: int,
    partition_pages: int,
    calls: list[str],
    seed: int,
) -> None:
    own: dict[str, Any] = {"loads_per_chunk": loads_per_chunk} if name == "r_meshjoin" else {}
    rows = 240
    join = SemiStreamJoin(
        master_of(range(0, 2 * rows, 2), page_rows), how="left", memory="4MiB", algorithm=name,
        pending_rows=pending, partition_pages=partition_pages, **own,
    )  # fmt: skip
    rng = np.random.default_rng(seed)
    sizes = rng.integers(0, 60, len(calls) + 1)
    keys = zipf_keys(int(sizes.sum()), 2 * rows, 0.5, rng)
    out: list[pa.RecordBatch] = []
    consume(join.push(stream_of(keys[:0])), out)
    algorithm: Any = running(join)
    partitions = algorithm.page_phase.partitions
    met = np.zeros((len(keys), partitions), dtype=np.int64)
    sweep = algorithm._sweep

    def watched(loaded: Loaded) -> Batches:
        waiting = algorithm.pending
        met[waiting._admitted_at[waiting.live_slots()], loaded.first // partition_pages] += 1
        yield from sweep(loaded)

    algorithm._sweep = watched
    at = 0
    for size, call in zip(sizes.tolist(), [*calls, "drain"], strict=True):
        consume(join.push(stream_of(keys[at : at + size], at)), out)
        at += size
        if call:
            consume(getattr(join, call)(), out)
        join.check()
    assert join.waiting_rows == 0
    assert np.array_equal(met, np.ones_like(met))
    assert_answers(out, keys, keys % 2 == 0, "left")
    join.close()


@pytest.mark.parametrize("name", ["meshjoin", "r_meshjoin"])
def test_loads_follow_the_formula_whatever_the_skew(name: str) -> None:
    """w = h / n: twice HYBRIDJOIN's loads even on uniform keys, and none fewer under skew.

    Two capacities of warm-up are enough: a scan repeats itself after one. That R-MESHJOIN isn't better
    is as it should be: where more rows than partitions can wait, its chunks are MESHJOIN's.
    """
    assert PENDING % PAGES == 0
    assert counted(name, warm_up=2) == dict.fromkeys(TRACES, MEASURED * PAGES)


def test_a_drain_reads_nothing_for_nobody() -> None:
    master = master_of(range(100), 10)
    with SemiStreamJoin(master, memory="1MiB", algorithm="meshjoin", pending_rows=50) as join:
        consume(join.push(stream_of(np.arange(5))))
        consume(join.drain())
        assert join.stats.loads == 10


@pytest.mark.parametrize(("pending", "loads_per_chunk"), [(75, None), (30, None), (500, 7), (500, 50)])
def test_r_meshjoin_keeps_chunks_filled_where_partitions_outnumber_rows(
    pending: int, loads_per_chunk: int | None
) -> None:
    """w = floor(h / k) k / n with k = ceil(n / l) chunks; l by default so that a chunk has four rows."""
    pages, rows = 50, 3000
    loads = loads_per_chunk or -(-4 * pages // pending)
    chunks = -(-pages // loads)
    expected = pending // chunks * chunks / pages
    own = {} if loads_per_chunk is None else {"loads_per_chunk": loads_per_chunk}

    def rows_per_load(name: str, **settings: Any) -> float:
        join = SemiStreamJoin(
            master_of(range(500), 10), memory="4MiB", algorithm=name, pending_rows=pending, **settings
        )
        feed(join, zipf_keys(rows, 500, 1.0), rows)
        answered = join.stats.rows_in - join.waiting_rows
        # The queue fills before the first chunk leaves it.
        first = pages if join.waiting_rows else 0
        found: float = answered / (join.stats.loads - first)
        join.close()
        return found

    assert rows_per_load("r_meshjoin", **own) == pytest.approx(expected, rel=0.03)
    if pending == 75:  # MESHJOIN's chunks are of one row each, and a third of its queue stays empty
        assert rows_per_load("meshjoin") == pytest.approx(1.0, rel=0.03)
        assert expected > 1.3
