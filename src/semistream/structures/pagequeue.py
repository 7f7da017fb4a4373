"""Frequent pages by the time they are due (the paper's PQ): a heap of (due, page).

Cost: push and pop O(log pages). Bytes: 16 an entry in the paper's accounting; here 200, Python's
own, and charged as such: a well-chosen threshold keeps tens of entries, and `capacity` bounds them.
"""

from __future__ import annotations

import heapq

ENTRY_BYTES = 200


class PageQueue:
    """Pages ordered by due time, at most `capacity` of them, each with its frequency."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self._heap: list[tuple[float, int]] = []
        self._frequency: dict[int, float] = {}

    def __len__(self) -> int:
        return len(self._heap)

    def __contains__(self, page: int) -> bool:
        return page in self._frequency

    @property
    def held_bytes(self) -> int:
        return ENTRY_BYTES * len(self._heap)

    def push(self, page: int, due: float, frequency: float) -> bool:
        """Queue a page that isn't queued; False where the queue is full."""
        assert page not in self._frequency, f"page {page} is queued already"
        if len(self._heap) >= self.capacity:
            return False
        heapq.heappush(self._heap, (due, page))
        self._frequency[page] = frequency
        return True

    def due(self, now: float) -> bool:
        return bool(self._heap) and self._heap[0][0] <= now

    def pop(self) -> tuple[int, float]:
        """The most overdue page and its frequency."""
        _, page = heapq.heappop(self._heap)
        return page, self._frequency.pop(page)

    def clear(self) -> None:
        self._heap.clear()
        self._frequency.clear()

    def check(self) -> None:
        """The invariants, for tests."""
        assert len(self._heap) == len(self._frequency) <= self.capacity
        assert {page for _, page in self._heap} == set(self._frequency)
        for i in range(1, len(self._heap)):
            assert self._heap[(i - 1) // 2] <= self._heap[i]
