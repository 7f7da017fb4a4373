"""HYBRIDJOIN-PQ loads popular partitions when they are due, by a threshold that finds itself."""

from __future__ import annotations

from typing import Any

import pytest

from semistream import SemiStreamJoin
from semistream.algorithms.hybridjoin_pq import BEGINS_AT, RANGE, HybridJoinPq
from semistream.workloads.keys import zipf_keys
from tests.algorithms.steady import PAGE_ROWS, PAGES, PENDING, ROWS, TRACES, Trace, counted, steady
from tests.algorithms.traces import feed, fixed_counts, master_of, running

TYPICAL = 2 * PENDING / PAGES  # rows that a HYBRIDJOIN load answers

PINNED = {
    ("sorted", 0.0): 742,
    ("sorted", 0.5): 740,
    ("sorted", 1.0): 384,
    ("scattered", 0.0): 742,
    ("scattered", 0.5): 750,
    ("scattered", 1.0): 687,
}


def test_loads_are_those_pinned() -> None:
    assert counted("hybridjoin_pq") == PINNED


def test_it_is_hybridjoin_where_no_partition_is_frequent() -> None:
    """S4-4: at low skew PQ is plain FIFO, which is what makes it better than -L there."""
    for trace in TRACES:
        ratio = steady("hybridjoin_pq", trace).rows_per_load / steady("hybridjoin", trace).rows_per_load
        if trace[1] < 1:
            assert ratio == pytest.approx(1, abs=0.02)
        else:
            assert ratio > (1.5 if trace[0] == "sorted" else 1.03)


def begun(name: str, **settings: Any) -> tuple[SemiStreamJoin, HybridJoinPq]:
    join = SemiStreamJoin(
        master_of(range(ROWS), PAGE_ROWS), memory="16MiB", algorithm=name, pending_rows=PENDING,
        **fixed_counts(name), **settings,
    )  # fmt: skip
    feed(join, zipf_keys(1, ROWS, 1.0), 1)
    algorithm = running(join)
    assert isinstance(algorithm, HybridJoinPq)
    return join, algorithm


@pytest.mark.parametrize("name", ["hybridjoin_pq", "cachejoin_pq"])
def test_the_threshold_finds_itself_and_stays_in_range(name: str) -> None:
    join, algorithm = begun(name)
    assert algorithm.threshold == BEGINS_AT * TYPICAL
    seen = set()
    for part in range(60):
        feed(join, zipf_keys(PENDING, ROWS, 1.0, part), PENDING)
        seen.add(algorithm.threshold)
        algorithm.queue.check()
    low, high = RANGE
    assert low * TYPICAL <= min(seen) < BEGINS_AT * TYPICAL < max(seen) <= high * TYPICAL
    join.close()


def test_strict_paper_keeps_its_threshold_and_its_first_frequencies() -> None:
    join, algorithm = begun("hybridjoin_pq", strict_paper=True)
    loaded_when_due = []
    again = algorithm._again

    def watched(page: int, frequency: float, rows: int) -> None:
        again(page, frequency, rows)
        kept = algorithm.queue._frequency.get(page)
        loaded_when_due.append((kept, frequency))

    algorithm._again = watched  # type: ignore[method-assign]
    for part in range(40):
        feed(join, zipf_keys(PENDING, ROWS, 1.0, part), PENDING)
        assert algorithm.threshold == BEGINS_AT * TYPICAL
    left = [kept for kept, _ in loaded_when_due if kept is None]
    assert len(loaded_when_due) > 50 > len(left) > 0
    assert all(kept in (None, frequency) for kept, frequency in loaded_when_due)
    join.close()


def test_ours_lets_frequencies_glide() -> None:
    join, algorithm = begun("hybridjoin_pq", page_threshold=20.0)
    frequencies = set()
    for part in range(20):
        feed(join, zipf_keys(PENDING, ROWS, 1.0, part), PENDING)
        frequencies.add(algorithm.queue._frequency.get(0))
    assert len(frequencies) > 10
    assert algorithm.threshold == 20.0, "a threshold that is given is not tuned"
    join.close()


@pytest.mark.parametrize("trace", [("sorted", 1.0), ("scattered", 1.0)])
def test_a_due_partition_nobody_waits_for_is_loaded_by_the_paper_only(trace: Trace) -> None:
    """With a low threshold pages are due again before a row has come."""
    ours = steady("hybridjoin_pq", trace, page_threshold=2.0)
    paper = steady("hybridjoin_pq", trace, page_threshold=2.0, strict_paper=True)
    assert ours.wasted_loads == 0
    assert paper.wasted_loads > 0
    assert paper.rows_per_load < ours.rows_per_load


def test_the_gliding_frequency_is_nearer_the_square_root_rule() -> None:
    trace = ("sorted", 1.0)
    assert steady("hybridjoin_pq", trace).loads < steady("hybridjoin_pq", trace, strict_paper=True).loads
