"""Arriving rows that memory can answer at once, although the front can't: their pages are at hand.

    sort the misses by key
    find their master rows one by one, where the store says that this is cheaper than loading pages
    put both sides out as they are: nothing waits, and nothing is gathered twice

Waiting pays while a load costs more than a row. With the master in the page cache it doesn't.
"""

from __future__ import annotations

from collections.abc import Callable, Generator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from semistream.budget import Budget
from semistream.keys import Keys, order
from semistream.phases.arrivals import Arrivals
from semistream.phases.loading import Loader
from semistream.stats import Counters
from semistream.stores.base import Found, PageDirectory
from semistream.structures.answers import Answers, Status
from semistream.structures.rowpool import references
from semistream.structures.sources import Sources

Int64s = NDArray[np.int64]
Reply = Generator[pa.RecordBatch, None, Int64s]
SAMPLE = 16  # keys whose pages say whether the rest is worth a try
SHARES = 3  # of the bytes: what is found, the stream's side of it, and what both take on the way


class AtHand:
    """Answers misses by single rows; `answers` belongs to the front, and takes the rows without a match."""

    def __init__(
        self,
        loader: Loader,
        directory: PageDirectory,
        stream: Sources,
        answers: Answers,
        most_bytes: int,
        budget: Budget,
    ) -> None:
        self._loader, self._directory = loader, directory
        self._stream, self._answers = stream, answers
        self._most_bytes = max(1, most_bytes // SHARES)
        self._budget = budget
        self._payload = range(len(loader.store.key), len(loader.store.key) + len(loader.payload))
        self.counters = Counters()
        self.rows_out = 0
        self.on_found: Callable[[Keys, Found], None] = lambda keys, found: None

    def answer(self, arrivals: Arrivals, number: int, rows: Int64s) -> Reply:
        """Answer `rows` (positions in `arrivals`, which is source `number`); returns those still to do:
        none, or all."""
        if not len(rows):
            return rows
        keys = arrivals.keys.take(rows)
        by_key = order(keys)
        keys, by_key = keys.take(by_key), rows[by_key]
        sample = np.unique(np.linspace(0, len(rows) - 1, min(SAMPLE, len(rows))).astype(np.int64))
        pages, _ = self._directory.locate(keys.take(sample))
        finder = self._loader.finder(np.unique(pages[pages >= 0]))
        if finder is None:
            return rows
        first, last = self._directory.locate(keys)
        self.counters.loads += int(np.count_nonzero(np.diff(first[first >= 0], prepend=-1)))
        here = references(number, arrivals.rows)[by_key]
        met = np.zeros(len(keys), dtype=np.bool_)
        for found in finder.find(keys, first, last, self._most_bytes):
            met[found.keys] = True
            self.counters.rows_read += found.batch.num_rows
            self.counters.bytes_read += found.batch.nbytes
            self.on_found(keys, found)
            if self._answers.plan.pairs:
                yield from self._put_out(found, number, by_key)
        if not self._answers.plan.pairs:
            self._answers.matched(here[met], here[met])
        self._answers.unanswered(here[~met], Status.unmatched)
        matched = int(met.sum())
        self.counters.matched += matched
        self.counters.unmatched += len(met) - matched
        return rows[:0]

    def _put_out(self, found: Found, number: int, rows: Int64s) -> Generator[pa.RecordBatch, None, None]:
        """Found rows beside their stream rows, in batches within the bytes."""
        plan = self._answers.plan
        mine = rows[found.keys]
        numbers = np.full(len(mine), number, dtype=np.int32)
        ends = np.cumsum(self._stream.row_bytes(numbers, mine))
        start = 0
        while start < len(mine):
            before = int(ends[start - 1]) if start else 0
            end = max(start + 1, int(np.searchsorted(ends, before + self._most_bytes, side="right")))
            end = min(end, start + self._answers.most_rows)
            columns = self._stream.gather(numbers[start:end], mine[start:end], plan.stream_columns)
            columns += [
                found.batch.column(self._payload[i]).slice(start, end - start) for i in plan.master_columns
            ]
            if plan.status:
                columns.append(pa.repeat(Status.matched.name, end - start))
            batch = pa.RecordBatch.from_arrays(columns, schema=plan.schema)
            self._budget.hold("at hand", found.batch.nbytes + batch.nbytes)
            self.rows_out += batch.num_rows
            yield batch
            start = end
        self._budget.hold("at hand", 0)
