"""Partitioned Join (described in S2 to S5): a slot for each partition, loaded when it is full enough.

    answer arriving rows from cached partitions; queue the rest in their partition's slot
    a slot that holds `slot_rows` rows is loaded; a full queue loads its fullest slot
    a loaded partition is cached in place of the least recently used one

A small backlog switches it to single rows (every slot is full with one), a large one back: so it is
INLJ on a slow stream and amortises loads on a fast one. Loading the fullest slot is no better than the
oldest row's, and a rare row may wait for ever: `max_age` (in rows admitted) bounds that.
Reconstructed: the papers give neither the slot's threshold nor the cache's share.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pyarrow as pa

from semistream.algorithms.base import Algorithm, Batches, Settings, Workshop
from semistream.phases.fronts import Front, PageFront
from semistream.phases.page_phase import Answered
from semistream.phases.plan import Facts, Needs
from semistream.structures.pagecache import PageCache

LEAST_SLOT = 2
FILL = 0.5  # of the queue, if all active slots held the threshold
BACKLOG_LOW, BACKLOG_HIGH = 0.1, 0.5  # of the queue's capacity


@dataclass(frozen=True, kw_only=True)
class SlotSettings(Settings):
    """slot_rows: rows that make a slot due; None: half the queue over the partitions in use.
    cache_share: of the memory shared by cached partitions and pending rows.
    cache_partitions: the most partitions cached; None: as many as the share has room for.
    max_age: rows admitted after which the oldest row's slot is due, however few wait in it.
    """

    slot_rows: int | None = None
    cache_share: float = 0.10
    cache_partitions: int | None = None
    max_age: int | None = None


class RecentFront(PageFront):
    """Cached partitions by the time of their last use."""

    clock = 0

    def used(self, block: int, rows: int) -> None:
        self.clock += 1
        self.cache[block].use = self.clock


class PartitionedJoin(Algorithm):
    """Slots by partition, and the least recently used partition leaves the cache."""

    settings_type: ClassVar[type[Settings]] = SlotSettings
    settings: SlotSettings
    front: RecentFront
    eager = True

    def __init__(self, workshop: Workshop, settings: Settings) -> None:
        super().__init__(workshop, settings)
        self._one_by_one = False

    @classmethod
    def needs(cls, settings: Settings, facts: Facts) -> Needs:
        assert isinstance(settings, SlotSettings)
        return replace(
            super().needs(settings, facts),
            front="pages",
            front_share=settings.cache_share,
            front_partitions=settings.cache_partitions,
        )

    def make_front(self) -> Front:
        schema = self._workshop.loader.schema
        return RecentFront(
            PageCache(schema, self.plan.front_bytes, self.settings.cache_partitions), self.key_columns
        )

    def push(self, batch: pa.RecordBatch) -> Batches:
        backlog = batch.num_rows + self.waiting_rows
        if backlog <= BACKLOG_LOW * self.pending.capacity:
            self._one_by_one = True
        elif backlog >= BACKLOG_HIGH * self.pending.capacity:
            self._one_by_one = False
        yield from super().push(batch)

    def next_partition(self) -> int:
        return self.pending.fullest_page()

    def after_admission(self) -> Batches:
        """Load every slot that is full enough, or whose oldest row has waited for too long."""
        partitions = self.pending.pages()
        counts = self.pending.counts(partitions)
        for partition in partitions[counts >= self._slot_rows(len(partitions))]:
            yield from self.page_phase.load(int(partition))
        if self.settings.max_age is not None:
            while self.pending.oldest_age() > self.settings.max_age:
                yield from self.page_phase.load(self.pending.oldest_page())

    def after_load(self, answered: Answered) -> None:
        if answered.partition is not None:
            self.front.clock += 1
            self.front.offer(answered.partition, answered.loaded, self.front.clock, to_the_more_used=False)
            self._account()

    def _slot_rows(self, active: int) -> int:
        if self._one_by_one:
            return 1
        if self.settings.slot_rows is not None:
            return self.settings.slot_rows
        return max(LEAST_SLOT, int(np.ceil(FILL * self.pending.capacity / max(1, active))))


ALGORITHM = PartitionedJoin
