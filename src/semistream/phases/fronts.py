"""What the front holds: nothing, hot master rows, or whole pages.

A front answers what it can of a piece of the stream and hands back the rows it can't. It never
answers a key in part: either all of a key's master rows are here, or the key is a miss.
"""

from __future__ import annotations

from collections.abc import Generator
from threading import Lock

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from semistream.phases.arrivals import Arrivals
from semistream.phases.loading import Loaded
from semistream.structures.answers import Answers, Status
from semistream.structures.codeindex import NONE
from semistream.structures.entries import expand
from semistream.structures.gathering import equal_bytes
from semistream.structures.matching import CodeTable
from semistream.structures.pagecache import PageCache
from semistream.structures.rowcache import RowCache
from semistream.structures.rowpool import numbers_of, references, rows_of
from semistream.structures.sources import Sources

Int64s = NDArray[np.int64]
Reply = Generator[pa.RecordBatch, None, Int64s]
"""Yields output batches; returns the rows that are still to be answered."""


class Front:
    """The empty front: every row has to meet its page."""

    by_page = False  # whether `answer` wants to know each row's partition
    unmatched = 0  # rows answered so far with "no master row has this key"

    def __init__(self, schema: pa.Schema) -> None:
        self.sources = Sources(schema)

    @property
    def held_bytes(self) -> int:
        return 0

    @property
    def rows(self) -> int:
        """Master rows held."""
        return 0

    @property
    def evictions(self) -> int:
        return 0

    def answer(
        self, arrivals: Arrivals, number: int, rows: Int64s, partitions: Int64s, answers: Answers
    ) -> Reply:
        """Answer what can be of `rows` (positions in `arrivals`, which is source `number`)."""
        yield from ()
        return rows

    def clear(self) -> None:
        """Forget everything."""


class RowFront(Front):
    """Hot master rows by key. One thread may add rows while another probes."""

    def __init__(self, cache: RowCache, key_columns: tuple[int, int] | None) -> None:
        self.cache = cache
        self.sources = cache.sources
        self.lock = Lock()
        self._key_columns = key_columns  # key bytes in the stream and here, where codes are hashes

    @property
    def held_bytes(self) -> int:
        return self.cache.held_bytes

    @property
    def rows(self) -> int:
        return self.cache.rows

    @property
    def evictions(self) -> int:
        return self.cache.evictions

    def answer(
        self, arrivals: Arrivals, number: int, rows: Int64s, partitions: Int64s, answers: Answers
    ) -> Reply:
        missed: list[Int64s] = []
        here = references(number, arrivals.rows)
        while len(rows):
            some = rows[: answers.room]  # more could not be noted, and would have to be looked up again
            with self.lock:
                first, counts = self._look_up(arrivals, number, some, answers)
                done = self._how_many(first, counts, answers)
                positions, found = expand(first[:done], counts[:done])
                if answers.plan.pairs:
                    answers.matched(here[some[positions]], found)
                else:
                    hits = here[some[:done][first[:done] != NONE]]
                    answers.matched(hits, hits)
            missed.append(some[:done][first[:done] == NONE])
            rows = rows[done:]
            if done < len(some) or answers.full:
                yield from answers.flush()
        return np.concatenate(missed) if missed else rows

    def add(
        self, batch: pa.RecordBatch, codes: NDArray[np.uint64], counts: Int64s, estimates: NDArray[np.float64]
    ) -> int:
        """Promote keys; see `RowCache.add`."""
        with self.lock:
            return self.cache.add(batch, codes, counts, estimates)

    def clear(self) -> None:
        with self.lock:
            self.cache.clear()

    def _look_up(
        self, arrivals: Arrivals, number: int, rows: Int64s, answers: Answers
    ) -> tuple[Int64s, NDArray[np.int32]]:
        """First master row and number of rows of each row's key; NONE and 0 for a miss."""
        whole = len(rows) == arrivals.rows
        first, counts = self.cache.look_up(arrivals.keys.codes if whole else arrivals.keys.codes[rows])
        if self._key_columns is not None:
            candidates = np.flatnonzero(first != NONE)
            same = equal_bytes(
                answers.stream.column_pointers(self._key_columns[0]),
                np.full(len(candidates), number, dtype=np.int32),
                rows[candidates],
                self.sources.column_pointers(self._key_columns[1]),
                numbers_of(first[candidates]),
                rows_of(first[candidates]),
            )
            first[candidates[~same]] = NONE
        return first, counts

    def _how_many(self, first: Int64s, counts: NDArray[np.int32], answers: Answers) -> int:
        """How many leading rows' answers can be noted before a flush; at least one."""
        if not answers.plan.pairs or len(first) * int(counts.max(initial=0)) <= answers.room:
            return len(first)
        ends = np.cumsum(np.where(first == NONE, 0, counts))
        return max(1, int(np.searchsorted(ends, answers.room, side="right")))


