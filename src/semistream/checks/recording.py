"""A store that notes every read, and can hold reads up or let them fail."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from threading import Condition, Lock, current_thread
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from semistream.errors import StoreError
from semistream.stores.base import PageRun, Store
from semistream.stores.wrapped import WrappedStore

Pages = tuple[int, ...]
Before = Callable[[Pages], None]
"""Called on the reading thread before each read, with the pages asked for."""


@dataclass(frozen=True, slots=True)
class Read:
    """One call of `read`: what it asked for, who asked, and from when to when the store was at work."""

    pages: Pages
    thread: str
    began: float
    ended: float

    def overlaps(self, other: Read) -> bool:
        return self.began < other.ended and other.began < self.ended


class RecordingStore(WrappedStore):
    """Passes everything on; `reads` has every read in the order of their ends.

    >>> import pyarrow as pa
    >>> from semistream.stores.memory import MemoryStore
    >>> store = RecordingStore(MemoryStore(pa.table({"id": [1, 2, 3]}), "id", page_rows=1))
    >>> [run.first for run in store.read([0, 2], ["id"])], store.loaded
    ([0, 2], [0, 2])
    """

    def __init__(self, store: Store, before: Before | None = None) -> None:
        super().__init__(store)
        self.before = before
        self.reads: list[Read] = []
        self._lock = Lock()

    @property
    def loaded(self) -> list[int]:
        """The pages read so far, in order."""
        return [page for read in self.reads for page in read.pages]

    @property
    def clock(self) -> Any:
        """A simulated store brings its own time; without one this is an AttributeError, as there."""
        return cast(Any, self._store).clock

    def read(self, pages: Sequence[int] | NDArray[np.int64], columns: Sequence[str]) -> Iterator[PageRun]:
        wanted = tuple(int(page) for page in pages)
        began = time.perf_counter()
        try:
            if self.before is not None:
                self.before(wanted)
            runs = self._store.read(pages, columns)
            run = next(runs, None)
            while run is not None:
                yield run
                run = next(runs, None)
        finally:
            with self._lock:
                self.reads.append(Read(wanted, current_thread().name, began, time.perf_counter()))


class Failing:
    """Lets reads pass, and from the one of this number on raises a StoreError."""

    def __init__(self, after: int) -> None:
        self._left = after

    def __call__(self, pages: Pages) -> None:
        self._left -= 1
        if self._left < 0:
            raise StoreError(f"page {pages[0]} can't be read: this failure is put here by a check")


class Delay:
    """Holds every read up for a while."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def __call__(self, pages: Pages) -> None:
        time.sleep(self._seconds)


class Gate:
    """Holds every read up until the gate is opened, or `patience` seconds have gone by.

    `waiting` is how many reads stand before it. Once patience has run out the gate is open: a join
    that can't go on by itself is slow that way, and doesn't hang.
    """

    def __init__(self, patience: float) -> None:
        self._patience = patience
        self._changed = Condition()
        self._open = False
        self.waiting = 0
        self.most_waiting = 0
        self.ran_out = False

    def __call__(self, pages: Pages) -> None:
        with self._changed:
            self.waiting += 1
            self.most_waiting = max(self.most_waiting, self.waiting)
            self._changed.notify_all()
            if not self._changed.wait_for(lambda: self._open, self._patience):
                self.ran_out = self._open = True
                self._changed.notify_all()
            self.waiting -= 1

    def open(self) -> None:
        with self._changed:
            self._open = True
            self._changed.notify_all()

    def wait_for(self, reads: int) -> bool:
        """Wait until so many reads stand before the gate; False if it opened before."""
        with self._changed:
            self._changed.wait_for(lambda: self._open or self.waiting >= reads)
            return self.waiting >= reads and not self._open
