"""What all algorithms of the family share: the loop, and the four questions each one answers.

    stream batch -> front -- hit --> answers
                      | miss
                      v
                   pending -- full? --> next partition -> load -> answers; maybe promote

1. What does the front hold? (`needs`, `make_front`)
2. Which partition comes next? (`next_partition`)
3. How many loads are in flight? (`Needs.loads_in_flight`)
4. Which phases run side by side? (`algorithms.p_cachejoin` and on)

An algorithm's file states its answers and nothing else. `partition` is the papers' unit of loading:
`partition_pages` neighbouring pages of the store.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from semistream.budget import Budget
from semistream.columns import Columns
from semistream.errors import ArgumentError
from semistream.keys import Keys
from semistream.phases.arrivals import ArrivalEncoder, Arrivals, Misses
from semistream.phases.at_hand import AtHand
from semistream.phases.front_phase import FrontPhase
from semistream.phases.fronts import Front
from semistream.phases.loading import Loader
from semistream.phases.page_phase import Answered, PagePhase
from semistream.phases.plan import Facts, Needs, Plan
from semistream.stats import Ages, Counters
from semistream.stores.base import Found, PageDirectory

Batches = Iterator[pa.RecordBatch]


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What every algorithm can be told.

    partition_pages: neighbouring pages of the store that one load brings.
    pending_rows: rows that can wait at once; None: as many as the budget has room for.
    output_rows: the most rows of one output batch.
    probe_rows: the most arriving rows that probe the front at once; None: a quarter of pending_rows.
    at_hand: answer rows at once whose pages the store has in memory, instead of letting them wait for a
        load (MESHJOIN, R-MESHJOIN and INLJ don't: they are about something else).
    strict_paper: behave as printed where the paper's behaviour and ours differ.
    seed: of whatever the algorithm draws at random.
    """

    partition_pages: int = 1
    pending_rows: int | None = None
    output_rows: int = 65536
    probe_rows: int | None = None
    at_hand: bool = False
    strict_paper: bool = False
    seed: int = 0


def make_settings(kind: type[Settings], given: dict[str, Any], name: str) -> Settings:
    """Settings of one algorithm from keywords; an unknown one is an error that lists the known."""
    known = {item.name: item for item in dataclasses.fields(kind)}
    unknown = sorted(set(given) - set(known))
    if unknown:
        raise ArgumentError(
            f"{name} has no setting {', '.join(map(repr, unknown))}; it has {', '.join(sorted(known))}"
        )
    for key, value in given.items():
        default = known[key].default
        whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
        wants_whole = "int" in str(known[key].type)
        if wants_whole and value is not None and (not whole or value < (0 if key == "seed" else 1)):
            raise ArgumentError(f"{key}={value!r} is no whole number above 0: the default is {default!r}")
        if isinstance(default, float) and (isinstance(value, bool) or not isinstance(value, (int, float))):
            raise ArgumentError(f"{key}={value!r} is no number: the default is {default!r}")
    return kind(**given)


@dataclass(frozen=True, slots=True)
class Workshop:
    """What a join hands to its algorithm."""

    loader: Loader
    directory: PageDirectory | None
    encoder: ArrivalEncoder
    columns: Columns
    plan: Plan
    budget: Budget
    clock: Callable[[], float]


