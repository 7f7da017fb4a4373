"""The priority queue of pages (S4) in the Monte-Carlo models: which frequent partition is due.

A partition whose load answered at least the threshold is due again after threshold * h / frequency
admitted rows. The frequency glides (f = decay f + (1 - decay) c), so that intervals become
proportional to 1 / sqrt(q_i); `static` keeps the first one, as S4 does. The threshold walks by doubling
to whatever answers more rows a load, unless it is given.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from semistream.costs.renewal import Floats
from semistream.structures.jit import kernel

Int64s = NDArray[np.int64]

NONE = -1
CAPACITY = 4096
LEAVES_BELOW = 1 / 3  # of the threshold, twice in a row
EPOCH = 4  # queue capacities between two looks at the threshold
BEGINS_AT = 4.0  # times the rows that a HYBRIDJOIN load answers
RANGE_LOW, RANGE_HIGH = 2.0, 64.0
HELD, CURRENT, LOADS, EPOCH_LOADS, EPOCH_ADMITTED = range(5)
THRESHOLD, FACTOR, YIELD, TYPICAL = range(4)


class Due(NamedTuple):
    """`frequency`, `at` and `weak` are by partition; a frequency of 0: it isn't queued."""

    held: Int64s  # the queued partitions, in no order
    frequency: Floats
    at: Floats
    weak: NDArray[np.bool_]
    state: Int64s
    numbers: Floats
    capacity: int  # of the queue of rows
    decay: float
    static: bool
    tuned: bool


def due_queue(
    partitions: int, pending: int, threshold: float | None, decay: float, static: bool, used: bool
) -> Due:
    """An empty queue of partitions, and the threshold it begins with."""
    typical = max(1.0, 2 * pending / partitions)
    begin = threshold or max(2.0, BEGINS_AT * typical)
    by_partition = partitions if used else 0
    return Due(
        held=np.full(min(CAPACITY, max(1, by_partition)), NONE, dtype=np.int64),
        frequency=np.zeros(by_partition),
        at=np.zeros(by_partition),
        weak=np.zeros(by_partition, dtype=np.bool_),
        state=np.array([0, NONE, 0, 0, 0], dtype=np.int64),
        numbers=np.array([begin, 2.0, 0.0, typical]),
        capacity=pending,
        decay=decay,
        static=static,
        tuned=threshold is None and not static,
    )


@kernel
def next_due(due: Due, admitted: int, counts: NDArray[np.int32]) -> int:
    """The most overdue partition that rows wait for; NONE without one."""
    state = due.state
    state[CURRENT] = NONE
    while state[HELD]:
        first = 0
        for i in range(1, state[HELD]):
            mine, best = due.held[i], due.held[first]
            if due.at[mine] < due.at[best] or (due.at[mine] == due.at[best] and mine < best):
                first = i
        partition = due.held[first]
        if due.at[partition] > admitted:
            return NONE
        state[HELD] -= 1
        due.held[first] = due.held[state[HELD]]
        if due.static or counts[partition]:
            state[CURRENT] = partition
            return int(partition)
        due.frequency[partition] = 0.0
    return NONE


@kernel
def loaded(due: Due, partition: int, rows: int, admitted: int) -> None:
    """A load has answered so many rows."""
    state = due.state
    state[LOADS] += 1
    threshold = due.numbers[THRESHOLD]
    if state[CURRENT] == partition:
        frequency = due.frequency[partition]
        due.frequency[partition] = 0.0
        weak = rows < threshold * LEAVES_BELOW
        if due.static:
            if not weak:
                _queue(due, partition, frequency, admitted)
        elif weak and due.weak[partition]:
            due.weak[partition] = False
        else:
            due.weak[partition] = weak
            _queue(due, partition, due.decay * frequency + (1 - due.decay) * rows, admitted)
    elif rows >= threshold and due.frequency[partition] == 0.0:
        _queue(due, partition, float(rows), admitted)
    state[CURRENT] = NONE
    if due.tuned:
        _tune(due, admitted)


@kernel
def _queue(due: Due, partition: int, frequency: float, admitted: int) -> None:
    state = due.state
    if state[HELD] >= len(due.held):
        due.weak[partition] = False
        return
    due.held[state[HELD]] = partition
    state[HELD] += 1
    due.frequency[partition] = max(frequency, 1e-9)
    due.at[partition] = admitted + due.numbers[THRESHOLD] * due.capacity / max(frequency, 1.0)


@kernel
def _tune(due: Due, admitted: int) -> None:
    state, numbers = due.state, due.numbers
    if admitted - state[EPOCH_ADMITTED] < EPOCH * due.capacity:
        return
    rate = (admitted - state[EPOCH_ADMITTED]) / max(1, state[LOADS] - state[EPOCH_LOADS])
    if rate < numbers[YIELD]:
        numbers[FACTOR] = 1 / numbers[FACTOR]
    numbers[YIELD] = rate
    state[EPOCH_LOADS], state[EPOCH_ADMITTED] = state[LOADS], admitted
    low, high = RANGE_LOW * numbers[TYPICAL], RANGE_HIGH * numbers[TYPICAL]
    numbers[THRESHOLD] = min(max(numbers[THRESHOLD] * numbers[FACTOR], low, 2.0), high)
