"""SSIJ (described in S2, S4): fill a buffer, then load everything it needs, then fill it again.

    online: answer arriving rows from cached partitions, queue the rest
    when the queue is full: load its partitions, the fullest first, until it is empty
    a loaded partition is cached if it answered more rows than the least useful cached one
    after each such phase utilities halve

While the queue drains, later loads meet ever fewer rows: about h / n a load where HYBRIDJOIN meets
2 h / n. Every eighth phase 5 % of the memory moves to the side that gains more: one more cached
partition saves its hits; one more slot saves (loads - singles) / h^2 loads a row, with `singles` the
partitions only one row waited for (Good and Turing's estimate). Reconstructed from S2 and S4.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from semistream.algorithms.base import Algorithm, Batches, Settings
from semistream.phases.fronts import Front, PageFront
from semistream.phases.page_phase import Answered
from semistream.phases.plan import Facts, Needs
from semistream.structures.pagecache import PageCache

ADAPT_EVERY = 8  # phases
LEAST_ROWS = 64  # that the queue keeps
SHIFT = 0.05  # of the memory that cache and queue share


@dataclass(frozen=True, kw_only=True)
class BlockSettings(Settings):
    """cache_share: of the memory shared by cached partitions and pending rows, at the start.
    cache_partitions: the most partitions cached; None: as many as the share has room for.
    adapt: move memory between them while running.
    """

    cache_share: float = 0.5
    cache_partitions: int | None = None
    adapt: bool = True


class UtilityFront(PageFront):
    """Cached partitions with the rows each has answered, halved after every phase."""

    def used(self, block: int, rows: int) -> None:
        self.cache[block].use += rows


class Ssij(Algorithm):
    """Phases of joining everything, and a page cache by utility."""

    settings_type: ClassVar[type[Settings]] = BlockSettings
    settings: BlockSettings
    front: UtilityFront
    _phases = 0

    @classmethod
    def needs(cls, settings: Settings, facts: Facts) -> Needs:
        assert isinstance(settings, BlockSettings)
        return replace(
            super().needs(settings, facts),
            front="pages",
            front_share=settings.cache_share,
            front_partitions=settings.cache_partitions,
        )

    def make_front(self) -> Front:
        schema = self._workshop.loader.schema
        return UtilityFront(
            PageCache(schema, self.plan.front_bytes, self.settings.cache_partitions), self.key_columns
        )

    def next_partition(self) -> int:
        return self.pending.fullest_page()

    def make_room(self) -> Batches:
        """The join phase."""
        partitions = self.pending.pages()
        counts = self.pending.counts(partitions)
        rows, loads = len(self.pending), len(partitions)
        for partition in partitions[np.argsort(-counts, kind="stable")]:
            if self.pending.count(int(partition)):
                yield from self.page_phase.load(int(partition))
        self._phases += 1
        if self.settings.adapt and self._phases % ADAPT_EVERY == 0:
            self._adapt(rows, loads, int((counts == 1).sum()))
        for _, kept in self.front.cache.items():
            kept.use /= 2

    def step(self) -> Batches:
        if len(self.pending):
            yield from self.page_phase.load(self.next_partition())
            self.page_phase.admit()
        yield from self.page_phase.flush()

    def after_load(self, answered: Answered) -> None:
        if answered.partition is not None:
            self.front.offer(answered.partition, answered.loaded, answered.rows, to_the_more_used=True)
            self._account()

    def _adapt(self, rows: int, loads: int, singles: int) -> None:
        """Move memory to the side whose next byte saves more loads a row."""
        cache = self.front.cache
        fixed = self.settings.pending_rows is not None or self.settings.cache_partitions is not None
        if fixed or not len(cache) or not rows:
            return
        missed = self.front_phase.counters.cache_misses / max(1, self.front_phase.counters.rows_in)
        page = cache.held_bytes / len(cache)
        by_page = cache[cache.least_used()].use * missed / rows * loads / rows / page
        slot = self.page_phase.bytes_per_row
        by_slot = missed * (loads - singles) / rows**2 / slot
        shift = int(SHIFT * (self.plan.front_bytes + self.pending.capacity * slot))
        shift = shift if by_page > by_slot else -shift
        most = self.plan.front_bytes + int((self.pending.capacity - LEAST_ROWS) * slot * 0.9)
        self._resize(min(max(cache.limit + shift, int(page)), most))

    def _resize(self, cache_bytes: int) -> None:
        """Give the cache so many bytes, and the (empty) queue what is left."""
        cache = self.front.cache
        freed = cache.limit - cache_bytes
        rows = self.pending.capacity + int(freed / self.page_phase.bytes_per_row)
        if rows < LEAST_ROWS or len(self.pending):
            return
        while cache.held_bytes > cache_bytes:
            self.front.evict(cache.least_used())
        self._account()
        if self.page_phase.resize(rows, freed):
            cache.limit = cache_bytes
            self.pending = self.page_phase.pending


ALGORITHM = Ssij
