"""MESHJOIN (described in S3, S5): no index; the master is scanned in a cycle past a queue of chunks.

    read the next partition of the master (cyclic) and w stream rows
    if the queue holds k chunks: drop the oldest, it has met every partition
    add the w rows to the hash table and the queue
    every master row of the partition probes the hash table

k is the number of partitions and w = h / k, so each row meets each partition exactly once, wherever in
the cycle it began, and the loads per row are 1 / w whatever the skew. Nothing about the master is
assumed: no index, no order, no unique key.

The original waits until w rows are there; so do we in `push`. `step` runs with a short chunk, so that
a slow stream is answered all the same.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import ClassVar

import numpy as np

from semistream.algorithms.base import Algorithm, Batches, Settings, Workshop
from semistream.phases.arrivals import Misses
from semistream.phases.loading import Loaded
from semistream.phases.plan import Facts, Needs
from semistream.structures.codeindex import CodeIndex


class MeshJoin(Algorithm):
    """A cyclic scan past chunks of pending rows."""

    uses_directory: ClassVar[bool] = False
    eager: ClassVar[bool] = True  # the scan goes on with every chunk

    @classmethod
    def needs(cls, settings: Settings, facts: Facts) -> Needs:
        return replace(super().needs(settings, facts), indexed_rows=True)

    def __init__(self, workshop: Workshop, settings: Settings) -> None:
        super().__init__(workshop, settings)
        partitions = self.page_phase.partitions
        self.loads_per_chunk = self._loads_per_chunk(partitions)
        self.chunks = max(1, -(-partitions // self.loads_per_chunk))
        self.chunk_rows = max(1, self.pending.capacity // self.chunks)
        self._index = CodeIndex(self.pending.capacity)
        self._matched = np.zeros(self.pending.capacity, dtype=np.bool_)
        self._chunks: deque[int] = deque()  # the oldest first
        self._turns = 0
        workshop.budget.hold("index", self._index.held_bytes + self._matched.nbytes)

    def take_in(self, misses: Misses) -> Batches:
        phase = self.page_phase
        for piece in phase.pieces(misses):
            size = piece.batch.get_total_buffer_size()
            yield from phase.tidy(size)
            while not phase.pool.room_for(size) and not phase.idle:
                yield from self.make_room()
                yield from phase.tidy(size)
            phase.stage(piece)
            while phase.staged_rows >= self.chunk_rows:
                yield from self.make_room()

    def step(self) -> Batches:
        if self.waiting_rows:
            yield from self.make_room()
        yield from self.page_phase.flush()

    def drain(self) -> Batches:
        while self.waiting_rows:
            yield from self.make_room()
        yield from self.page_phase.flush()

    def make_room(self) -> Batches:
        """One turn: a chunk leaves, a chunk comes, and the next partitions go by."""
        if len(self._chunks) == self.chunks:
            self._expire(self._chunks.popleft())
            if self.page_phase.idle:  # that was the last of them: nobody is left to read for
                self._chunks.clear()
                return
        slots = self.page_phase.admit(self.chunk_rows, bucket=self._turns)
        self._index.insert(self.pending.codes[slots], slots)
        self._matched[slots] = False
        self._chunks.append(self._turns)
        # A cycle is `chunks` turns, its last one perhaps short: no row meets a partition twice.
        first = self._turns % self.chunks * self.loads_per_chunk
        for partition in range(first, min(first + self.loads_per_chunk, self.page_phase.partitions)):
            yield from self._sweep(self.page_phase.read(partition))
        self._turns += 1
        if not len(self.pending):
            self._chunks.clear()

    def _loads_per_chunk(self, partitions: int) -> int:
        """Partitions that go by between two chunks."""
        return 1

    def _sweep(self, loaded: Loaded) -> Batches:
        """Every row of a partition probes the waiting rows."""
        phase = self.page_phase
        number = phase.bring(loaded)
        phase.counters.loads += 1
        for rows, slots in self._index.find_pieces(loaded.keys.codes, lambda: phase.answers.room):
            waiting = self.pending.references[slots]
            same = phase.same_keys(waiting, number, rows)
            self._matched[slots[same]] = True
            if phase.answers.plan.pairs:
                phase.answers.matched(waiting[same], (np.int64(number) << 32) + rows[same])
            if phase.answers.full:
                yield from phase.answers.flush()
        phase.pages.drop(number)
        if phase.pages.held_bytes > self.plan.pages_bytes // 2:
            yield from phase.answers.flush()
        phase.account()

    def _expire(self, chunk: int) -> None:
        """A chunk has met the whole master: what has not matched by now never will."""
        taken = self.pending.take(chunk)
        self._index.remove(taken.codes, taken.slots)
        self.page_phase.finish(taken, self._matched[taken.slots])


ALGORITHM = MeshJoin
