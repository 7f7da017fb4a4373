"""The front of the CACHEJOIN family: hot master rows in memory, found by key (the papers' H_R).

An entry is a key with all its master rows, side by side in one batch, so that a hit is a complete
answer. Rows live in a `RowPool`: evicting one only marks it dead, and batches that are mostly dead
are gathered anew.

Cost: find O(1) a row, add O(rows + evictions), random victim O(1), sampled victim O(8), exact
least-frequent victim O(entries). Bytes: 24 an entry, its index place (28 to 52) and its rows.
"""

from __future__ import annotations

from enum import Enum

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from semistream.structures.codeindex import NONE, CodeIndex
from semistream.structures.jit import kernel
from semistream.structures.rowpool import RowPool, numbers_of
from semistream.structures.sizes import batch_bytes
from semistream.structures.sources import Sources

UInt64s = NDArray[np.uint64]
Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]
Bools = NDArray[np.bool_]

ENTRY_BYTES = 24
SAMPLE = 8  # candidates looked at for a least frequent victim
AGING_PERIOD = 10  # hit counters halve every this many lookups per entry
FILL = 0.75  # share of the pool that live rows may fill: the rest is room to move them


class Replacement(Enum):
    """Whom a full cache gives up for a new entry."""

    RANDOM = "random"
    LEAST_FREQUENT_OF_SAMPLE = "least frequent of a sample"
    LEAST_FREQUENT = "least frequent"


@kernel
def _count_hits(entries: Int32s, hits: NDArray[np.float32], counts: Int32s) -> int:
    """Bump the hit counters; return the number of master rows that answer."""
    rows = 0
    for entry in entries:
        if entry != NONE:
            hits[entry] += 1
            rows += counts[entry]
    return rows


@kernel
def _expand_entries(entries: Int32s, first: Int64s, counts: Int32s, rows: int) -> tuple[Int64s, Int64s]:
    positions = np.empty(rows, dtype=np.int64)
    references = np.empty(rows, dtype=np.int64)
    n = 0
    for i in range(len(entries)):
        entry = entries[i]
        if entry != NONE:
            for k in range(counts[entry]):
                positions[n] = i
                references[n] = first[entry] + k
                n += 1
    return positions, references


