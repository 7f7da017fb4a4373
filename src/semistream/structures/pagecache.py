"""Whole pages kept in memory (the fronts of X-HYBRIDJOIN, SSIJ and Partitioned Join).

Cost: find O(1) a page, keep and drop O(columns). Bytes: the page and its table of codes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from semistream.structures.matching import CodeTable
from semistream.structures.sources import Sources


@dataclass(slots=True)
class KeptPage:
    """A page in memory. `use` is what its owner's policy needs: a time, or a utility."""

    number: int
    codes: CodeTable
    held: int
    use: float


class PageCache:
    """Pages within a limit of bytes, and of pages where `most` is given; which one has to go is the
    owner's choice."""

    def __init__(self, schema: pa.Schema, limit: int, most: int | None = None) -> None:
        self.sources = Sources(schema)
        self.limit = limit
        self.most = most
        self.held_bytes = 0
        self._pages: dict[int, KeptPage] = {}

    def __len__(self) -> int:
        return len(self._pages)

    def __contains__(self, page: int) -> bool:
        return page in self._pages

    def __getitem__(self, page: int) -> KeptPage:
        return self._pages[page]

    def items(self) -> Iterator[tuple[int, KeptPage]]:
        yield from self._pages.items()

    @property
    def rows(self) -> int:
        return sum(len(page.codes) for page in self._pages.values())

    def room_for(self, size: int) -> bool:
        return self.held_bytes + size <= self.limit and (self.most is None or len(self) < self.most)

    def keep(self, page: int, batch: pa.RecordBatch, codes: CodeTable, held: int, use: float) -> None:
        """Hold a page for which there is room."""
        assert page not in self._pages
        assert self.room_for(held), "ask room_for first"
        self._pages[page] = KeptPage(self.sources.add(batch, held), codes, held, use)
        self.held_bytes += held

    def drop(self, page: int) -> None:
        kept = self._pages.pop(page)
        self.sources.drop(kept.number)
        self.held_bytes -= kept.held

    def least_used(self) -> int:
        """The page with the smallest use; the lowest number of several."""
        return min(self._pages, key=lambda page: (self._pages[page].use, page))

    def clear(self) -> None:
        for page in list(self._pages):
            self.drop(page)

    def check(self) -> None:
        """The invariants, for tests."""
        assert self.held_bytes == sum(kept.held for kept in self._pages.values()) <= self.limit
        assert len(self.sources) == len(self._pages)
