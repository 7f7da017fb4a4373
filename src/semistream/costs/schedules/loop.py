"""The loop that all algorithms with a queue share, over drawn keys: a Monte-Carlo of the schedule.

    draw a piece of the stream -> the front answers what it holds -> the others wait
    queue full -> load the partition that the order names -> its rows leave, the front learns

Nothing is known but probabilities and sizes. A row takes some 50 to 200 ns.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from semistream.costs.schedules import due as dues
from semistream.costs.schedules import page_fronts, row_fronts
from semistream.costs.schedules import waiting as queues
from semistream.costs.schedules.draws import Draws, draw
from semistream.costs.schedules.due import Due
from semistream.costs.schedules.page_fronts import PageFront
from semistream.costs.schedules.row_fronts import RowFront
from semistream.costs.schedules.waiting import Waiting
from semistream.structures.jit import kernel

Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]

NONE = -1
OLDEST, POSITION, ENDS, FULLEST, PHASES = range(5)  # which partition comes next
NO_FRONT, ROWS, PAGES = range(3)
ROWS_IN, HITS, LOADS, LOOKUPS, FIRST, SECOND, TURN, ONE_BY_ONE = range(8)  # the loop's state

OLDEST_EVERY, OLDEST_ABOVE = 16, 8  # HYBRIDJOIN-L's guard
FILL, LEAST_SLOT = 0.5, 2  # Partitioned Join's threshold
BACKLOG_LOW, BACKLOG_HIGH = 0.1, 0.5


class Rules(NamedTuple):
    """What makes an algorithm."""

    order: int
    front: int
    by_due: bool  # frequent partitions first, when they are due
    partition_rows: int
    piece_rows: int  # arriving rows that probe the front together
    batch_rows: int  # 0: an endless one
    slots_for_hits: bool  # the papers' X-HYBRIDJOIN: hits take slots until the next load
    position: float
    guarded: bool  # whether POSITION takes the oldest now and then
    slot_rows: int  # 0: found from the partitions in use
    max_age: int  # 0: none


class Parts(NamedTuple):
    """What an algorithm keeps."""

    queue: Waiting
    rows: RowFront
    pages: PageFront
    due: Due
    keys: Int32s  # scratch: those of a load
    missed: Int32s  # scratch: those of a piece
    state: Int64s


@kernel
def play(rules: Rules, table: Draws, parts: Parts, rows: int) -> None:
    """Let so many stream rows arrive."""
    done = 0
    while done < rows:
        batch = rows - done if rules.batch_rows == 0 else min(rows - done, rules.batch_rows)
        _look_at_backlog(rules, parts, batch)
        end = done + batch
        while done < end:
            done += _piece(rules, table, parts, end - done)


@kernel
def _look_at_backlog(rules: Rules, parts: Parts, batch: int) -> None:
    """Partitioned Join's switch to single rows and back."""
    if rules.order != FULLEST:
        return
    capacity = len(parts.queue.key)
    backlog = batch + parts.queue.state[queues.COUNT]
    if rules.batch_rows and backlog <= BACKLOG_LOW * capacity:
        parts.state[ONE_BY_ONE] = 1
    elif backlog >= BACKLOG_HIGH * capacity:
        parts.state[ONE_BY_ONE] = 0


