"""Partitioned Join loads slots that are full enough; a rare row may wait for ever unless told not to."""

from __future__ import annotations

from semistream import SemiStreamJoin
from semistream.workloads.keys import zipf_keys
from tests.algorithms.steady import PENDING, TRACES, counted, steady
from tests.algorithms.traces import consume, feed, master_of, stream_of

PINNED = {
    ("sorted", 0.0): 1753,
    ("sorted", 0.5): 1634,
    ("sorted", 1.0): 728,
    ("scattered", 0.0): 1768,
    ("scattered", 0.5): 1736,
    ("scattered", 1.0): 1374,
}


def test_loads_are_those_pinned() -> None:
    assert counted("partitioned_join") == PINNED


def test_a_slot_threshold_is_no_better_than_the_oldest_row_first() -> None:
    for trace in TRACES:
        assert steady("partitioned_join", trace).rows_per_load < steady("hybridjoin", trace).rows_per_load


def test_a_higher_threshold_uses_more_of_the_queue() -> None:
    trace = ("scattered", 0.0)
    by_default = steady("partitioned_join", trace)
    assert steady("partitioned_join", trace, slot_rows=9).loads < 0.6 * by_default.loads


def test_a_rare_row_starves_unless_its_age_is_bounded() -> None:
    trace = ("sorted", 1.0)
    bounded = steady("partitioned_join", trace, max_age=2 * PENDING)
    assert steady("partitioned_join", trace).age_max > 10 * PENDING
    # Ages are looked at when rows are admitted, a quarter of the queue at a time.
    assert bounded.age_max <= 2.25 * PENDING


def test_a_small_backlog_makes_it_inlj() -> None:
    with SemiStreamJoin(
        master_of(range(1000), 10), memory="1MiB", algorithm="partitioned_join", pending_rows=100,
        cache_partitions=1,
    ) as join:  # fmt: skip
        for start in range(0, 50, 5):
            consume(join.push(stream_of(zipf_keys(5, 1000, 0.0, start), start)))
            assert join.waiting_rows == 0
        feed(join, zipf_keys(400, 1000, 0.0), 400)
        assert join.waiting_rows > 20
