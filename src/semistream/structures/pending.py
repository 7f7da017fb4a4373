"""The stream rows that wait for their page (the papers' H_S and Q in one).

Each row stands in two lists: the queue (oldest to youngest, doubly linked, so that a page's rows
can leave from its middle) and its page's bucket. Since the directory says at arrival which page a
row needs, no hash table of keys is wanted and a load touches only the rows it answers.

Cost: admit, take and oldest O(1) a row; at_rank O(rank's change since the last call) amortised;
fullest O(buckets). Bytes: 44 a row and 16 a bucket place (2 to 4 a page, never more than rows).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from semistream.structures import queueing
from semistream.structures.codeindex import NONE, table_size

UInt64s = NDArray[np.uint64]
Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]

ROW_BYTES = 44
BUCKET_BYTES = 16


@dataclass(frozen=True, slots=True)
class Taken:
    """Rows that left the queue: their codes, references into the row pool, and admission numbers.

    Their slots are free already.
    """

    slots: Int32s
    codes: UInt64s
    references: Int64s
    admitted: Int64s
    pages: Int64s

    def __len__(self) -> int:
        return len(self.codes)


class Pending:
    """At most `capacity` rows, each waiting for one of `pages` pages."""

    def __init__(self, capacity: int, pages: int) -> None:
        self.capacity = capacity
        self.codes = np.zeros(capacity, dtype=np.uint64)
        self.references = np.zeros(capacity, dtype=np.int64)
        self._admitted_at = np.zeros(capacity, dtype=np.int64)
        self._page = np.full(capacity, NONE, dtype=np.int64)
        self._older = np.full(capacity, NONE, dtype=np.int32)
        self._younger = np.full(capacity, NONE, dtype=np.int32)
        self._same_page = np.full(capacity, NONE, dtype=np.int32)
        places = table_size(min(capacity, pages))
        self._bucket_page = np.full(places, NONE, dtype=np.int64)
        self._bucket_head = np.full(places, NONE, dtype=np.int32)
        self._bucket_count = np.zeros(places, dtype=np.int32)
        self._state = queueing.new_state()
        self._younger[:-1] = np.arange(1, capacity, dtype=np.int32)  # the free list
        self.admitted = 0

    @staticmethod
    def bytes_for(capacity: int, pages: int) -> int:
        return ROW_BYTES * capacity + BUCKET_BYTES * table_size(min(capacity, pages))

    @property
    def held_bytes(self) -> int:
        return self.bytes_for(self.capacity, len(self._bucket_page) // 2)

    def __len__(self) -> int:
        return int(self._state[queueing.COUNT])

    @property
    def free(self) -> int:
        return self.capacity - len(self)

    def admit(self, codes: UInt64s, pages: Int64s, references: Int64s) -> Int32s:
        """Queue rows behind the youngest; returns the slots they got. Callers see to `free`."""
        assert len(codes) <= self.free
        slots = queueing.admit(
            *self._lists(), self.codes, self.references, self._admitted_at,
            codes, pages, references, self.admitted,
        )  # fmt: skip
        self.admitted += len(codes)
        return slots

    def take(self, page: int) -> Taken:
        """Remove and return all rows of a page."""
        return self.take_pages(np.array([page], dtype=np.int64))

    def take_pages(self, pages: Int64s) -> Taken:
        """Remove and return all rows of these pages, grouped by page, each in arrival order."""
        slots = queueing.take(*self._lists(), self._admitted_at, pages)
        return Taken(
            slots, self.codes[slots], self.references[slots], self._admitted_at[slots], self._page[slots]
        )

    def oldest_page(self) -> int:
        """The page of the oldest row; NONE without rows."""
        return self._page_of(int(self._state[queueing.OLDEST]))

    def youngest_page(self) -> int:
        return self._page_of(int(self._state[queueing.YOUNGEST]))

    def page_not_in(self, excluded: Int64s, *, from_oldest: bool) -> int:
        """The first page, from one end of the queue, that isn't excluded; NONE without one."""
        start = int(self._state[queueing.OLDEST if from_oldest else queueing.YOUNGEST])
        onward = self._younger if from_oldest else self._older
        return int(queueing.page_not_in(self._page, onward, start, excluded))

    def page_at_rank(self, younger: int) -> int:
        """The page of the row that has this many younger rows behind it."""
        if not len(self):
            return NONE
        target = min(max(younger, 0), len(self) - 1)
        slot = queueing.at_rank(self._older, self._younger, self._state, target)
        return int(self._page[slot])

    def fullest_page(self) -> int:
        """The page most rows wait for; the lowest of several."""
        return int(queueing.fullest(self._bucket_page, self._bucket_head, self._bucket_count))

    def count(self, page: int) -> int:
        """Rows that wait for this page."""
        return int(queueing.count(self._bucket_page, self._bucket_head, self._bucket_count, page))

    def counts(self, pages: Int64s) -> Int64s:
        return queueing.counts(self._bucket_page, self._bucket_head, self._bucket_count, pages)

    def pages(self) -> Int64s:
        """Every page that rows wait for, ascending."""
        return np.sort(self._bucket_page[self._bucket_head != NONE])

    def oldest_age(self) -> int:
        """Rows admitted since the oldest row was."""
        slot = int(self._state[queueing.OLDEST])
        return 0 if slot == NONE else self.admitted - int(self._admitted_at[slot])

    def live_slots(self) -> Int32s:
        """Slots of all rows, oldest first."""
        return queueing.walk(self._younger, self._state)

    def check(self) -> None:
        """The invariants, for tests."""
        slots = self.live_slots()
        assert len(slots) == len(np.unique(slots)) == len(self)
        assert np.all(np.diff(self._admitted_at[slots]) > 0), "the queue isn't in admission order"
        pages, counts = np.unique(self._page[slots], return_counts=True)
        assert np.array_equal(pages, self.pages())
        assert all(self.count(int(page)) == count for page, count in zip(pages, counts, strict=True))

    def _page_of(self, slot: int) -> int:
        return NONE if slot == NONE else int(self._page[slot])

    def _lists(self) -> tuple[Int64s, Int32s, Int32s, Int32s, Int64s, Int32s, Int32s, Int64s]:
        return (
            self._page, self._older, self._younger, self._same_page,
            self._bucket_page, self._bucket_head, self._bucket_count, self._state,
        )  # fmt: skip