class Algorithm:
    """The shared loop. Subclasses answer the four questions."""

    settings_type: ClassVar[type[Settings]] = Settings
    uses_directory: ClassVar[bool] = True
    eager: ClassVar[bool] = False  # whether `push` may load although pending has room

    @classmethod
    def needs(cls, settings: Settings, facts: Facts) -> Needs:
        """What the budget has to hold for this algorithm."""
        return Needs(
            partition_pages=settings.partition_pages,
            pending_rows=settings.pending_rows,
            output_rows=settings.output_rows,
            probe_rows=settings.probe_rows,
            at_hand=settings.at_hand and cls.uses_directory,
        )

    def __init__(self, workshop: Workshop, settings: Settings) -> None:
        plan = workshop.plan
        self.plan = plan
        self.settings = settings
        self.directory = workshop.directory
        self._workshop = workshop
        self._encoder = workshop.encoder
        self.front = self.make_front()
        self.front_phase = FrontPhase(
            workshop.encoder.schema,
            self.front,
            workshop.directory if self.uses_directory else None,
            plan.partition_pages,
            workshop.columns.output,
            plan.output_rows,
            plan.output_bytes,
        )
        self.page_phase = PagePhase(
            workshop.loader,
            workshop.directory,
            workshop.encoder.schema,
            workshop.columns.output,
            plan,
            workshop.budget,
            workshop.clock,
        )
        self.page_phase.on_answered = self.after_load
        if plan.at_hand_bytes and workshop.directory is not None:
            self.front_phase.at_hand = AtHand(
                workshop.loader,
                workshop.directory,
                self.front_phase.stream,
                self.front_phase.answers,
                plan.at_hand_bytes,
                workshop.budget,
            )
            self.front_phase.at_hand.on_found = self.after_found
        self.pending = self.page_phase.pending
        self._account()

    # -- the questions --------------------------------------------------------------------------

    def make_front(self) -> Front:
        """What the front holds: nothing, unless a subclass says otherwise."""
        return Front(self._workshop.loader.schema)

    def next_partition(self) -> int:
        """Which partition to load when the queue is full: the oldest row's."""
        return self.pending.oldest_page()

    def after_load(self, answered: Answered) -> None:
        """A load has answered its rows; learn from it."""

    def after_found(self, keys: Keys, found: Found) -> None:
        """Rows that were at hand have answered these keys (ascending, perhaps repeated); learn from it."""

    # -- the loop -------------------------------------------------------------------------------

    def push(self, batch: pa.RecordBatch) -> Batches:
        """Admit a batch: answer what the front knows, load only while pending is full."""
        for arrivals in self._encoder.pieces(batch, self._probe_rows(), self.plan.arrival_bytes):
            yield from self.arrive(arrivals)
        yield from self.page_phase.flush()

    def arrive(self, arrivals: Arrivals) -> Batches:
        """One piece of a batch."""
        self._hold_arrivals(arrivals)
        misses = yield from self.front_phase.process(arrivals)
        del arrivals
        yield from self.take_in(misses)
        self._hold_arrivals(None)

    def take_in(self, misses: Misses) -> Batches:
        """Queue rows the front could not answer, loading pages for as long as there is no room."""
        phase = self.page_phase
        for piece in phase.pieces(misses):
            size = piece.batch.get_total_buffer_size()
            yield from phase.tidy(size)
            while not phase.pool.room_for(size) and not phase.idle:
                yield from self.make_room()
                yield from phase.tidy(size)
            phase.stage(piece)
            phase.admit()
            yield from self.after_admission()
            while phase.staged_rows:
                if not phase.pending.free:  # an early load may have made room
                    yield from self.make_room()
                phase.admit()
                yield from self.after_admission()

    def after_admission(self) -> Batches:
        """Rows were queued; an algorithm may load before the queue is full."""
        yield from ()

    def make_room(self) -> Batches:
        """The queue is full: one load."""
        yield from self.page_phase.load(self.next_partition())

    def step(self) -> Batches:
        """One load without input; nothing if no row waits."""
        if len(self.pending):
            yield from self.make_room()
            self.page_phase.admit()
        yield from self.page_phase.flush()

    def drain(self) -> Batches:
        """Answer every waiting row. All pages will be met whatever the order, so in disk order: their rows
        one by one where memory holds them, else neighbours loaded together."""
        while len(self.pending):
            partitions = self.pending.pages()
            finder = self.page_phase.finder(partitions)
            if finder is not None and not self.settings.strict_paper:
                yield from self.page_phase.answer_by_rows(finder, partitions)
                self.page_phase.admit()
                continue
            for start in range(0, len(partitions), self.plan.partitions_at_once):
                some = partitions[start : start + self.plan.partitions_at_once]
                yield from self.page_phase.load_many(some)
            self.page_phase.admit()
        yield from self.page_phase.flush()

    def close(self) -> None:
        """Let go of everything."""
        self.front.clear()
        self.page_phase.close()

    # -- what others may know -------------------------------------------------------------------

    @property
    def key_columns(self) -> tuple[int, int] | None:
        """Where the key bytes are, in stream rows and in master rows; None: codes are exact."""
        loader = self._workshop.loader
        return None if loader.exact else (len(self._encoder.schema) - 1, len(loader.schema) - 1)

    @property
    def waiting_rows(self) -> int:
        return len(self.pending) + self.page_phase.staged_rows

    def counters(self) -> Counters:
        """Both phases' counters, added up."""
        total = Counters()
        total.add(self.front_phase.counters)
        total.add(self.page_phase.counters)
        total.matched += self.front_phase.counters.cache_hits - self.front.unmatched
        total.unmatched += self.front.unmatched
        total.rows_out = self.front_phase.answers.rows_out + self.page_phase.answers.rows_out
        if self.front_phase.at_hand is not None:
            total.add(self.front_phase.at_hand.counters)
            total.rows_out += self.front_phase.at_hand.rows_out
        total.evictions = self.front.evictions
        return total

    def ages(self) -> Ages:
        return self.page_phase.ages

    def threads(self) -> dict[str, tuple[str, ...]]:
        """Names of the threads that each phase has run on."""
        seen = {
            "front": self.front_phase.threads,
            "pages": self.page_phase.threads,
            "loads": self._workshop.loader.threads,
        }
        return {phase: tuple(sorted(names)) for phase, names in seen.items()}

    def check(self) -> None:
        """The invariants of all parts, for tests."""
        self.pending.check()
        self.page_phase.pool.check()

    def _probe_rows(self) -> int:
        if self.settings.probe_rows is not None:
            return min(self.plan.arrival_rows, self.settings.probe_rows)
        return min(self.plan.arrival_rows, max(64, self.plan.pending_rows // 4))

    def _hold_arrivals(self, arrivals: Arrivals | None) -> None:
        size = 0 if arrivals is None else arrivals.keys.nbytes + 40 * arrivals.rows
        self._workshop.budget.hold("arrivals", size)
        self._account()

    def _account(self) -> None:
        budget = self._workshop.budget
        budget.hold("front", self.front.held_bytes)
        directory = self._workshop.directory
        budget.hold("directory", directory.held_bytes if directory is not None and self.uses_directory else 0)
