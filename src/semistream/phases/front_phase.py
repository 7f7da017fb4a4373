"""The first phase: arriving rows are answered by the front, or sent on to their pages.

encode keys -> null and impossible keys are answered at once -> front -> misses: which page?
"""

from __future__ import annotations

from collections.abc import Generator
from threading import current_thread

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from semistream.phases.arrivals import Arrivals, Misses
from semistream.phases.at_hand import AtHand
from semistream.phases.fronts import Front
from semistream.stats import Counters
from semistream.stores.base import PageDirectory
from semistream.structures.answers import Answers, OutputPlan, Status
from semistream.structures.rowpool import references
from semistream.structures.sources import Sources

Int64s = NDArray[np.int64]


class FrontPhase:
    """Answers pieces of the stream from the front; what is left leaves as `Misses`."""

    def __init__(
        self,
        schema: pa.Schema,
        front: Front,
        directory: PageDirectory | None,
        partition_pages: int,
        plan: OutputPlan,
        output_rows: int,
        output_bytes: int,
    ) -> None:
        self.front = front
        self.counters = Counters()
        self.at_hand: AtHand | None = None
        self.threads: set[str] = set()
        self._directory = directory
        self._partition_pages = partition_pages
        self.stream = Sources(schema)
        self.answers = Answers(plan, self.stream, front.sources, output_rows, output_bytes)

    def process(self, arrivals: Arrivals) -> Generator[pa.RecordBatch, None, Misses]:
        """Yields what can be answered now, returns what has to meet its page."""
        self.threads.add(current_thread().name)
        number = self.stream.add(arrivals.batch, held=0)  # the caller's own memory
        here = references(number, arrivals.rows)
        null, foreign = arrivals.keys.null, arrivals.keys.foreign
        rows = np.flatnonzero(~(null | foreign))
        self.counters.rows_in += arrivals.rows
        if len(rows) < arrivals.rows:
            self._refuse(here, np.flatnonzero(null), Status.null_key)
            self._refuse(here, np.flatnonzero(foreign), Status.unmatched)
        partitions = np.zeros(arrivals.rows, dtype=np.int64)
        spanning = np.empty(0, dtype=np.int64)
        candidates = len(rows)
        if self.front.by_page:
            rows, spanning = self._locate(arrivals, here, rows, partitions)
        left = yield from self.front.answer(arrivals, number, rows, partitions, self.answers)
        self.counters.cache_hits += len(rows) - len(left)
        self.counters.cache_misses += candidates - len(rows) + len(left)
        if self.at_hand is not None:
            left = yield from self.at_hand.answer(arrivals, number, left)
        if not self.front.by_page:
            left, spanning = self._locate(arrivals, here, left, partitions)
        left = np.concatenate([left, spanning]) if len(spanning) else left
        yield from self.answers.flush()
        misses = self._copy(arrivals, number, left, partitions)
        self.stream.drop(number)
        return misses

    def _locate(
        self, arrivals: Arrivals, here: Int64s, rows: Int64s, partitions: Int64s
    ) -> tuple[Int64s, Int64s]:
        """Fill in the rows' partitions; refuse those that can be on no page.

        Returns the rows whose key lies on one partition, and those whose key may go on behind it.
        """
        if self._directory is None or not len(rows):
            return rows, np.empty(0, dtype=np.int64)
        keys = arrivals.keys if len(rows) == arrivals.rows else arrivals.keys.take(rows)
        first, last = self._directory.locate(keys)
        partitions[rows] = first // self._partition_pages
        nowhere = first < 0
        spans = ~nowhere & (last // self._partition_pages > partitions[rows])
        if nowhere.any():
            self._refuse(here, rows[nowhere], Status.unmatched)
        return rows[~(nowhere | spans)], rows[spans]

    def _refuse(self, here: Int64s, rows: Int64s, status: Status) -> None:
        if status is Status.null_key:
            self.counters.null_keys += len(rows)
        else:
            self.counters.unmatched += len(rows)
        self.answers.unanswered(here[rows], status)

    def _copy(self, arrivals: Arrivals, number: int, rows: Int64s, partitions: Int64s) -> Misses:
        """A slice would keep the whole arriving batch alive as long as one of its rows waits."""
        numbers = np.full(len(rows), number, dtype=np.int32)
        columns = self.stream.gather(numbers, rows, range(len(self.stream.schema)))
        batch = pa.RecordBatch.from_arrays(columns, schema=self.stream.schema)
        return Misses(batch, arrivals.keys.codes[rows], partitions[rows])
