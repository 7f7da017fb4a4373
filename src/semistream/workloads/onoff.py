"""The loops of `arrivals.OnOff`: virtual streams that switch on and off, step by step.

Stream i is on after an odd number of switches, its state at the start counted in. `until` is when it switches
next, in fractions of a step. Steps between two switches have equally many rows, so loops go from
switch to switch: a pause of a million steps costs nothing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from semistream.structures.jit import inline, kernel
from semistream.workloads.draws import unit, word_at

Int64s = NDArray[np.int64]
UInt64s = NDArray[np.uint64]
Floats = NDArray[np.float64]

FRACTIONS = 1 << 20  # of a step: whole numbers survive JSON, and add up to the same in any order
LONGEST = float(1 << 34)  # steps


@inline
def _length(key: np.uint64, switches: int, scale: float, shape: float) -> int:
    """How long a stream stays as it is after so many switches."""
    u = unit(word_at(key, np.uint64(switches)))
    steps = scale * u if shape == 0.0 else scale * (1.0 - u) ** (-1.0 / shape)
    return int(min(steps, LONGEST) * FRACTIONS)


@inline
def _settle(switches: Int64s, until: Int64s, step: int, keys: UInt64s, scales: Floats, shape: float) -> int:
    """Switch what is due by this step; the step before which nothing switches again."""
    now = step * FRACTIONS
    soonest = np.int64(1 << 62)
    for i in range(len(until)):
        while until[i] <= now:
            switches[i] += 1
            until[i] += _length(keys[i], switches[i], scales[i], shape)
        soonest = min(soonest, until[i])
    return int((soonest + (FRACTIONS - 1)) // FRACTIONS)


@inline
def _rows(switches: Int64s) -> int:
    """Rows of a step: 2, 4, 8, ... for each stream that is on."""
    total = 0
    for i in range(len(switches)):
        total += (switches[i] & 1) << (i + 1)
    return total


@kernel
def begin(switches: Int64s, until: Int64s, keys: UInt64s, scales: Floats, shape: float) -> None:
    """The first lengths, and what is due at step 0; `switches` says which streams are on."""
    for i in range(len(until)):
        until[i] = _length(keys[i], switches[i], scales[i], shape)
    _settle(switches, until, 0, keys, scales, shape)


@kernel
def counts(
    switches: Int64s, until: Int64s, step: int, keys: UInt64s, scales: Floats, shape: float, out: Int64s
) -> None:
    """Rows of each of the next steps; the state moves to the step behind them."""
    for i in range(len(out)):
        _settle(switches, until, step + i, keys, scales, shape)
        out[i] = _rows(switches)
    _settle(switches, until, step + len(out), keys, scales, shape)


@kernel
def take(
    switches: Int64s,
    until: Int64s,
    step: int,
    taken: int,
    rows: int,
    keys: UInt64s,
    scales: Floats,
    shape: float,
) -> tuple[int, int]:
    """Move the state to the last of the next `rows` rows: its step, and how many of that step are taken."""
    while rows > 0:
        change = _settle(switches, until, step, keys, scales, shape)
        count = _rows(switches)
        if count > 0:
            left = (change - step) * count - taken
            if rows <= left:
                last = taken + rows - 1
                return step + last // count, last % count + 1
            rows -= left
        step = change
        taken = 0
    return step, taken


@kernel
def due(
    switches: Int64s,
    until: Int64s,
    step: int,
    taken: int,
    latest: float,
    keys: UInt64s,
    scales: Floats,
    shape: float,
) -> int:
    """How many of the next rows come at `latest` or before; uses the state up."""
    total = 0
    while step <= latest:
        change = _settle(switches, until, step, keys, scales, shape)
        count = _rows(switches)
        if count > 0:
            whole = min(change, int(latest))
            if whole > step:
                total += (whole - step) * count - taken
                taken = 0
            if whole < change:
                total += max(0, min(count, int((latest - whole) * count) + 1) - taken)
        step = change
        taken = 0
    return total


@kernel
def times(
    switches: Int64s,
    until: Int64s,
    step: int,
    taken: int,
    keys: UInt64s,
    scales: Floats,
    shape: float,
    out: Floats,
) -> None:
    """When each of the next rows comes, in steps; the rows of a step are spread evenly over it."""
    i = 0
    while i < len(out):
        change = _settle(switches, until, step, keys, scales, shape)
        count = _rows(switches)
        if count > 0:
            while step < change and i < len(out):
                while taken < count and i < len(out):
                    out[i] = step + taken / count
                    taken += 1
                    i += 1
                step += 1
                taken = 0
        step = change
        taken = 0
