"""Play a schedule in a situation: so many rows as warm-up, and what the next ones cost."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from semistream.costs.accounting import Counts, expected
from semistream.costs.base import Situation
from semistream.costs.schedules import loop, page_fronts, row_fronts
from semistream.costs.schedules.draws import Draws, draws
from semistream.costs.schedules.due import due_queue
from semistream.costs.schedules.loop import Parts, Rules, play
from semistream.costs.schedules.waiting import waiting
from semistream.structures.jit import kernel

ROWS = 1_500_000  # played in all, in as many repeats as that makes
MOST_REPEATS = 12


@dataclass(frozen=True, slots=True)
class Schedule:
    """What makes an algorithm's schedule; the constants are those of `loop` and of both fronts.

    replacement: whom a row cache gives up. held: what a page cache keeps.
    """

    order: int = loop.OLDEST
    front: int = loop.NO_FRONT
    by_due: bool = False
    replacement: int = row_fronts.RANDOM
    held: int = page_fronts.PINNED
    slots_for_hits: bool = False


def played(situation: Situation, schedule: Schedule) -> Counts:
    """The counts of one row, as a mean of repeats: short runs differ by several per cent."""
    if schedule.front == loop.ROWS and not situation.cache_rows:
        schedule = replace(schedule, front=loop.NO_FRONT)
    rows = situation.warm_up + situation.measured
    repeats = min(MOST_REPEATS, max(1, -(-ROWS // rows)))
    totals = np.zeros(3)
    for repeat in range(repeats):
        totals += _once(situation, schedule, _table(situation), situation.seed * MOST_REPEATS + repeat)
    hits, loads, promotions = (float(n) for n in totals / (repeats * situation.measured))
    return expected(situation, loads, hits, promotions)


def _once(
    situation: Situation, schedule: Schedule, table: Draws, seed: int
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    rules, parts = _rules(situation, schedule), _parts(situation, schedule)
    _seed(seed)
    play(rules, table, parts, situation.warm_up)
    before = _counts(parts)
    play(rules, table, parts, situation.measured)
    return _counts(parts) - before


def _counts(parts: Parts) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    state = parts.state
    promotions = parts.rows.state[row_fronts.PROMOTIONS]
    return np.array([state[loop.HITS], state[loop.LOADS], promotions], dtype=np.float64)


def _rules(situation: Situation, schedule: Schedule) -> Rules:
    return Rules(
        order=schedule.order,
        front=schedule.front,
        by_due=schedule.by_due,
        partition_rows=situation.partition_rows,
        piece_rows=situation.front_probe_rows,
        batch_rows=situation.batch_rows or 0,
        slots_for_hits=schedule.slots_for_hits,
        position=float(situation.position),
        guarded=not situation.strict_paper,
        slot_rows=situation.slot_rows or 0,
        max_age=situation.max_age or 0,
    )


def _parts(situation: Situation, schedule: Schedule) -> Parts:
    pending, partitions = situation.pending_rows, situation.partitions
    kept = min(situation.cached_partitions, partitions) if schedule.front == loop.PAGES else 0
    state = np.zeros(8, dtype=np.int64)
    state[[loop.FIRST, loop.SECOND]] = loop.NONE
    return Parts(
        queue=waiting(pending, partitions),
        rows=row_fronts.row_front(
            situation.master_rows,
            situation.cache_rows if schedule.front == loop.ROWS else 0,
            schedule.replacement,
            situation.promote_above,
            situation.loads_per_promotion,
            situation.strict_paper,
        ),
        pages=page_fronts.page_front(partitions, kept, schedule.held),
        due=due_queue(
            partitions,
            pending,
            situation.page_threshold,
            situation.decay,
            situation.strict_paper,
            schedule.by_due,
        ),
        keys=np.empty(pending, dtype=np.int32),
        missed=np.empty(max(pending, situation.front_probe_rows), dtype=np.int32),
        state=state,
    )


@lru_cache(maxsize=4)
def _table(situation: Situation) -> Draws:
    return draws(situation.key_shares)


@kernel
def _seed(seed: int) -> None:
    """Compiled code has a generator of its own."""
    np.random.seed(seed)
