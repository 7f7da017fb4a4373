"""Algorithms that lack what makes them what they are, each for a check of that."""

from __future__ import annotations

from dataclasses import replace

from semistream.algorithms.base import Batches, Settings
from semistream.algorithms.cachejoin import CacheJoin, CacheSettings
from semistream.algorithms.meshjoin import MeshJoin
from semistream.algorithms.op_cachejoin import OpCacheJoin
from semistream.algorithms.p_cachejoin import PCacheJoin
from semistream.algorithms.partitioned_join import PartitionedJoin, RecentFront
from semistream.algorithms.ssij import Ssij
from semistream.algorithms.x_hybridjoin import XHybridJoin
from semistream.phases.fronts import Front
from semistream.phases.page_phase import Answered
from semistream.phases.plan import Facts, Needs
from semistream.structures.pagecache import PageCache


class FourLoadsAChunk(MeshJoin):
    def _loads_per_chunk(self, partitions: int) -> int:
        return 4


class MissesTheLastPartition(MeshJoin):
    def __init__(self, *args: object) -> None:
        super().__init__(*args)  # type: ignore[arg-type]
        self.page_phase.partitions -= 1


class NeverPromotes(CacheJoin):
    def after_load(self, answered: Answered) -> None:
        """Nothing is learned."""


class CachesTwiceAsMuch(CacheJoin):
    @classmethod
    def needs(cls, settings: Settings, facts: Facts) -> Needs:
        assert isinstance(settings, CacheSettings)
        return replace(super().needs(settings, facts), cache_rows=2 * (settings.cache_rows or 1))


class ReloadsThePinned(XHybridJoin):
    def push(self, batch: object) -> Batches:
        self.reload_hot()
        return super().push(batch)


class WaitsForAFullQueue(PartitionedJoin):
    def after_admission(self) -> Batches:
        yield from ()


class NeverOneByOne(PartitionedJoin):
    def _slot_rows(self, active: int) -> int:
        self._one_by_one = False
        return super()._slot_rows(active)


class CachesNoPartition(PartitionedJoin):
    def after_load(self, answered: Answered) -> None:
        """Nothing is kept."""


class FirstInFront(RecentFront):
    def used(self, block: int, rows: int) -> None:
        """A use doesn't count."""


class FirstInFirstOut(PartitionedJoin):
    def make_front(self) -> Front:
        schema = self._workshop.loader.schema
        cache = PageCache(schema, self.plan.front_bytes, self.settings.cache_partitions)
        return FirstInFront(cache, self.key_columns)


class KeepsTheLatest(Ssij):
    """Any page takes the place of the least useful one."""

    def after_load(self, answered: Answered) -> None:
        if answered.partition is not None:
            self.front.offer(answered.partition, answered.loaded, answered.rows, to_the_more_used=False)


class LeavesTheQueueHalfFull(Ssij):
    def make_room(self) -> Batches:
        yield from self.page_phase.load(self.next_partition())


class LoadsOnTheCallersThread(PCacheJoin):
    """Its deterministic schedule, passed off as threads."""

    def __init__(self, *args: object) -> None:
        super().__init__(*args)  # type: ignore[arg-type]
        object.__setattr__(self.settings, "schedule", "deterministic")


class OneLoader(OpCacheJoin):
    """Two buffers, of which one is never filled."""

    ends = (True,)
