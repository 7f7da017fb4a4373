"""Leaves of a directory: what is known of a block of neighbouring pages, and a bounded cache of them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from threading import Condition

import numpy as np
from numpy.typing import NDArray

from semistream.errors import BudgetError
from semistream.keys import Keys

LEAF_PAGES = 512


@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """Where pages lie on the device: file number, byte range, and the checksum of those bytes."""

    file: NDArray[np.int32]
    offset: NDArray[np.int64]
    length: NDArray[np.int64]
    checksum: NDArray[np.uint64]

    BYTES = 4 + 8 + 8 + 8

    def __len__(self) -> int:
        return len(self.file)

    @property
    def nbytes(self) -> int:
        return len(self) * self.BYTES

    def take(self, rows: NDArray[np.int64]) -> Places:
        return Places(self.file[rows], self.offset[rows], self.length[rows], self.checksum[rows])

    @classmethod
    def empty(cls, pages: int) -> Places:
        """Room for the places of `pages` pages, to be filled by `put`."""
        return cls(
            np.zeros(pages, np.int32),
            np.zeros(pages, np.int64),
            np.zeros(pages, np.int64),
            np.zeros(pages, np.uint64),
        )

    def put(self, rows: NDArray[np.int64] | slice, places: Places) -> None:
        self.file[rows] = places.file
        self.offset[rows] = places.offset
        self.length[rows] = places.length
        self.checksum[rows] = places.checksum


@dataclass(frozen=True, slots=True, eq=False)
class Leaf:
    """Neighbouring pages: the first key of each, whether that key began on the page before, and
    where the page lies (None for stores that need no places). `reads` and `bytes_read` are what
    the device did to bring the leaf."""

    fences: Keys | None
    continued: NDArray[np.bool_]
    places: Places | None = None
    reads: int = 1
    bytes_read: int = 0

    @property
    def nbytes(self) -> int:
        fences = 0 if self.fences is None else self.fences.nbytes
        places = 0 if self.places is None else self.places.nbytes
        return fences + self.continued.nbytes + places


class LeafCache:
    """The leaves used last, within `memory` bytes; the others are read when asked for.

    Several threads may ask at once: a leaf under way is waited for and not read twice, and room
    for it is made before it is read, so that what is held never passes `memory`.
    """

    def __init__(self, read_leaf: Callable[[int], Leaf], leaf_bytes: int, memory: int) -> None:
        if memory < leaf_bytes:
            raise BudgetError(
                f"a page directory was allowed {memory} bytes for leaves, but one takes {leaf_bytes}; "
                "allow at least as much, or build with fewer leaf_pages"
            )
        self.reads = 0
        self.bytes_read = 0
        self.held_bytes = 0
        self._read_leaf = read_leaf
        self._leaf_bytes = leaf_bytes
        self._memory = memory
        self._leaves: OrderedDict[int, Leaf] = OrderedDict()
        self._under_way: set[int] = set()
        self._changed = Condition()

    def get(self, number: int) -> Leaf:
        """The leaf, from the cache or read now. O(1) apart from the reading."""
        with self._changed:
            while True:
                leaf = self._leaves.get(number)
                if leaf is not None:
                    self._leaves.move_to_end(number)
                    return leaf
                if number not in self._under_way and self._make_room():
                    self._under_way.add(number)
                    break
                self._changed.wait()
        leaf = None
        try:
            leaf = self._read_leaf(number)
        finally:
            with self._changed:
                self._under_way.discard(number)
                if leaf is not None:
                    self._keep(number, leaf)
                self._changed.notify_all()
        return leaf

    def _make_room(self) -> bool:
        """Drop the leaves used longest ago until one more fits; False while others are under way."""
        spoken_for = (len(self._under_way) + 1) * self._leaf_bytes
        while self._leaves and self.held_bytes + spoken_for > self._memory:
            self.held_bytes -= self._leaves.popitem(last=False)[1].nbytes
        return self.held_bytes + spoken_for <= self._memory

    def _keep(self, number: int, leaf: Leaf) -> None:
        self.reads += leaf.reads
        self.bytes_read += leaf.bytes_read
        if leaf.nbytes <= self._leaf_bytes:
            self._leaves[number] = leaf
            self.held_bytes += leaf.nbytes

    def check(self) -> None:
        """The invariant: what is counted is what is held, and it fits."""
        with self._changed:
            held = sum(leaf.nbytes for leaf in self._leaves.values())
            assert held == self.held_bytes, f"counted {self.held_bytes} bytes, holding {held}"
            spoken_for = len(self._under_way) * self._leaf_bytes
            assert held + spoken_for <= self._memory, f"{held} + {spoken_for} bytes exceed {self._memory}"
