"""The front of the CACHEJOIN family: hot master rows in memory, found by key (the papers' H_R).

An entry is a key with all its master rows, side by side in one batch, so that a hit is a complete
answer. Rows live in a `RowPool`: evicting one only marks it dead, and batches that are mostly dead
are gathered anew.

Cost: look_up O(1) a row, add O(rows + evictions), random victim O(1), sampled victim O(8), exact
least-frequent victim O(places). Bytes: 48 to 96 an entry (`entries`), and its rows.
"""

from __future__ import annotations

from enum import Enum

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from semistream.structures import entries
from semistream.structures.codeindex import NONE, table_size
from semistream.structures.rowpool import RowPool, numbers_of
from semistream.structures.sizes import batch_bytes
from semistream.structures.sources import Sources

UInt64s = NDArray[np.uint64]
Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]

IN_BULK = 8  # random victims above which they are drawn and deleted together
SAMPLE = 8  # candidates looked at for a least frequent victim
AGING_PERIOD = 10  # hit counters halve every this many lookups per entry
FILL = 0.75  # share of the pool that live rows may fill: the rest is room to move them


class Replacement(Enum):
    """Whom a full cache gives up for a new entry."""

    RANDOM = "random"
    LEAST_FREQUENT_OF_SAMPLE = "least frequent of a sample"
    LEAST_FREQUENT = "least frequent"


