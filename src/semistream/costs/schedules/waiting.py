"""Rows that wait, in the Monte-Carlo models: keys and partitions only, oldest to youngest."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from semistream.structures.jit import kernel

Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]

NONE = -1
OLDEST, YOUNGEST, FREE, COUNT, CURSOR, CURSOR_RANK, ADMITTED, ACTIVE = range(8)


class Waiting(NamedTuple):
    """A queue of slots in two lists: by age, and by partition (the youngest first)."""

    key: Int32s
    partition: Int32s
    admitted_at: Int64s
    older: Int32s
    younger: Int32s
    same: Int32s
    head: Int32s  # by partition
    rows: Int32s  # by partition
    state: Int64s


def waiting(capacity: int, partitions: int) -> Waiting:
    """An empty queue."""
    younger = np.arange(1, capacity + 1, dtype=np.int32)
    younger[-1] = NONE
    state = np.array([NONE, NONE, 0, 0, NONE, 0, 0, 0], dtype=np.int64)
    empty = np.full(capacity, NONE, dtype=np.int32)
    return Waiting(
        key=empty.copy(),
        partition=empty.copy(),
        admitted_at=np.zeros(capacity, dtype=np.int64),
        older=empty.copy(),
        younger=younger,
        same=empty,
        head=np.full(partitions, NONE, dtype=np.int32),
        rows=np.zeros(partitions, dtype=np.int32),
        state=state,
    )


@kernel
def admit(queue: Waiting, key: int, partition: int) -> None:
    state = queue.state
    slot = state[FREE]
    state[FREE] = queue.younger[slot]
    queue.key[slot] = key
    queue.partition[slot] = partition
    queue.admitted_at[slot] = state[ADMITTED]
    queue.older[slot] = state[YOUNGEST]
    queue.younger[slot] = NONE
    if state[YOUNGEST] == NONE:
        state[OLDEST] = slot
    else:
        queue.younger[state[YOUNGEST]] = slot
    state[YOUNGEST] = slot
    state[COUNT] += 1
    state[ADMITTED] += 1
    state[CURSOR_RANK] += 1
    state[ACTIVE] += queue.rows[partition] == 0
    queue.same[slot] = queue.head[partition]
    queue.head[partition] = slot
    queue.rows[partition] += 1


@kernel
def take(queue: Waiting, partition: int, keys: Int32s) -> int:
    """Remove a partition's rows; their keys go to `keys`. Returns the age of the oldest of them."""
    state = queue.state
    slot = queue.head[partition]
    oldest = state[ADMITTED]
    n = 0
    while slot != NONE:
        keys[n] = queue.key[slot]
        n += 1
        oldest = queue.admitted_at[slot]  # the list goes from the youngest to the oldest
        before, after = queue.older[slot], queue.younger[slot]
        cursor = state[CURSOR]
        if cursor == slot:
            state[CURSOR] = before if before != NONE else after
            state[CURSOR_RANK] -= 0 if before != NONE else 1
        elif cursor != NONE and queue.admitted_at[slot] > queue.admitted_at[cursor]:
            state[CURSOR_RANK] -= 1
        if before == NONE:
            state[OLDEST] = after
        else:
            queue.younger[before] = after
        if after == NONE:
            state[YOUNGEST] = before
        else:
            queue.older[after] = before
        queue.younger[slot] = state[FREE]
        state[FREE] = slot
        slot = queue.same[slot]
    state[COUNT] -= n
    state[ACTIVE] -= n > 0
    queue.head[partition] = NONE
    queue.rows[partition] = 0
    return int(state[ADMITTED] - oldest)


@kernel
def oldest_partition(queue: Waiting) -> int:
    return int(queue.partition[queue.state[OLDEST]])


@kernel
def oldest_age(queue: Waiting) -> int:
    return int(queue.state[ADMITTED] - queue.admitted_at[queue.state[OLDEST]])


@kernel
def partition_at_rank(queue: Waiting, younger: int) -> int:
    """The partition of the row that has so many younger ones behind it."""
    state = queue.state
    target = min(max(younger, 0), state[COUNT] - 1)
    if state[CURSOR] == NONE:
        state[CURSOR] = state[YOUNGEST]
        state[CURSOR_RANK] = 0
    while state[CURSOR_RANK] < target:
        state[CURSOR] = queue.older[state[CURSOR]]
        state[CURSOR_RANK] += 1
    while state[CURSOR_RANK] > target:
        state[CURSOR] = queue.younger[state[CURSOR]]
        state[CURSOR_RANK] -= 1
    return int(queue.partition[state[CURSOR]])


@kernel
def partition_not_in(queue: Waiting, one: int, other: int, from_oldest: bool) -> int:
    """The first partition, from one end of the queue, that is neither of these; NONE without one."""
    slot = queue.state[OLDEST if from_oldest else YOUNGEST]
    while slot != NONE:
        partition = queue.partition[slot]
        if partition not in (one, other):
            return int(partition)
        slot = queue.younger[slot] if from_oldest else queue.older[slot]
    return NONE
