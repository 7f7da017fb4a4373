"""Trips that stay warm in a worker process, and the one budget that they share.

A trip is the fused lookups of one `mapInArrow`. Spark hands any task to any worker, so a process meets the
trips of several queries in turn, and keeps each of them for its next task. The process's budget is the
largest `memory=` among the trips that live in it, divided in proportion to what each asked for. Who lives:

- a streaming query's trip, until it has gone unused for as long as Spark lets an idle worker live;
- but not when the same query comes with another run: it was restarted, and the old run is over;
- a batch query's trip, until it has gone unused for a moment, or its DataFrame runs again.

A newcomer makes the others' shares smaller: a join that holds more than its share now has ends, and is made
anew, smaller, by its next task. A share grows again only after no newcomer has come for a while, so that
a query which comes and goes doesn't make its neighbours cold each time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import pyarrow as pa

from semistream.errors import BudgetError

STREAM_IDLE_SECONDS = 60.0  # as long as Spark lets an idle worker live
BATCH_IDLE_SECONDS = 2.0  # between two tasks of one query lie milliseconds
SETTLED_SECONDS = 300.0
WORTH_GROWING = 1.5


class Closable(Protocol):
    """What a trip is made of: a `SemiStreamJoin`, as far as this file is concerned."""

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Owner:
    """Whom a task works for: a run of a streaming query, or one execution of a batch query."""

    query: str  # the streaming query's id; empty for a batch query
    run: str

    @property
    def streaming(self) -> bool:
        return bool(self.query)


@dataclass(eq=False)
class Trip:
    """One owner's lookups in this process. Between their tasks they may be closed, and still count."""

    owner: Owner
    identity: str
    memory: int  # as asked for
    used: float  # when its last task ended, or began
    share: int = 0  # what `joins` were made with, together
    joins: list[Closable] = field(default_factory=list)

    def end(self) -> None:
        """Close the joins."""
        joins, self.joins, self.share = self.joins, [], 0
        for join in joins:
            join.close()
        if joins:
            pa.default_memory_pool().release_unused()


Maker = Callable[[int], Closable]  # a join of so many bytes


class WarmTrips:
    """The trips of one process. A worker does one task at a time, and so does this."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._trips: list[Trip] = []
        self._busy: Trip | None = None
        self._newcomer_at = float("-inf")

    @property
    def limit(self) -> int:
        """The process's budget now."""
        return max((trip.memory for trip in self._trips), default=0)

    @property
    def given(self) -> int:
        """What all joins in the process were made with, together."""
        return sum(trip.share for trip in self._trips)

    def take(self, owner: Owner, identity: str, memory: int, makers: Sequence[Maker]) -> Trip:
        """The trip of this task, its joins warm or new, within the process's budget."""
        now = self._clock()
        if self._busy is not None:  # its task was given up without a word: one worker, one task
            self._forget(self._busy)
        self._end_the_dead(owner, identity, now)
        trip = next((t for t in self._trips if (t.owner, t.identity) == (owner, identity)), None)
        if trip is None:
            trip = Trip(owner, identity, memory, now)
            if self._trips:
                self._newcomer_at = now
            self._trips.append(trip)
        trip.used = now
        self._busy = trip
        try:
            self._fit(trip, makers, now)
        except BaseException:
            self._forget(trip)
            raise
        return trip

    def give_back(self, trip: Trip) -> None:
        """The task ended well: the trip stays for the next one."""
        if self._busy is trip:
            self._busy = None
            trip.used = self._clock()
        else:  # it was taken for abandoned
            trip.end()

    def discard(self, trip: Trip) -> None:
        """The task failed or was given up: rows of it may still be in the joins."""
        self._forget(trip)

    def grow(self, trip: Trip, position: int, make: Maker) -> Closable | None:
        """One join of a trip anew, with all it would have in a process of its own; the others here end.

        For a join whose share has no room for a row or a page. None: it has all there is already.
        """
        full = trip.memory // len(trip.joins)
        if trip.share >= trip.memory - len(trip.joins):
            return None
        for other in [t for t in self._trips if t is not trip]:
            self._forget(other)
        trip.joins[position].close()
        trip.joins[position] = make(full)
        trip.share = trip.memory  # at most
        return trip.joins[position]

    def close(self) -> None:
        """End everything."""
        for trip in list(self._trips):
            self._forget(trip)

    def check(self) -> None:
        """The invariant: all joins together never have more than the largest trip asked for."""
        assert self.given <= self.limit, (self.given, self.limit)
        assert all(bool(trip.joins) == bool(trip.share) for trip in self._trips)
        names = [(trip.owner, trip.identity) for trip in self._trips]
        assert len(set(names)) == len(names)

    def _end_the_dead(self, owner: Owner, identity: str, now: float) -> None:
        for trip in list(self._trips):
            idle = now - trip.used
            if trip.owner == owner:
                dead = idle > STREAM_IDLE_SECONDS and trip.identity != identity
            elif trip.owner.streaming:
                dead = idle > STREAM_IDLE_SECONDS or trip.owner.query == owner.query
            else:
                dead = idle > BATCH_IDLE_SECONDS or (not owner.streaming and trip.identity == identity)
            if dead:
                self._forget(trip)

    def _fit(self, trip: Trip, makers: Sequence[Maker], now: float) -> None:
        while True:
            limit, asked = self.limit, sum(t.memory for t in self._trips)
            share = trip.memory * limit // asked
            for other in self._trips:
                if other is not trip and other.share > other.memory * limit // asked:
                    other.end()
            settled = now - self._newcomer_at > SETTLED_SECONDS
            if trip.joins and trip.share <= share and not (settled and trip.share * WORTH_GROWING < share):
                return
            trip.end()
            try:
                for make in makers:
                    trip.joins.append(make(share // len(makers)))
                    trip.share = share
                return
            except BudgetError:
                trip.end()
                others = [t for t in self._trips if t is not trip]
                if not others:
                    raise
                # Cold neighbours are better than a query that can't run beside them.
                self._forget(min(others, key=lambda t: t.used))

    def _forget(self, trip: Trip) -> None:
        if trip in self._trips:
            self._trips.remove(trip)
        if self._busy is trip:
            self._busy = None
        trip.end()