class RowCache:
    """At most `capacity` keys and `limit` bytes of master rows."""

    def __init__(
        self, schema: pa.Schema, capacity: int, limit: int, replacement: Replacement, seed: int
    ) -> None:
        self.sources = Sources(schema)
        self.capacity = capacity
        self.replacement = replacement
        self._pool = RowPool(self.sources, limit)
        self._table = entries.new_table(table_size(capacity))
        self._count = 0
        self._random = np.random.default_rng(seed)
        self._lookups = 0
        self.evictions = 0
        self.rows = 0

    @staticmethod
    def bytes_for(capacity: int) -> int:
        """Bytes of the entries, without their rows."""
        return entries.ENTRY.itemsize * table_size(capacity)

    @property
    def held_bytes(self) -> int:
        return self._table.nbytes + self._pool.held_bytes

    def __len__(self) -> int:
        return self._count

    @property
    def spare(self) -> int:
        """How many more keys fit without giving one up, as far as the rows held now tell."""
        spare = int(self._pool.limit * FILL) - self._pool.live_bytes
        per_key = max(1.0, self._pool.live_bytes / max(1, self._count))
        return max(0, min(self.capacity - self._count, int(spare / per_key)))

    def look_up(self, codes: UInt64s) -> tuple[Int64s, Int32s]:
        """Reference of the first master row of each code's entry (NONE: a miss), and how many rows
        there are. Counts the hits. For hashed codes an entry is only a candidate."""
        self._lookups += len(codes)
        if self._lookups >= AGING_PERIOD * max(1, self.capacity):
            self._table["hits"] *= np.float32(0.5)
            self._lookups = 0
        counts = np.empty(len(codes), dtype=np.int32)
        weight = 0.0 if self.replacement is Replacement.RANDOM else 1.0  # it asks for nobody's hits
        return entries.look_up(self._table, codes, weight, counts), counts

    def has(self, code: int) -> bool:
        return int(entries.places_of(self._table, np.array([code], dtype=np.uint64))[0]) != NONE

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
        rows = self._pool.append(batch, int(counts.sum()))
        starts = np.concatenate([[0], np.cumsum(counts)])[:-1]
        first = rows[starts] if len(rows) else np.empty(0, dtype=np.int64)
        wanted = np.flatnonzero(entries.places_of(self._table, codes) == NONE)
        hits = (estimates * (AGING_PERIOD * self.capacity)).astype(np.float32)
        free = self.capacity - self._count
        if len(wanted) - free > IN_BULK and self.replacement is Replacement.RANDOM:
            self._evict_at_random(min(len(wanted) - free, self._count))
            free = self.capacity - self._count
        chosen = [*wanted[:free]]
        self._insert(np.array(chosen, dtype=np.int64), codes, first, counts, hits)
        for i in wanted[free:]:
            if self._evict_for(float(estimates[i])):
                self._insert(np.array([i], dtype=np.int64), codes, first, counts, hits)
                chosen.append(i)
        unused = np.ones(len(codes), dtype=np.bool_)
        unused[chosen] = False
        self._pool.release(rows[np.repeat(unused, counts)])
        return len(chosen)

    def clear(self) -> None:
        """Forget every entry."""
        self._table["first"] = NONE
        self._pool.clear()
        self._count = self.rows = 0

    def check(self) -> None:
        """The invariants, for tests."""
        self._pool.check()
        used = np.flatnonzero(self._table["first"] != NONE)
        assert len(used) == self._count <= self.capacity
        assert self.rows == int(self._table["count"][used].sum())
        found = entries.places_of(self._table, np.ascontiguousarray(self._table["code"][used]))
        assert np.array_equal(found, used), "a hole cuts an entry off from its home"
        for number in numbers_of(self._table["first"][used]):
            self.sources.batch(int(number))

    def _make_room(self, size: int, estimate: float) -> bool:
        """Evict, then move rows together, until `size` more bytes fit; False if they don't."""
        room = int(self._pool.limit * FILL)
        if size > min(room, self._pool.limit // 2):
            return False
        if self.sources.pinned and not self._pool.room_for(size):
            return False
        short = self._pool.live_bytes + size - room
        if short > 0 and self._count and self.replacement is Replacement.RANDOM:
            entries_short = int(short * self._count / max(1, self._pool.live_bytes))
            if entries_short > IN_BULK:
                self._evict_at_random(min(entries_short, self._count))
        while self._pool.live_bytes + size > room and self._count:
            if not self._evict_for(estimate):
                return False
        while self._pool.wants_compacting(size) and self._compact():
            pass
        # Only batches larger than a piece get here: they may be too large to be moved.
        while not self._pool.room_for(size) and self._count and not self.sources.pinned:
            if not self._evict_for(estimate):
                return False
            self._compact()
        return self._pool.room_for(size)

    def _compact(self) -> bool:
        if self.sources.pinned:
            return False
        live = np.flatnonzero(self._table["first"] != NONE)
        counts = self._table["count"][live]
        starts = np.concatenate([[0], np.cumsum(counts)])[:-1]
        # Side by side before, side by side after: the pool moves rows in batch and row order.
        references = np.repeat(self._table["first"][live], counts)
        references += np.arange(len(references)) - np.repeat(starts, counts)
        moved = self._pool.compact(references)
        self._table["first"][live] = references[starts]
        return moved

    def _insert(
        self, chosen: Int64s, codes: UInt64s, first: Int64s, counts: Int64s, hits: NDArray[np.float32]
    ) -> None:
        entries.insert(
            self._table, codes[chosen], first[chosen], counts[chosen].astype(np.int32), hits[chosen]
        )
        self._count += len(chosen)
        self.rows += int(counts[chosen].sum())

    def _evict_for(self, estimate: float) -> bool:
        """Evict an entry for one of this estimate; False: every candidate is worth more."""
        victim = self._victim()
        if self.replacement is not Replacement.RANDOM:
            expected = estimate * AGING_PERIOD * self.capacity
            if expected <= float(self._table["hits"][victim]):
                return False
        self._evict(victim)
        return True

    def _victim(self) -> int:
        """The place of the entry to give up."""
        assert self._count, "no entry to evict"
        used, hits = self._table["first"], self._table["hits"]
        if self.replacement is Replacement.LEAST_FREQUENT:
            return int(np.argmin(np.where(used == NONE, np.inf, hits)))
        wanted = 1 if self.replacement is Replacement.RANDOM else SAMPLE
        places: list[int] = []
        while len(places) < wanted:
            drawn = self._random.integers(len(self._table), size=4 * wanted)
            places.extend(drawn[used[drawn] != NONE][: wanted - len(places)])
            if self._count * SAMPLE < len(self._table):  # drawing would take long
                places.extend(np.flatnonzero(used != NONE)[: wanted - len(places)])
        return int(min(places, key=lambda place: float(hits[place])))

    def _evict_at_random(self, wanted: int) -> None:
        """Give up so many entries, any of them, at once."""
        if wanted * SAMPLE < self._count:  # there are enough to be met by chance
            drawn = np.empty(0, dtype=np.int64)
            while len(drawn) < wanted:
                more = self._random.integers(len(self._table), size=8 * wanted)
                drawn = np.unique(np.concatenate([drawn, more[self._table["first"][more] != NONE]]))
            chosen = self._random.permutation(drawn)[:wanted]
        else:
            chosen = self._random.permutation(np.flatnonzero(self._table["first"] != NONE))[:wanted]
        victims = self._table[chosen]
        entries.delete_codes(self._table, np.ascontiguousarray(victims["code"]))
        counts = victims["count"].astype(np.int64)
        within = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
        self._pool.release(np.repeat(victims["first"], counts) + within)
        self._count -= wanted
        self.evictions += wanted
        self.rows -= int(counts.sum())

    def _evict(self, place: int) -> None:
        first, count = int(self._table["first"][place]), int(self._table["count"][place])
        entries.delete(self._table, place)
        self._pool.release(first + np.arange(count, dtype=np.int64))
        self._count -= 1
        self.evictions += 1
        self.rows -= count
