"""Who stays warm in a worker process, and with how much of its budget. No Spark here."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest

from semistream.errors import BudgetError
from semistream.spark.warm import (
    BATCH_IDLE_SECONDS,
    SETTLED_SECONDS,
    STREAM_IDLE_SECONDS,
    Closable,
    Owner,
    Trip,
    WarmTrips,
)

MIB = 2**20
SALES, VISITS = Owner("sales", "run 1"), Owner("visits", "run 1")


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class FakeJoin:
    """Holds what it was given until it is closed."""

    def __init__(self, process: Process, memory: int) -> None:
        self.memory = memory
        self.closed = False
        self._process = process
        process.held += memory

    def close(self) -> None:
        assert not self.closed, "a join is closed once"
        self.closed = True
        self._process.held -= self.memory


class Process:
    """A worker process: its trips, the time, and what all its joins hold."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.trips = WarmTrips(self.clock)
        self.held = 0
        self.made = 0

    def maker(self, least: int = 0) -> Callable[[int], Closable]:
        def make(memory: int) -> Closable:
            if memory < least:
                raise BudgetError(f"at least {least} bytes are needed")
            self.made += 1
            return FakeJoin(self, memory)

        return make

    def take(
        self, owner: Owner, identity: str = "products", memory: int = 64 * MIB, joins: int = 1, least: int = 0
    ) -> Trip:
        trip = self.trips.take(owner, identity, memory, [self.maker(least)] * joins)
        self.trips.check()
        assert self.held <= self.trips.given
        return trip

    def task(
        self, owner: Owner, identity: str = "products", memory: int = 64 * MIB, joins: int = 1, least: int = 0
    ) -> list[Closable]:
        """A task that ends well; the joins it worked with."""
        trip = self.take(owner, identity, memory, joins, least)
        used = list(trip.joins)
        self.clock.now += 0.1
        self.trips.give_back(trip)
        self.trips.check()
        return used


@pytest.fixture
def process() -> Process:
    return Process()


def memories(joins: list[Closable]) -> list[int]:
    return [join.memory for join in joins if isinstance(join, FakeJoin)]


