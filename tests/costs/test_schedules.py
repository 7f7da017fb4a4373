"""The parts of a played schedule, and its edges."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from semistream.costs import model, names
from semistream.costs.base import FIXED_UNITS, HARD_DISK_2011, Situation, zipf_key_shares
from semistream.costs.renewal import bound, rows_per_load
from semistream.costs.schedules import loop, page_fronts, row_fronts, waiting
from semistream.costs.schedules.draws import draw, draws
from semistream.costs.schedules.playing import Schedule, played
from semistream.structures.jit import kernel

SITUATION = Situation(
    key_shares=zipf_key_shares(5000, 1.0), partition_rows=50, pending_rows=300, cached_partitions=4
)


@kernel
def _many(keep: np.ndarray, other: np.ndarray, counts: np.ndarray, rows: int) -> None:
    np.random.seed(5)
    for _ in range(rows):
        place = np.random.random() * len(keep)
        at = int(place)
        counts[at if place - at < keep[at] else other[at]] += 1


@pytest.mark.parametrize("exponent", [0.0, 0.7, 1.5])
def test_keys_follow_their_law(exponent: float) -> None:
    """Chi-square, with 199 degrees of freedom: above 283 once in ten thousand times."""
    shares = zipf_key_shares(200, exponent)
    table = draws(shares)
    exact = table.keep.copy()
    for i, other in enumerate(table.other):
        exact[other] += 1 - table.keep[i] if other != i else 0.0
    assert exact / 200 == pytest.approx(shares)
    counts = np.zeros(200, dtype=np.int64)
    rows = 400_000
    _many(table.keep, table.other, counts, rows)
    assert float(((counts - rows * shares) ** 2 / (rows * shares)).sum()) < 283
    assert 0 <= draw(table) < 200


def test_the_queue_of_rows() -> None:
    queue = waiting.waiting(6, 3)
    for key, partition in ((10, 0), (20, 1), (11, 0), (30, 2), (21, 1), (12, 0)):
        waiting.admit(queue, key, partition)
    assert waiting.oldest_partition(queue) == 0
    assert [waiting.partition_at_rank(queue, rank) for rank in range(6)] == [0, 1, 2, 0, 1, 0]
    assert waiting.partition_not_in(queue, 0, 1, True) == 2
    keys = np.empty(6, dtype=np.int32)
    assert waiting.take(queue, 0, keys) == 6  # the age of its oldest
    assert keys[:3].tolist() == [12, 11, 10]
    assert waiting.oldest_partition(queue) == 1
    assert waiting.oldest_age(queue) == 5
    assert [waiting.partition_at_rank(queue, rank) for rank in (2, 0, 1, 9)] == [1, 1, 2, 1]
    assert queue.rows.tolist() == [0, 2, 1]
    assert queue.state[waiting.ACTIVE] == 2
    assert waiting.take(queue, 0, keys) == 0
    assert queue.state[waiting.COUNT] == 3
    for key in (13, 14, 15):
        waiting.admit(queue, key, 0)
    assert waiting.partition_not_in(queue, 0, 0, False) == 1
    assert waiting.partition_not_in(queue, 1, 2, True) == 0


def test_pages_by_use() -> None:
    recent = page_fronts.page_front(5, 2, page_fronts.RECENT)
    for partition in (0, 1):
        page_fronts.offer(recent, partition, 9)
    assert page_fronts.hit(recent, 0)
    page_fronts.probed(recent)
    page_fronts.offer(recent, 2, 1)  # in place of 1, which was used less recently
    assert [page_fronts.hit(recent, partition) for partition in range(3)] == [True, False, True]
    useful = page_fronts.page_front(5, 1, page_fronts.USEFUL)
    page_fronts.offer(useful, 3, 4)
    page_fronts.offer(useful, 4, 4)
    assert page_fronts.hit(useful, 3)
    page_fronts.halve(useful)
    page_fronts.offer(useful, 4, 4)
    assert page_fronts.hit(useful, 4)


def test_uniform_keys_meet_the_renewal_model_and_skewed_ones_the_bound() -> None:
    uniform = replace(SITUATION, key_shares=zipf_key_shares(5000, 0.0))
    found = 1 / played(uniform, Schedule()).loads
    assert found == pytest.approx(rows_per_load(uniform.partition_shares, 300), rel=0.03)
    best = bound(SITUATION.partition_shares, 300)
    for schedule in (Schedule(), Schedule(by_due=True), Schedule(order=loop.POSITION)):
        assert 1 / played(SITUATION, schedule).loads < 1.1 * best


def test_the_same_seed_gives_the_same_counts() -> None:
    schedule = Schedule(front=loop.ROWS)
    cached = replace(SITUATION, cache_rows=200)
    assert played(cached, schedule) == played(cached, schedule)
    assert played(cached, schedule) != played(replace(cached, seed=1), schedule)


def test_a_least_frequent_victim_is_worth_less_than_a_random_one() -> None:
    cached = replace(SITUATION, cache_rows=200, strict_paper=True)
    random, sampled = (
        played(cached, Schedule(front=loop.ROWS, replacement=replacement))
        for replacement in (row_fronts.RANDOM, row_fronts.LEAST)
    )
    assert sampled.hits > 1.05 * random.hits


@pytest.mark.parametrize("name", names())
@pytest.mark.parametrize(
    "edge",
    [
        {"cache_rows": 0, "cached_partitions": 0},
        {"cache_rows": 5000, "cached_partitions": 99},
        {"pending_rows": 1},
        {"partition_rows": 5000},
        {"partition_rows": 3000, "cache_rows": 10},
    ],
    ids=["nothing cached", "all but one cached", "one row", "one partition", "a short partition"],
)
def test_edges(name: str, edge: dict[str, int]) -> None:
    small = replace(SITUATION, **{"warm_up_rows": 2000, "measured_rows": 5000, **edge})  # type: ignore[arg-type]
    printed = model(name).paper(small, FIXED_UNITS, HARD_DISK_2011)
    found = model(name).corrected(small, FIXED_UNITS, HARD_DISK_2011)
    for one in (printed, found):
        assert 0 <= one.hit_ratio <= 1
        assert one.seconds > 0
        assert one.loads_per_row >= 0
        assert one.memory_bytes > 0
    assert found.seconds < 1
