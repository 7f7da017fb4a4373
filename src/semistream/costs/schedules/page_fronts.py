"""Whole partitions in memory, in the Monte-Carlo models: pinned, recently used, or useful."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from semistream.costs.renewal import Floats
from semistream.structures.jit import kernel

Int64s = NDArray[np.int64]

NONE = -1
HELD, CLOCK = range(2)
PINNED, RECENT, USEFUL = range(3)


class PageFront(NamedTuple):
    """`use` is by partition: negative where it isn't held, else the last use, or the utility."""

    kind: int
    most: int
    held: Int64s  # the partitions, in no order
    use: Floats
    gained: Int64s  # by partition: rows answered of the piece that is probing
    state: Int64s


def page_front(partitions: int, most: int, kind: int) -> PageFront:
    """An empty cache, or the first partitions for ever."""
    use = np.full(partitions, -1.0)
    if kind == PINNED:
        use[:most] = 0.0
    return PageFront(
        kind=kind,
        most=most,
        held=np.full(max(1, most), NONE, dtype=np.int64),
        use=use,
        gained=np.zeros(partitions, dtype=np.int64),
        state=np.zeros(2, dtype=np.int64),
    )


@kernel
def hit(front: PageFront, partition: int) -> bool:
    if front.use[partition] < 0:
        return False
    front.gained[partition] += 1
    return True


@kernel
def probed(front: PageFront) -> None:
    """A piece has been answered: note what it used."""
    if front.kind == PINNED:
        return
    held = np.sort(front.held[: front.state[HELD]])
    for partition in held:
        if front.gained[partition]:
            if front.kind == RECENT:
                front.state[CLOCK] += 1
                front.use[partition] = front.state[CLOCK]
            else:
                front.use[partition] += front.gained[partition]
            front.gained[partition] = 0


@kernel
def offer(front: PageFront, partition: int, rows: int) -> None:
    """A partition was loaded, and answered so many rows."""
    if front.kind == PINNED or not front.most:
        return
    use = float(rows)
    if front.kind == RECENT:
        front.state[CLOCK] += 1
        use = float(front.state[CLOCK])
    if front.use[partition] >= 0:
        return
    state = front.state
    if state[HELD] < front.most:
        front.held[state[HELD]] = partition
        state[HELD] += 1
    else:
        least = 0
        for i in range(1, state[HELD]):
            mine, best = front.held[i], front.held[least]
            if front.use[mine] < front.use[best] or (front.use[mine] == front.use[best] and mine < best):
                least = i
        if front.kind == USEFUL and front.use[front.held[least]] >= use:
            return
        front.use[front.held[least]] = -1.0
        front.held[least] = partition
    front.use[partition] = use


@kernel
def halve(front: PageFront) -> None:
    """Utilities age."""
    for i in range(front.state[HELD]):
        front.use[front.held[i]] /= 2