@kernel
def _piece(rules: Rules, table: Draws, parts: Parts, most: int) -> int:
    """One piece of the stream; returns its rows."""
    queue = parts.queue
    capacity = len(queue.key)
    count = min(most, rules.piece_rows)
    if rules.slots_for_hits:
        count = min(most, len(parts.missed), max(1, capacity - queue.state[queues.COUNT]))
    missed = _probe(rules, table, parts, count)
    taken_in = 0
    while True:
        room = capacity - queue.state[queues.COUNT]
        until = min(missed, taken_in + room)
        for i in range(taken_in, until):
            key = parts.missed[i]
            queues.admit(queue, key, key // rules.partition_rows)
        taken_in = until
        if rules.order == FULLEST:
            _load_full_slots(rules, parts)
        if taken_in == missed:
            break
        if queue.state[queues.COUNT] == capacity:
            _make_room(rules, parts)
    if rules.slots_for_hits and count < most and queue.state[queues.COUNT]:
        _make_room(rules, parts)
    return count


@kernel
def _probe(rules: Rules, table: Draws, parts: Parts, count: int) -> int:
    """Draw a piece, answer what can be; returns how many can't."""
    parts.state[ROWS_IN] += count
    if rules.front == ROWS:
        row_fronts.age_hits(parts.rows, count)
    missed = 0
    for _ in range(count):
        key = draw(table)
        if rules.front == ROWS:
            found = row_fronts.hit(parts.rows, key)
        elif rules.front == PAGES:
            found = page_fronts.hit(parts.pages, key // rules.partition_rows)
        else:
            found = False
        if not found:
            parts.missed[missed] = key
            missed += 1
    if rules.front == PAGES:
        page_fronts.probed(parts.pages)
    parts.state[HITS] += count - missed
    return missed


@kernel
def _make_room(rules: Rules, parts: Parts) -> None:
    """The queue is full: load what the order says."""
    queue, state = parts.queue, parts.state
    if rules.order == PHASES:
        _phase(rules, parts)
        return
    if rules.order == ENDS:
        _load_in_flight(rules, parts)
        return
    partition = NONE
    if rules.by_due:
        partition = dues.next_due(parts.due, queue.state[queues.ADMITTED], queue.rows)
    if partition == NONE:
        if rules.order == FULLEST:
            partition = int(np.argmax(queue.rows))
        elif rules.order == POSITION:
            state[LOOKUPS] += 1
            capacity = len(queue.key)
            if rules.guarded and (
                state[LOOKUPS] % OLDEST_EVERY == 0 or queues.oldest_age(queue) > OLDEST_ABOVE * capacity
            ):
                partition = queues.oldest_partition(queue)
            else:
                partition = queues.partition_at_rank(queue, int(rules.position * queue.state[queues.COUNT]))
        else:
            partition = queues.oldest_partition(queue)
    _load(rules, parts, partition)


@kernel
def _load(rules: Rules, parts: Parts, partition: int) -> None:
    queue = parts.queue
    rows = int(queue.rows[partition])
    age = queues.take(queue, partition, parts.keys)
    parts.state[LOADS] += 1
    admitted = int(queue.state[queues.ADMITTED])
    if rules.front == ROWS:
        row_fronts.promote(parts.rows, parts.keys, rows, age, int(parts.state[ROWS_IN]), admitted)
    elif rules.front == PAGES:
        page_fronts.offer(parts.pages, partition, rows)
    if rules.by_due:
        dues.loaded(parts.due, partition, rows, admitted)


@kernel
def _phase(rules: Rules, parts: Parts) -> None:
    """SSIJ: everything that rows wait for, the fullest partition first."""
    counts = parts.queue.rows
    partitions = np.flatnonzero(counts)
    for i in np.argsort(-counts[partitions].astype(np.int64), kind="mergesort"):
        _load(rules, parts, int(partitions[i]))
    page_fronts.halve(parts.pages)


@kernel
def _load_in_flight(rules: Rules, parts: Parts) -> None:
    """OP-CACHEJOIN: two loads under way, from the two ends; answer the one asked for first."""
    state = parts.state
    _ask_for_loads(parts, NONE)
    buffer = FIRST if state[TURN] == 0 else SECOND
    if state[buffer] == NONE:
        buffer = SECOND if buffer == FIRST else FIRST
    partition = int(state[buffer])
    state[buffer] = NONE
    state[TURN] = 1 if buffer == FIRST else 0
    _ask_for_loads(parts, partition)
    _load(rules, parts, partition)


@kernel
def _ask_for_loads(parts: Parts, busy: int) -> None:
    state = parts.state
    for buffer in (FIRST, SECOND):
        if state[buffer] == NONE:
            other = state[SECOND if buffer == FIRST else FIRST]
            state[buffer] = queues.partition_not_in(parts.queue, busy, other, buffer == FIRST)


@kernel
def _load_full_slots(rules: Rules, parts: Parts) -> None:
    """Partitioned Join: slots that are full enough, or whose oldest row has waited for too long."""
    queue = parts.queue
    capacity = len(queue.key)
    active = max(1, queue.state[queues.ACTIVE])
    if parts.state[ONE_BY_ONE]:
        least = 1
    elif rules.slot_rows:
        least = rules.slot_rows
    else:
        least = max(LEAST_SLOT, int(np.ceil(FILL * capacity / active)))
    for partition in range(len(queue.rows)):
        if queue.rows[partition] >= least:
            _load(rules, parts, partition)
    while rules.max_age and queue.state[queues.COUNT] and queues.oldest_age(queue) > rules.max_age:
        _load(rules, parts, queues.oldest_partition(queue))
