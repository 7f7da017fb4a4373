"""A cache of master rows in the Monte-Carlo models: who gets in, and who has to leave.

A row whose load answered more than one waiting row is promoted; into a full cache only if its rate is
above a bar that falls with every load and rises with every eviction, so that about one promotion comes
to `loads_per_promotion` loads. Victims are random, or the least frequent of eight.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from semistream.costs.renewal import Floats
from semistream.structures.jit import kernel

Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]

NONE = -1
SAMPLE = 8  # candidates for a least frequent victim
AGING_PERIOD = 10  # lookups per entry between two halvings of the hit counters
LEAST_PROBES = 4  # per entry, behind a rate
AT_ONCE = 4  # promotions into a full cache by one load
BAR_STEP = 0.05
LOOKUPS, HELD, PROMOTIONS = range(3)
RANDOM, LEAST_OF_SAMPLE, LEAST = range(3)


class RowFront(NamedTuple):
    """Cached keys. `place` and `matches` are by key, `key` and `hits` by entry."""

    place: Int32s
    matches: Int32s
    key: Int32s
    hits: Floats
    state: Int64s
    bar: Floats  # one number: the rate that a promotion into a full cache takes
    replacement: int
    promote_above: float
    loads_per_promotion: float
    by_count: bool  # as the papers: no bar, no limit, victims by plain counts


def row_front(
    keys: int,
    entries: int,
    replacement: int,
    promote_above: float | None,
    loads_per_promotion: float,
    by_count: bool,
) -> RowFront:
    """An empty cache; without entries it takes no memory either."""
    by_key = keys if entries else 0
    return RowFront(
        place=np.full(by_key, NONE, dtype=np.int32),
        matches=np.zeros(by_key, dtype=np.int32),
        key=np.full(entries, NONE, dtype=np.int32),
        hits=np.zeros(entries),
        state=np.zeros(3, dtype=np.int64),
        bar=np.zeros(1),
        replacement=replacement,
        promote_above=1.0 if promote_above is None else float(promote_above),
        loads_per_promotion=float(loads_per_promotion),
        by_count=by_count,
    )


@kernel
def age_hits(front: RowFront, lookups: int) -> None:
    """So many rows are about to probe."""
    front.state[LOOKUPS] += lookups
    if front.state[LOOKUPS] >= AGING_PERIOD * len(front.key):
        front.hits[:] *= 0.5
        front.state[LOOKUPS] = 0


@kernel
def hit(front: RowFront, key: int) -> bool:
    place = front.place[key]
    if place == NONE:
        return False
    front.hits[place] += 1.0
    return True


@kernel
def promote(front: RowFront, keys: Int32s, rows: int, age: int, probes: int, admitted: int) -> None:
    """A load has answered `rows` rows of these keys, the oldest of this age."""
    capacity = len(front.key)
    full = front.state[HELD] >= capacity
    if full and not front.by_count:
        front.bar[0] *= 1 - BAR_STEP / front.loads_per_promotion
    hot = _hot(front, keys, rows)
    if not len(hot):
        return
    waited = max(age, rows, 1)
    since = waited * rows / (rows - 1) if rows > 1 else 2.0 * waited
    lookups = since * max(1.0, probes / max(1, admitted))
    lookups = max(lookups, float(min(probes, LEAST_PROBES * capacity)), 1.0)
    most = max(capacity - front.state[HELD], AT_ONCE)
    evicted, lowest = 0, 0.0
    for chosen, key in enumerate(hot):
        rate = front.matches[key] / lookups
        if not front.by_count and (chosen == most or rate <= front.bar[0]):
            break
        lowest = rate
        if front.place[key] == NONE:
            evicted += _insert(front, key, rate * AGING_PERIOD * capacity)
    for i in range(rows):
        front.matches[keys[i]] = 0
    if evicted and not front.by_count:
        raised = min((1 + BAR_STEP) ** evicted, 2.0)
        front.bar[0] = max(front.bar[0] * raised, lowest / 2)


@kernel
def _hot(front: RowFront, keys: Int32s, rows: int) -> Int32s:
    """Keys with enough matches, those with most first; `matches` holds the counts of all."""
    for i in range(rows):
        front.matches[keys[i]] += 1
    found = np.empty(rows, dtype=np.int32)
    n = 0
    for i in range(rows):
        key = keys[i]
        if front.matches[key] > front.promote_above:
            front.matches[key] = -front.matches[key]  # its other rows are not looked at again
            found[n] = key
            n += 1
    hot = np.sort(found[:n])
    order = np.empty(n, dtype=np.int64)
    for i in range(n):
        front.matches[hot[i]] = -front.matches[hot[i]]
        order[i] = -front.matches[hot[i]]
    if not n:
        for i in range(rows):
            front.matches[keys[i]] = 0
    return hot[np.argsort(order, kind="mergesort")]


@kernel
def _insert(front: RowFront, key: int, expected: float) -> int:
    """Take a key in; returns how many had to leave for it."""
    state = front.state
    if state[HELD] < len(front.key):
        place, evicted = state[HELD], 0
        state[HELD] += 1
    else:
        place, evicted = _victim(front), 1
        if front.replacement != RANDOM and expected <= front.hits[place]:
            return 0
        front.place[front.key[place]] = NONE
    front.key[place] = key
    front.hits[place] = expected
    front.place[key] = place
    state[PROMOTIONS] += 1
    return evicted


@kernel
def _victim(front: RowFront) -> int:
    capacity = len(front.key)
    if front.replacement == LEAST:
        return int(np.argmin(front.hits))
    best = np.random.randint(0, capacity)
    if front.replacement == LEAST_OF_SAMPLE:
        for _ in range(SAMPLE - 1):
            other = np.random.randint(0, capacity)
            if front.hits[other] < front.hits[best]:
                best = other
    return int(best)