class PageFront(Front):
    """Whole partitions, found by the directory's page number."""

    by_page = True

    def __init__(self, cache: PageCache, key_columns: tuple[int, int] | None) -> None:
        self.cache = cache
        self.sources = cache.sources
        self.unmatched = 0
        self._key_columns = key_columns
        self._evictions = 0

    @property
    def held_bytes(self) -> int:
        return self.sources.held_bytes  # pages that only an answer still refers to included

    @property
    def rows(self) -> int:
        return self.cache.rows

    @property
    def evictions(self) -> int:
        return self._evictions

    def answer(
        self, arrivals: Arrivals, number: int, rows: Int64s, partitions: Int64s, answers: Answers
    ) -> Reply:
        wanted = self.block_of(partitions[rows])
        missed = np.ones(len(rows), dtype=np.bool_)
        for block in np.unique(wanted):
            if int(block) in self.cache:
                mine = wanted == block
                missed &= ~mine
                yield from self._from_block(arrivals, number, rows[mine], int(block), answers)
        return rows[missed]

    def block_of(self, partitions: Int64s) -> Int64s:
        """Which kept block holds each partition, if any does: its own."""
        return partitions

    def keep(self, block: int, loaded: Loaded, use: float) -> None:
        """Hold loaded pages; there has to be room."""
        codes = CodeTable(loaded.keys.codes)
        self.cache.keep(block, loaded.batch, codes, loaded.held + codes.nbytes, use)

    def offer(self, block: int, loaded: Loaded, use: float, *, to_the_more_used: bool) -> None:
        """Hold pages if they fit, in place of the least used ones; with `to_the_more_used` only of
        those whose use is below theirs."""
        size = loaded.held + CodeTable.bytes_for(loaded.rows)
        if block in self.cache or size > self.cache.limit:
            return
        while not self.cache.room_for(size):
            least = self.cache.least_used()
            if to_the_more_used and self.cache[least].use >= use:
                return
            self.evict(least)
        self.keep(block, loaded, use)

    def evict(self, block: int) -> None:
        self.cache.drop(block)
        self._evictions += 1

    def used(self, block: int, rows: int) -> None:
        """`rows` stream rows are answered from this block; policies that count them override."""

    def clear(self) -> None:
        self.cache.clear()

    def _from_block(
        self, arrivals: Arrivals, number: int, rows: Int64s, block: int, answers: Answers
    ) -> Generator[pa.RecordBatch, None, None]:
        kept = self.cache[block]
        self.used(block, len(rows))
        here = references(number, arrivals.rows)[rows]
        matched = np.zeros(len(rows), dtype=np.bool_)
        matches = kept.codes.matches(arrivals.keys.codes[rows])
        while not matches.finished:
            lefts, rights = matches.pairs(answers.room)
            if self._key_columns is not None:
                same = equal_bytes(
                    answers.stream.column_pointers(self._key_columns[0]),
                    np.full(len(lefts), number, dtype=np.int32),
                    rows[lefts],
                    self.sources.column_pointers(self._key_columns[1]),
                    np.full(len(lefts), kept.number, dtype=np.int32),
                    rights,
                )
                lefts, rights = lefts[same], rights[same]
            matched[lefts] = True
            if answers.plan.pairs:
                answers.matched(here[lefts], (np.int64(kept.number) << 32) + rights)
            if answers.full:
                yield from answers.flush()
        if not answers.plan.pairs:
            answers.matched(here[matched], here[matched])
        self.unmatched += int((~matched).sum())
        answers.unanswered(here[~matched], Status.unmatched)
