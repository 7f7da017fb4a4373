"""The second phase: rows wait, pages come, and each page answers all rows that wait for it.

    misses -> stage (payload copied, no slot yet) -> admit (a slot in the queue) -> page -> answers

Staged rows are those of the piece at hand that found the queue full; a load frees slots for them.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from threading import current_thread

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from semistream.budget import Budget
from semistream.keys import Keys, order, same_as_previous
from semistream.phases.arrivals import Misses, cuts
from semistream.phases.loading import Loaded, Loader
from semistream.phases.plan import Plan
from semistream.stats import Ages, Counters
from semistream.stores.base import PageDirectory, RowFinder
from semistream.structures.answers import Answers, OutputPlan, Status
from semistream.structures.gathering import equal_bytes
from semistream.structures.matching import CodeTable
from semistream.structures.pending import Pending, Taken
from semistream.structures.rowpool import RowPool, numbers_of, rows_of
from semistream.structures.sources import Sources

Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]
Batches = Iterator[pa.RecordBatch]
Reply = Generator[pa.RecordBatch, None, Int64s]


@dataclass(frozen=True, slots=True)
class Answered:
    """What a load did: the pages, where they lie, and how many waiting rows each master row met."""

    loaded: Loaded
    number: int  # of the pages' batch in `PagePhase.pages`
    matches: Int64s
    oldest_age: int  # in rows admitted, of the oldest row that met these pages
    rows: int  # stream rows that met these pages
    partition: int | None  # the one that was loaded; None: several, or pages a key goes on to
    loads: int = 1  # how many partitions' rows this answered

    def rate_scale(self) -> float:
        """Admitted rows since these pages were loaded last, estimated without a memory of it.

        Of m waiting rows the oldest began the wait, so m - 1 came in `oldest_age`: the page's rate
        is (m - 1) / age, and the gap before the first adds 1 / rate.
        """
        waited = max(self.oldest_age, self.rows, 1)
        return waited * self.rows / (self.rows - 1) if self.rows > 1 else 2.0 * waited


class PagePhase:
    """Pending rows, their payload, and the pages that answer them."""

    def __init__(
        self,
        loader: Loader,
        directory: PageDirectory | None,
        schema: pa.Schema,
        output: OutputPlan,
        plan: Plan,
        budget: Budget,
        clock: Callable[[], float],
    ) -> None:
        layout = loader.store.layout
        assert layout is not None
        self.loader = loader
        self.partition_pages = plan.partition_pages
        self.partitions = -(-layout.pages // plan.partition_pages)
        self._pages = layout.pages
        self._directory = directory
        self._budget = budget
        self._unique = loader.store.unique is True
        self.counters = Counters()
        self.threads: set[str] = set()
        self.ages = Ages()
        self.pending = Pending(plan.pending_rows, max(1, self.partitions))
        self.stream = Sources(schema)
        self.pool = RowPool(self.stream, plan.pool_bytes)
        self.pages = Sources(loader.schema)
        self._pages_bytes = plan.pages_bytes
        self._rows_at_once = plan.found_rows
        self.answers = Answers(output, self.stream, self.pages, plan.output_rows, plan.output_bytes)
        self._output = output
        self._key_columns = None if loader.exact else (len(schema) - 1, len(loader.schema) - 1)
        self._staged: list[tuple[NDArray[np.uint64], Int64s, Int64s]] = []
        self.staged_rows = 0
        self._clock = clock
        self._waiting_since = clock()
        self.on_answered: Callable[[Answered], None] = lambda answered: None

    # -- rows come in ---------------------------------------------------------------------------

    def pieces(self, misses: Misses) -> Iterator[Misses]:
        """The copy as it is, or, where it is large, in pieces that the pool can move around."""
        if not len(misses):
            return
        for start, end in cuts(misses.batch, len(misses), self.pool.piece_bytes):
            if end - start == len(misses):
                yield misses
            else:
                part = misses.batch.slice(start, end - start)
                batch = pa.concat_batches([part, part.slice(0, 0)])
                yield Misses(batch, misses.codes[start:end], misses.partitions[start:end])

    def tidy(self, size: int) -> Batches:
        """Free payload bytes without a load: let noted answers go, then move live rows together."""
        if self.pool.wants_compacting(size) and self.stream.pinned:
            yield from self.answers.flush()
        while self.pool.wants_compacting(size) and self._compact():
            pass

    def stage(self, piece: Misses) -> None:
        """Take a piece over; its rows wait for a slot in the queue."""
        references = self.pool.append(piece.batch, len(piece))
        self._staged.append((piece.codes, piece.partitions, references))
        self.staged_rows += len(piece)
        self.account()

    def refuse(self, piece: Misses, status: Status) -> None:
        """Answer rows that no page can answer, in their turn."""
        references = self.pool.append(piece.batch, len(piece))
        self.answers.unanswered(references, status)
        self.pool.release(references)

    def admit(self, most: int | None = None, bucket: int | None = None) -> Int32s:
        """Queue staged rows while there are free slots, `most` at the most; returns their slots.

        They wait for their partition, or, where an algorithm groups them otherwise, in `bucket`.
        """
        self._count_waiting()
        left = self.pending.free if most is None else min(most, self.pending.free)
        slots = []
        while self._staged and left:
            codes, partitions, references = self._staged[0]
            count = min(left, len(codes))
            where = partitions[:count] if bucket is None else np.full(count, bucket)
            slots.append(self.pending.admit(codes[:count], where, references[:count]))
            left -= count
            self.staged_rows -= count
            self.counters.admitted += count
            if count == len(codes):
                del self._staged[0]
            else:
                self._staged[0] = (codes[count:], partitions[count:], references[count:])
        return np.concatenate(slots) if slots else np.empty(0, dtype=np.int32)

    @property
    def idle(self) -> bool:
        return not self.staged_rows and not len(self.pending)

    # -- pages come in --------------------------------------------------------------------------

    def pages_of(self, partition: int) -> tuple[int, int]:
        """First and last page of a partition."""
        first = partition * self.partition_pages
        return first, min(first + self.partition_pages, self._pages) - 1

    def read(self, partition: int) -> Loaded:
        """Load a partition; touches nothing of this phase, so any thread may."""
        return self.loader.load_together(*self.pages_of(partition))

    def finder(self, partitions: Int64s) -> RowFinder | None:
        """How to find single rows of these partitions (ascending) where that is cheaper than loading."""
        return self.loader.finder(partitions * self.partition_pages)

    def load(self, partition: int) -> Batches:
        """Load a partition and answer every row that waits for it."""
        yield from self.answer(self.read(partition), 1)

    def load_many(self, partitions: Int64s) -> Batches:
        """Load partitions (ascending), neighbours as one run, each run answered as it comes."""
        firsts = partitions * self.partition_pages
        pages = (firsts[:, None] + np.arange(self.partition_pages)).ravel()
        pages = pages[pages < self._pages]
        for loaded in self.loader.load(pages, self.partition_pages):
            yield from self.answer(loaded, -(-(loaded.last - loaded.first + 1) // self.partition_pages))

    def answer_by_rows(self, finder: RowFinder, partitions: Int64s) -> Batches:
        """Answer every row that waits for these partitions (ascending), and read none of them whole."""
        self.threads.add(current_thread().name)
        ends = np.cumsum(self.pending.counts(partitions))
        start = 0
        while start < len(partitions):
            before = int(ends[start - 1]) if start else 0
            end = max(start + 1, int(np.searchsorted(ends, before + self._rows_at_once, side="right")))
            yield from self._answer_found(finder, partitions[start:end])
            start = end

    def _answer_found(self, finder: RowFinder, partitions: Int64s) -> Batches:
        self._count_waiting()
        taken = self.pending.take_pages(partitions)
        self.counters.loads += len(partitions)
        assert self._directory is not None
        waiting = self._waiting_keys(taken.codes, taken.references)
        keys = waiting.take(order(waiting))
        keys = keys.take(np.flatnonzero(~same_as_previous(keys)))
        matched = np.zeros(len(taken), dtype=np.bool_)
        for found in finder.find(keys, *self._directory.locate(keys), self._pages_bytes // 4):
            yield from self._match(taken, self.loader.found(found.batch), matched, None, len(partitions))
            if self.answers.full or self.pages.held_bytes > self._pages_bytes // 2:
                yield from self.answers.flush()
        self.finish(taken, matched)
        if self.answers.full:
            yield from self.answers.flush()
        self.account()

    def answer(self, loaded: Loaded, loads: int) -> Batches:
        """Answer all rows that wait for these pages, and for what their last key goes on to."""
        self.threads.add(current_thread().name)
        self._count_waiting()
        first = loaded.first // self.partition_pages
        taken = self.pending.take_pages(np.arange(first, loaded.last // self.partition_pages + 1))
        self.counters.loads += loads
        self.counters.wasted_loads += not len(taken)
        matched = np.zeros(len(taken), dtype=np.bool_)
        partition = first if loads == 1 else None
        last_row_met = yield from self._match(taken, loaded, matched, partition, loads)
        if not self._unique:
            rows = np.union1d(last_row_met, np.flatnonzero(~matched))
            yield from self._read_on(taken, loaded, rows, matched)
        self.finish(taken, matched)
        if self.answers.full or self.pages.held_bytes > self._pages_bytes // 2:
            yield from self.answers.flush()
        self.account()

    def bring(self, loaded: Loaded) -> int:
        """Count what was read, and hold it; returns its source number in `pages`."""
        self.counters.reads += loaded.reads
        self.counters.bytes_read += loaded.bytes_read
        self.counters.rows_read += loaded.rows
        number = self.pages.add(loaded.batch, loaded.held)
        self.account()
        return number

    def same_keys(self, waiting: Int64s, number: int, rows: Int64s) -> NDArray[np.bool_]:
        """Of pairs with equal codes those with equal keys: codes of byte keys are hashes."""
        if self._key_columns is None:
            return np.ones(len(rows), dtype=np.bool_)
        return equal_bytes(
            self.stream.column_pointers(self._key_columns[0]),
            numbers_of(waiting),
            rows_of(waiting),
            self.pages.column_pointers(self._key_columns[1]),
            np.full(len(rows), number, dtype=np.int32),
            rows,
        )

    def finish(self, taken: Taken, matched: NDArray[np.bool_]) -> None:
        """These rows have met all that could answer them."""
        if not self._output.pairs:
            self.answers.matched(taken.references[matched], taken.references[matched])
        self.answers.unanswered(taken.references[~matched], Status.unmatched)
        found = int(matched.sum())
        self.counters.matched += found
        self.counters.unmatched += len(taken) - found
        self.ages.add(self.pending.admitted - taken.admitted)
        self.pool.release(taken.references)

    def flush(self) -> Batches:
        yield from self.answers.flush()
        self.account()

    def account(self) -> None:
        """Tell the budget what is held now."""
        self._budget.hold("pending", self.pending.held_bytes + self.stream.held_bytes + 24 * self.staged_rows)
        self._budget.hold("pages", self.pages.held_bytes)
        self._budget.hold("answers", self.answers.held_bytes)

    @property
    def bytes_per_row(self) -> float:
        """What one slot of the queue takes, its payload included."""
        return (self.pending.held_bytes + self.pool.limit) / self.pending.capacity

    def resize(self, rows: int, grant: int) -> bool:
        """Give the empty queue so many slots for `grant` bytes more (or less); False: can't be."""
        assert not len(self.pending), "the queue has to be empty"
        wanted = Pending.bytes_for(rows, max(1, self.partitions))
        limit = self.pool.limit + grant - (wanted - self.pending.held_bytes)
        if limit < max(self.pool.held_bytes, self.pool.limit // 4):
            return False
        admitted = self.pending.admitted
        self.pending = Pending(rows, max(1, self.partitions))
        self.pending.admitted = admitted
        self.pool.limit = limit
        self.account()
        return True

    def close(self) -> None:
        self.pool.clear()

    # -- inside ---------------------------------------------------------------------------------

    def _match(
        self, taken: Taken, loaded: Loaded, matched: NDArray[np.bool_], partition: int | None, loads: int = 1
    ) -> Reply:
        """Note the answers of one run; returns the taken rows that met its last row."""
        number = self.bring(loaded)
        base = np.int64(number) << 32
        per_row = np.zeros(loaded.rows, dtype=np.int64)
        met_last: list[Int64s] = []
        matches = CodeTable(loaded.keys.codes).matches(taken.codes)
        while not matches.finished:
            lefts, rights = matches.pairs(self.answers.room)
            if self._key_columns is not None:  # hashes met, not keys
                same = self.same_keys(taken.references[lefts], number, rights)
                lefts, rights = lefts[same], rights[same]
            matched[lefts] = True
            per_row += np.bincount(rights, minlength=loaded.rows)
            met_last.append(lefts[rights == loaded.rows - 1])
            if self._output.pairs:
                self.answers.matched(taken.references[lefts], base + rights)
            if self.answers.full:
                yield from self.answers.flush()
        age = self.pending.admitted - int(taken.admitted.min()) if len(taken) else 0
        self.on_answered(Answered(loaded, number, per_row, age, len(taken), partition, loads))
        self.pages.drop(number)
        return np.concatenate(met_last) if met_last and not self._unique else np.empty(0, dtype=np.int64)

    def _read_on(self, taken: Taken, loaded: Loaded, rows: Int64s, matched: NDArray[np.bool_]) -> Batches:
        """Keys may go on, or be found only, behind these pages: read on, one page at a time.

        `rows` are the taken rows for which that may be: those that met the last row, and those that
        have met none, since a directory may not know on which side of a page's end a key begins.
        """
        rows = rows[taken.pages[rows] == loaded.last // self.partition_pages]
        if not len(rows) or loaded.last + 1 == self._pages:
            return
        assert self._directory is not None
        _, last = self._directory.locate(self._waiting_keys(taken.codes[rows], taken.references[rows]))
        rows = rows[last > loaded.last]
        if not len(rows):
            return
        some = Taken(
            taken.slots[rows],
            taken.codes[rows],
            taken.references[rows],
            taken.admitted[rows],
            taken.pages[rows],
        )
        also = np.zeros(len(rows), dtype=np.bool_)
        for page in range(loaded.last + 1, int(last.max(initial=0)) + 1):
            self.counters.loads += 1
            yield from self._match(some, self.loader.load_together(page, page), also, None)
            if self.pages.held_bytes > self._pages_bytes // 2:
                yield from self.answers.flush()
        matched[rows] |= also

    def _waiting_keys(self, codes: NDArray[np.uint64], references: Int64s) -> Keys:
        """The keys of waiting rows, from what is kept of them."""
        neither = np.zeros(len(codes), dtype=np.bool_)
        if self._key_columns is None:
            return Keys(codes, None, None, neither, neither)
        column = self._key_columns[0]
        (kept,) = self.stream.gather(numbers_of(references), rows_of(references), [column])
        _, offsets, data = kept.buffers()
        return Keys(
            codes,
            np.frombuffer(offsets, np.int64, len(kept) + 1).copy(),
            np.frombuffer(data or b"", np.uint8).copy(),
            neither,
            neither,
        )

    def _compact(self) -> bool:
        slots = self.pending.live_slots()
        parts = [self.pending.references[slots], *(references for _, _, references in self._staged)]
        live = np.concatenate(parts)
        if not self.pool.compact(live):
            return False
        self.pending.references[slots] = live[: len(slots)]
        at = len(slots)
        for i, (codes, partitions, references) in enumerate(self._staged):
            self._staged[i] = (codes, partitions, live[at : at + len(references)])
            at += len(references)
        return True

    def _count_waiting(self) -> None:
        """Little's law: row-seconds of waiting are the area under the number of rows that wait."""
        now = self._clock()
        self.counters.waiting_row_seconds += (now - self._waiting_since) * (
            len(self.pending) + self.staged_rows
        )
        self._waiting_since = now
