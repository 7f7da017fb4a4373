"""INLJ, the index nested loop join (S3, S5): the baseline without a queue.

    take the next row; find its page through the index; read that one page; answer; next

One row is in memory at a time, every row costs one load, and the output keeps the order of arrival.
Memory beyond one page is not used: the papers give it no cache.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from semistream.algorithms.base import Algorithm, Batches, Settings
from semistream.phases.arrivals import Arrivals, Misses
from semistream.phases.plan import Facts, Needs
from semistream.structures.answers import Status
from semistream.structures.views import taken


class Inlj(Algorithm):
    """One row, one load."""

    eager = True

    @classmethod
    def needs(cls, settings: Settings, facts: Facts) -> Needs:
        return replace(super().needs(settings, facts), pending_rows=1)

    def arrive(self, arrivals: Arrivals) -> Batches:
        """Answers leave in order, so null and impossible keys wait for their turn too."""
        self._hold_arrivals(arrivals)
        phase, front = self.page_phase, self.front_phase.counters
        front.rows_in += arrivals.rows
        null = arrivals.keys.null
        front.null_keys += int(null.sum())
        assert self.directory is not None
        pages, _ = self.directory.locate(arrivals.keys)
        front.unmatched += int(((pages < 0) & ~null).sum())
        front.cache_misses += int((~null).sum())
        for row in range(arrivals.rows):
            batch = taken(arrivals.batch, np.array([row]))
            partition = pages[row : row + 1] // self.plan.partition_pages
            piece = Misses(batch, arrivals.keys.codes[row : row + 1], partition)
            if pages[row] < 0:
                phase.refuse(piece, Status.null_key if null[row] else Status.unmatched)
            else:
                phase.stage(piece)
                phase.admit()
                yield from phase.load(int(partition[0]))
            if phase.answers.full or not phase.pool.room_for(0):
                yield from phase.flush()
        self._hold_arrivals(None)


ALGORITHM = Inlj