def test_a_query_has_the_whole_budget_and_stays_warm(process: Process) -> None:
    first = process.task(SALES, joins=3)
    assert memories(first) == [64 * MIB // 3] * 3
    assert process.task(SALES, joins=3) == first


def test_two_live_queries_share_the_budget_and_both_stay_warm(process: Process) -> None:
    process.task(SALES)
    visits = process.task(VISITS, memory=32 * MIB)
    assert memories(visits) == [32 * 64 * MIB // 96]
    sales = process.task(SALES)  # made anew, once, with less
    assert memories(sales) == [64 * 64 * MIB // 96]
    for _ in range(5):
        assert process.task(VISITS, memory=32 * MIB) == visits
        assert process.task(SALES) == sales
    assert process.made == 3


def test_the_budget_is_what_the_largest_asked_for(process: Process) -> None:
    for number in range(6):
        process.task(Owner(f"query {number}", "run"), memory=(10 + number) * MIB)
        assert process.trips.limit == (10 + number) * MIB
        assert process.held <= process.trips.limit


def test_a_restarted_query_ends_its_old_run(process: Process) -> None:
    (old,) = process.task(SALES)
    (new,) = process.task(Owner("sales", "run 2"))
    assert isinstance(old, FakeJoin)
    assert old.closed
    assert memories([new]) == [64 * MIB]


def test_a_dead_query_ends_when_it_has_been_idle_too_long(process: Process) -> None:
    (dead,) = process.task(SALES)
    process.task(VISITS)
    process.clock.now += STREAM_IDLE_SECONDS / 2
    process.task(VISITS)
    assert process.trips.given == 32 * MIB  # the dead one counts still, though its joins have ended
    process.clock.now += STREAM_IDLE_SECONDS * 0.7
    visits = process.task(VISITS)
    assert isinstance(dead, FakeJoin)
    assert dead.closed
    # One that comes back now and then must not make its neighbour cold each time.
    assert process.task(VISITS) == visits
    process.clock.now += SETTLED_SECONDS
    assert memories(process.task(VISITS)) == [64 * MIB]


def test_a_query_alone_in_its_worker_stays_warm_through_any_pause(process: Process) -> None:
    first = process.task(SALES)
    process.clock.now += 10 * SETTLED_SECONDS
    assert process.task(SALES) == first


def test_a_batch_query_keeps_its_joins_from_task_to_task_only(process: Process) -> None:
    (first,) = process.task(Owner("", "execution 1"))
    assert process.task(Owner("", "execution 1")) == [first]
    (second,) = process.task(Owner("", "execution 2"))  # the same DataFrame, asked again
    assert isinstance(first, FakeJoin)
    assert first.closed
    process.clock.now += BATCH_IDLE_SECONDS + 1
    (third,) = process.task(Owner("", "execution 3"), identity="another")
    assert isinstance(second, FakeJoin)
    assert second.closed
    assert memories([third]) == [64 * MIB]


def test_a_batch_query_ends_beside_a_streaming_one(process: Process) -> None:
    process.task(Owner("", "execution 1"))
    process.clock.now += BATCH_IDLE_SECONDS + 1
    assert memories(process.task(SALES)) == [64 * MIB]


def test_lookups_of_one_query_that_are_not_fused_share(process: Process) -> None:
    for _ in range(3):
        for identity in ("products", "customers", "stores"):
            process.task(SALES, identity)
    assert [len(process.task(SALES, name)) for name in ("products", "customers", "stores")] == [1, 1, 1]
    assert process.made == 3 + 2  # the third comer made both others smaller
    assert process.held == 3 * (64 * MIB // 3)


def test_a_failed_task_closes_its_joins(process: Process) -> None:
    trip = process.take(SALES)
    process.trips.discard(trip)
    assert process.held == 0
    assert process.trips.limit == 0


def test_an_abandoned_task_closes_its_joins(process: Process) -> None:
    abandoned = process.take(SALES)
    (join,) = abandoned.joins
    other = process.take(VISITS)
    assert isinstance(join, FakeJoin)
    assert join.closed
    process.trips.give_back(abandoned)  # too late
    process.trips.give_back(other)
    assert process.task(VISITS) == other.joins


def test_who_needs_the_whole_budget_gets_it(process: Process) -> None:
    process.task(SALES)
    visits = process.task(VISITS, least=40 * MIB)  # half of it is too little
    assert memories(visits) == [64 * MIB]
    assert process.held == 64 * MIB
    with pytest.raises(BudgetError):
        process.task(SALES, least=100 * MIB)
    process.trips.check()


def test_a_join_that_has_no_room_grows_at_the_cost_of_others(process: Process) -> None:
    process.task(VISITS)
    trip = process.take(SALES, joins=2)
    before = list(trip.joins)
    assert memories(before) == [16 * MIB, 16 * MIB]
    grown = process.trips.grow(trip, 1, process.maker())
    process.trips.check()
    assert trip.joins == [before[0], grown]
    assert memories(trip.joins) == [16 * MIB, 32 * MIB]
    assert process.held == 48 * MIB
    assert process.trips.grow(trip, 0, process.maker()) is None  # nobody is left to take from


def test_joins_that_fail_to_open_leave_nothing_behind(process: Process) -> None:
    def broken(memory: int) -> Closable:
        raise OSError("no such master")

    with pytest.raises(OSError, match="no such master"):
        process.trips.take(SALES, "products", MIB, [process.maker(), broken])
    assert process.held == 0
    process.trips.check()


def test_the_budget_holds_whatever_comes() -> None:
    """Random tasks of random queries: at no time do all joins hold more than the largest asked for."""
    rng = Random(7)
    process = Process()
    for _ in range(3000):
        query = rng.randrange(4)
        owner = Owner("" if query == 0 else f"q{query}", f"run {rng.randrange(3) if query == 0 else 0}")
        if rng.random() < 0.02:
            owner = Owner(owner.query, "restarted")
        identity = f"lookup {rng.randrange(3)}"
        memory = (8 << rng.randrange(4)) * MIB
        memory = {"lookup 0": 64 * MIB, "lookup 1": 8 * MIB}.get(identity, memory)
        try:
            trip = process.take(
                owner, f"{identity} of {memory}", memory, rng.randrange(1, 4), rng.choice([0, 0, 0, 9 * MIB])
            )
        except BudgetError:
            assert process.held <= process.trips.limit
            continue
        assert process.held <= process.trips.limit
        process.clock.now += rng.choice([0.01, 1.0, 5.0, 100.0])
        end = rng.random()
        if end < 0.1:
            process.trips.discard(trip)
        elif end < 0.95:  # else it is abandoned
            process.trips.give_back(trip)
        process.trips.check()
    process.trips.close()
    assert process.held == 0
