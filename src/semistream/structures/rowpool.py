"""Rows kept for a while, in compact batches, inside a byte limit.

Rows come in small batches and leave one by one. A batch lives until its last row has gone; when
dead rows hold too many bytes, the emptiest batches are gathered into a new one. A reference to a
row is one int64: its batch (a source number) in the high half, its row in the low half.

Invariant: `held_bytes` is never above `limit` as long as `room_for` is asked before `append`. It
keeps one piece free: the rows of any batch can be moved there, however full the pool is.
Cost: append O(columns), release O(rows), compact O(live rows of the batches it empties).
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from semistream.structures.jit import kernel
from semistream.structures.sizes import batch_bytes
from semistream.structures.sources import Sources

Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]

PIECES = 8  # no batch is larger than this fraction of the limit, so that moving one always fits
MOST_BATCHES = 64  # more than this and small ones are merged: each costs a Python object a column


def references(number: int, count: int) -> Int64s:
    """References to the first `count` rows of a batch."""
    return (np.int64(number) << 32) + np.arange(count, dtype=np.int64)


def numbers_of(references: Int64s) -> Int32s:
    return np.asarray(references >> 32, dtype=np.int32)


def rows_of(references: Int64s) -> Int64s:
    return np.asarray(references & 0xFFFFFFFF, dtype=np.int64)


@kernel
def split(references: Int64s) -> tuple[Int32s, Int64s]:
    """`numbers_of` and `rows_of` in one pass."""
    numbers = np.empty(len(references), dtype=np.int32)
    rows = np.empty(len(references), dtype=np.int64)
    for i in range(len(references)):
        numbers[i] = references[i] >> 32
        rows[i] = references[i] & 0xFFFFFFFF
    return numbers, rows


@kernel
def _count_out(live: Int64s, references: Int64s) -> None:
    for reference in references:
        live[reference >> 32] -= 1


@kernel
def _rows_in(chosen: NDArray[np.bool_], references: Int64s) -> Int64s:
    """Positions of the references whose batch is chosen, ordered by batch and row."""
    count = 0
    for reference in references:
        count += chosen[reference >> 32]
    found = np.empty(count, dtype=np.int64)
    count = 0
    for i in range(len(references)):
        if chosen[references[i] >> 32]:
            found[count] = i
            count += 1
    return found


class RowPool:
    """Compact batches of one schema and how many of their rows are still wanted."""

    def __init__(self, sources: Sources, limit: int) -> None:
        self.sources = sources
        self.limit = limit
        self._live = np.zeros(64, dtype=np.int64)
        self._total = np.zeros(64, dtype=np.int64)
        self._size = np.zeros(64, dtype=np.int64)
        self._mine: set[int] = set()
        self.moved_rows = 0

    @property
    def held_bytes(self) -> int:
        """Bytes of all batches, those included that only a pin still holds."""
        return self.sources.held_bytes

    @property
    def piece_bytes(self) -> int:
        """The most bytes one appended batch may have."""
        return max(1, self.limit // PIECES)

    @property
    def live_bytes(self) -> int:
        """Bytes of the rows that are still wanted, estimated by their share of each batch."""
        return int((self._size * self._live // np.maximum(self._total, 1)).sum())

    def append(self, batch: pa.RecordBatch, rows: int) -> Int64s:
        """Keep a compact batch of `rows` rows (one without columns doesn't know); returns their
        references."""
        if not rows:
            return np.empty(0, dtype=np.int64)
        number = self.sources.add(batch, batch_bytes(batch))
        if number >= len(self._live):
            grow = np.zeros(max(64, number), dtype=np.int64)
            self._live = np.concatenate([self._live, grow])
            self._total = np.concatenate([self._total, grow])
            self._size = np.concatenate([self._size, grow])
        self._live[number] = self._total[number] = rows
        self._size[number] = self.sources.bytes_of(number)
        self._mine.add(number)
        return references(number, rows)

    def release(self, released: Int64s) -> None:
        """These rows aren't wanted any more."""
        _count_out(self._live, released)
        for number in np.unique(numbers_of(released)) if len(released) else ():
            if self._live[number] == 0:
                self._forget(int(number))

    def room_for(self, size: int) -> bool:
        return self.held_bytes + size <= self.limit - self.limit // PIECES

    def wants_compacting(self, size: int) -> bool:
        """Whether `size` more bytes ask for `compact` first: for room, or against many batches."""
        return not self.room_for(size) or len(self._mine) > MOST_BATCHES

    def compact(self, live: Int64s) -> bool:
        """Move the rows of the emptiest batches together; `live` (every reference in use) is
        rewritten in place. False: there was nothing to gain."""
        candidates = self._emptiest()
        mask = np.zeros(len(self._live), dtype=np.bool_)
        mask[candidates] = True
        moved = _rows_in(mask, live)
        chosen = self._that_fit(candidates, live[moved])
        if not chosen:
            return False
        mask[:] = False
        mask[chosen] = True
        moved = moved[mask[numbers_of(live[moved])]]
        moved = moved[np.argsort(live[moved], kind="stable")]
        old = live[moved]
        columns = self.sources.gather(numbers_of(old), rows_of(old), range(len(self.sources.schema)))
        together = pa.RecordBatch.from_arrays(columns, schema=self.sources.schema)
        if self.held_bytes + batch_bytes(together) > self.limit:
            return False  # dictionaries travel whole: their rows' bytes are only an estimate
        live[moved] = self.append(together, len(moved))
        for number in chosen:
            self._forget(number)
        self.moved_rows += len(moved)
        return True

    def clear(self) -> None:
        for number in list(self._mine):
            self._forget(number)

    def check(self) -> None:
        """The invariants, for tests."""
        assert self.sources.pinned or self.held_bytes == sum(self.sources.bytes_of(n) for n in self._mine)
        assert all(0 < self._live[n] <= self._total[n] for n in self._mine)
        assert self.held_bytes <= self.limit, (self.held_bytes, self.limit)

    def _emptiest(self) -> list[int]:
        """Batches whose live rows should fit into one piece together, those with most dead first."""

        def live_bytes(number: int) -> float:
            return self.sources.bytes_of(number) * float(self._live[number] / self._total[number])

        many = len(self._mine) > MOST_BATCHES // 2
        chosen: list[int] = []
        moving = 0.0
        for number in sorted(self._mine, key=lambda n: (self._live[n] / self._total[n], live_bytes(n), n)):
            full = self._live[number] == self._total[number]
            if full and not (many and live_bytes(number) < self.piece_bytes / 4):
                continue
            if chosen and moving + live_bytes(number) > self.piece_bytes:
                continue
            moving += live_bytes(number)
            chosen.append(number)
        return chosen

    def _that_fit(self, candidates: list[int], rows: Int64s) -> list[int]:
        """Those candidates whose live rows do fit, by their real bytes; none without a gain."""
        numbers = numbers_of(rows)
        sizes = np.bincount(numbers, self.sources.row_bytes(numbers, rows_of(rows)), len(self._live))
        room = self.limit - self.held_bytes - self.sources.batch_bytes
        chosen: list[int] = []
        moving = 0.0
        for number in candidates:
            allowed = min(room, self.piece_bytes) if chosen else room
            if moving + sizes[number] <= allowed:
                moving += float(sizes[number])
                chosen.append(number)
        gains = any(self._live[n] < self._total[n] for n in chosen) or len(chosen) > 1
        return chosen if gains else []

    def _forget(self, number: int) -> None:
        self._mine.discard(number)
        self._live[number] = self._total[number] = self._size[number] = 0
        self.sources.drop(number)