class RowCache:
    """At most `capacity` keys and `limit` bytes of master rows."""

    def __init__(
        self, schema: pa.Schema, capacity: int, limit: int, replacement: Replacement, seed: int
    ) -> None:
        self.sources = Sources(schema)
        self.capacity = capacity
        self.replacement = replacement
        self._pool = RowPool(self.sources, limit)
        self._codes = np.zeros(capacity, dtype=np.uint64)
        self._first = np.full(capacity, NONE, dtype=np.int64)
        self._counts = np.zeros(capacity, dtype=np.int32)
        self._hits = np.zeros(capacity, dtype=np.float32)
        self._used = 0
        self._free: list[int] = []
        self._index = CodeIndex(capacity)
        self._random = np.random.default_rng(seed)
        self._lookups = 0
        self.evictions = 0
        self.rows = 0

    @staticmethod
    def bytes_for(capacity: int) -> int:
        """Bytes of the entries, without their rows."""
        return ENTRY_BYTES * capacity + CodeIndex.bytes_for(capacity)

    @property
    def held_bytes(self) -> int:
        return self.bytes_for(self.capacity) + self._pool.held_bytes

    def __len__(self) -> int:
        return self._index.count

    def find(self, codes: UInt64s, skip: Bools) -> Int32s:
        """The entry of each code, NONE where there is none. For hashed codes only a candidate."""
        return self._index.find(codes, skip)

    def first_references(self, entries: Int32s) -> Int64s:
        return self._first[entries]

    def rows_per_entry(self, entries: Int32s) -> Int64s:
        """Master rows each entry answers with; 0 for NONE."""
        rows = np.zeros(len(entries), dtype=np.int64)
        found = entries != NONE
        rows[found] = self._counts[entries[found]]
        return rows

    def hit(self, entries: Int32s) -> tuple[Int64s, Int64s]:
        """Count these hits; all (position, master row reference) pairs they answer."""
        rows = _count_hits(entries, self._hits, self._counts)
        self._lookups += len(entries)
        if self._lookups >= AGING_PERIOD * self.capacity:
            self._hits *= 0.5
            self._lookups = 0
        return _expand_entries(entries, self._first, self._counts, rows)

    def has(self, code: int) -> bool:
        found = self._index.find(np.array([code], dtype=np.uint64), np.zeros(1, dtype=np.bool_))
        return int(found[0]) != NONE

    def add(
        self, batch: pa.RecordBatch, codes: UInt64s, counts: Int64s, estimates: NDArray[np.float64]
    ) -> int:
        """Cache keys whose rows stand side by side in `batch`, `counts[i]` rows for key i.

        `estimates` is how often each key comes, in hits per lookup; a frequency-based cache keeps
        an entry that is hit more often than that. Codes are distinct, and the batch a copy of the
        cache's own. Returns how many keys were taken in: a key whose code is here already isn't.
        """
        if not self.capacity or not self._make_room(batch_bytes(batch), float(estimates.max(initial=0.0))):
            return 0
        first = self._pool.append(batch, int(counts.sum()))
        starts = np.concatenate([[0], np.cumsum(counts)])
        wanted = np.flatnonzero(self.find(codes, np.zeros(len(codes), dtype=np.bool_)) == NONE)
        unused = np.ones(len(codes), dtype=np.bool_)
        slots = self._unused_slots(len(wanted))
        at_once = wanted[: len(slots)]
        self._fill(slots, codes, first[starts[:-1]], counts, estimates, at_once)
        unused[at_once] = False
        for i in wanted[len(slots) :]:
            if self._evict_for(float(estimates[i])):
                slot = np.array([self._free.pop()], dtype=np.int32)
                self._fill(slot, codes, first[starts[:-1]], counts, estimates, np.array([i]))
                unused[i] = False
        self._pool.release(first[np.repeat(unused, counts)])
        return int((~unused).sum())

    def clear(self) -> None:
        """Forget every entry."""
        for slot in np.flatnonzero(self._first != NONE):
            self._evict(int(slot))
        self._used, self._free = 0, []

    def check(self) -> None:
        """The invariants, for tests."""
        self._index.check()
        self._pool.check()
        used = np.flatnonzero(self._first != NONE)
        assert len(used) == self._index.count <= self.capacity
        assert self.rows == int(self._counts[used].sum())
        assert np.array_equal(self.find(self._codes[used], np.zeros(len(used), dtype=np.bool_)), used)
        assert sorted([*used, *self._free]) == list(range(self._used))
        for number in numbers_of(self._first[used]):
            self.sources.batch(int(number))

    def _make_room(self, size: int, estimate: float) -> bool:
        """Evict, then move rows together, until `size` more bytes fit; False if they don't."""
        room = int(self._pool.limit * FILL)
        if size > min(room, self._pool.limit // 2):
            return False
        if self.sources.pinned and not self._pool.room_for(size):
            return False
        while self._pool.live_bytes + size > room and self._index.count:
            if not self._evict_for(estimate):
                return False
        while self._pool.wants_compacting(size) and self._compact():
            pass
        # Only batches larger than a piece get here: they may be too large to be moved.
        while not self._pool.room_for(size) and self._index.count and not self.sources.pinned:
            if not self._evict_for(estimate):
                return False
            self._compact()
        return self._pool.room_for(size)

    def _compact(self) -> bool:
        if self.sources.pinned:
            return False
        live = np.flatnonzero(self._first != NONE)
        counts = self._counts[live]
        starts = np.concatenate([[0], np.cumsum(counts)])[:-1]
        # Side by side before, side by side after: the pool moves rows in batch and row order.
        references = np.repeat(self._first[live], counts)
        references += np.arange(len(references)) - np.repeat(starts, counts)
        moved = self._pool.compact(references)
        self._first[live] = references[starts]
        return moved

    def _unused_slots(self, count: int) -> Int32s:
        """Up to `count` slots that no entry has."""
        recycled = [self._free.pop() for _ in range(min(count, len(self._free)))]
        fresh = min(count - len(recycled), self.capacity - self._used)
        self._used += fresh
        return np.array([*recycled, *range(self._used - fresh, self._used)], dtype=np.int32)

    def _fill(
        self,
        slots: Int32s,
        codes: UInt64s,
        first: Int64s,
        counts: Int64s,
        estimates: NDArray[np.float64],
        chosen: Int64s,
    ) -> None:
        """Make entries of the chosen keys."""
        self._codes[slots] = codes[chosen]
        self._first[slots] = first[chosen]
        self._counts[slots] = counts[chosen]
        self._hits[slots] = estimates[chosen] * (AGING_PERIOD * self.capacity)
        self._index.insert(codes[chosen], slots)
        self.rows += int(counts[chosen].sum())

    def _evict_for(self, estimate: float) -> bool:
        """Evict an entry for one of this estimate; False: every candidate is worth more."""
        victim = self._victim()
        if self.replacement is not Replacement.RANDOM:
            expected = estimate * AGING_PERIOD * self.capacity
            if expected <= float(self._hits[victim]):
                return False
        self._evict(victim)
        return True

    def _victim(self) -> int:
        live = self._used - len(self._free)
        assert live > 0, "no entry to evict"
        if self.replacement is Replacement.LEAST_FREQUENT:
            hits = np.where(self._first[: self._used] == NONE, np.inf, self._hits[: self._used])
            return int(np.argmin(hits))
        wanted = 1 if self.replacement is Replacement.RANDOM else SAMPLE
        best, least = NONE, np.inf
        while wanted:
            slot = int(self._random.integers(self._used))
            if self._first[slot] == NONE:
                continue
            wanted -= 1
            if float(self._hits[slot]) < least or best == NONE:
                best, least = slot, float(self._hits[slot])
        return best

    def _evict(self, slot: int) -> None:
        count = int(self._counts[slot])
        self._index.remove(self._codes[slot : slot + 1], np.array([slot], dtype=np.int32))
        self._pool.release(self._first[slot] + np.arange(count, dtype=np.int64))
        self._first[slot] = NONE
        self._counts[slot] = 0
        self._free.append(slot)
        self.evictions += 1
        self.rows -= count
