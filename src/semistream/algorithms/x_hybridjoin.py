"""X-HYBRIDJOIN (S2): the first partition of a master in frequency order stays in memory.

    load partition 0 once and keep it
    answer each arriving row that belongs to it at once; queue the rest
    when the queue is full load the oldest row's partition, which is never partition 0

The loads fall by the share p of the stream that partition 0 answers: w = w' / (1 - p), with w' the rows
a HYBRIDJOIN load answers of what is left. The paper queues arriving rows first and probes them with
every kept master row; probing the kept rows with the arriving ones gives the same answers for fewer
probes. With `strict_paper` hot rows take a slot of the queue until the next load, as in the paper.

When frequencies change, `reload_hot` reads the kept partitions anew.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from semistream.algorithms.base import Algorithm, Batches, Settings
from semistream.phases.fronts import Front, PageFront
from semistream.phases.plan import Facts, Needs
from semistream.structures.pagecache import PageCache

KEPT = 0  # the number of the one kept block


class PinnedFront(PageFront):
    """The first partitions, as one block."""

    pinned_partitions = 0

    def block_of(self, partitions: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.where(partitions < self.pinned_partitions, KEPT, -1)


class XHybridJoin(Algorithm):
    """Pinned first partitions in front of HYBRIDJOIN."""

    settings_type: ClassVar[type[Settings]] = Settings
    front: PinnedFront

    @classmethod
    def needs(cls, settings: Settings, facts: Facts) -> Needs:
        return replace(super().needs(settings, facts), front="pages", front_partitions=1)

    def make_front(self) -> Front:
        schema = self._workshop.loader.schema
        return PinnedFront(PageCache(schema, self.plan.front_bytes), self.key_columns)

    def pinned_partitions(self) -> int:
        """How many of the first partitions are kept."""
        return 1

    def push(self, batch: pa.RecordBatch) -> Batches:
        if not len(self.front.cache):
            self.reload_hot()
        if not self.settings.strict_paper:
            yield from super().push(batch)
            return
        done = 0
        while done < batch.num_rows:
            # One inner loop of the paper: as many rows as have slots, then one load.
            count = min(max(1, self.pending.free), batch.num_rows - done)
            yield from super().push(batch.slice(done, count))
            done += count
            if done < batch.num_rows and len(self.pending):
                yield from self.make_room()

    def reload_hot(self) -> None:
        """Read the kept partitions, at the beginning or after their content has changed."""
        self.front.clear()
        partitions = min(self.pinned_partitions(), self.page_phase.partitions)
        if partitions:
            _, last = self.page_phase.pages_of(partitions - 1)
            loaded = self._workshop.loader.load_together(0, last)
            counters = self.front_phase.counters
            counters.loads += partitions
            counters.reads += loaded.reads
            counters.rows_read += loaded.rows
            counters.bytes_read += loaded.bytes_read
            self.front.keep(KEPT, loaded, 0.0)
        self.front.pinned_partitions = partitions
        self._account()


ALGORITHM = XHybridJoin
