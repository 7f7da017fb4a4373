"""What a cell's join is given, and what its answers must be.

The master's payload is a function of its key, so that every answer can be checked as it comes; a sum over
the answered rows' numbers says that none was lost and none came twice.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from semistream.errors import ArgumentError, SemiStreamError
from semistream.experiments.accounting import MASTER_ROW_BYTES, REORDERED, capacities
from semistream.experiments.cells import Cell
from semistream.experiments.disks import SimulatedDisk
from semistream.experiments.found import found_keys
from semistream.stores.base import Store
from semistream.stores.clustered_build import build
from semistream.stores.master import master
from semistream.stores.memory import MemoryStore
from semistream.workloads.keys import KeyStream

Int64s = NDArray[np.int64]
FACTOR = 7
OFFSET = 3
BEFORE = 1 << 40  # where the rows begin that a reordered master has seen: none of them is measured


class WrongAnswerError(SemiStreamError):
    """A run's output isn't the join of what went in."""


class World(Protocol):
    """A master and a stream."""

    def store(self) -> Store: ...

    def batch(self, first: int, rows: int) -> pa.RecordBatch:
        """These rows of the stream: `key`, and `number` to know each again."""
        ...

    def partners(self, batch: pa.RecordBatch) -> Int64s:
        """How many master rows each of these stream rows meets."""
        ...


def payload_of(keys: Int64s) -> Int64s:
    return keys * FACTOR + OFFSET


def world_of(cell: Cell, folder: Path | None = None) -> World:
    """The cell's master and stream; `folder` is where masters of the real disk are."""
    if cell.workload == "zipf":
        return ZipfWorld(cell, folder)
    if cell.disk == "real":
        raise ArgumentError(f"the workload {cell.workload} has no master on the real disk: simulate it")
    return FoundWorld(cell, *found_keys(cell))


@dataclass(frozen=True)
class ZipfWorld:
    """Keys by Zipf's law over a master with one row a key.

    A master that was put into another order has a map from keys to places: keys are places then.
    """

    cell: Cell
    folder: Path | None = None

    def store(self) -> Store:
        if self.cell.disk == "real":
            return _real(self.cell, self.folder)
        return _simulated(self.cell, np.arange(self.cell.master_rows))

    def batch(self, first: int, rows: int) -> pa.RecordBatch:
        cell = self.cell
        keys = KeyStream(cell.master_rows, cell.exponent, order=cell.order, seed=cell.seed).values(
            first, rows
        )
        places = places_by_use(cell)
        return _stream(keys if places is None else places[keys], first)

    def partners(self, batch: pa.RecordBatch) -> Int64s:
        return np.ones(batch.num_rows, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class FoundWorld:
    """Keys that stand in data: the master's in their order, the stream's again and again."""

    cell: Cell
    master: Int64s
    stream: Int64s

    def store(self) -> Store:
        return _simulated(self.cell, self.master)

    def batch(self, first: int, rows: int) -> pa.RecordBatch:
        return _stream(self.stream.take(np.arange(first, first + rows), mode="wrap"), first)

    def partners(self, batch: pa.RecordBatch) -> Int64s:
        keys = batch.column("key").to_numpy()
        ends = np.searchsorted(self.master, keys, side="right")
        return np.asarray(ends - np.searchsorted(self.master, keys, side="left"), dtype=np.int64)


class Oracle:
    """Compares what comes out with what went in."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._wanted = self._got = 0
        self._wanted_sum = self._got_sum = 0
        self.compared = 0

    def goes_in(self, batch: pa.RecordBatch) -> None:
        partners = self._world.partners(batch)
        numbers = batch.column("number").to_numpy()
        self._wanted += int(partners.sum())
        self._wanted_sum += int((_mixed(numbers) * partners.astype(np.uint64)).sum())

    def comes_out(self, batches: Iterable[pa.RecordBatch]) -> None:
        for batch in batches:
            keys = batch.column("key").to_numpy()
            wrong = np.flatnonzero(batch.column("payload").to_numpy() != payload_of(keys))
            if len(wrong):
                raise WrongAnswerError(
                    f"{len(wrong)} of {batch.num_rows} answers aren't those of their keys, the first is "
                    f"{batch.slice(int(wrong[0]), 1).to_pylist()[0]}: this is a bug, please report it"
                )
            self.compared += batch.num_rows
            self._got += batch.num_rows
            self._got_sum += int(_mixed(batch.column("number").to_numpy()).sum())

    def all_out(self) -> int:
        """Every row has been answered as often as it has partners, or this raises; how many answers."""
        if self._got != self._wanted or self._got_sum % 2**64 != self._wanted_sum % 2**64:
            raise WrongAnswerError(
                f"{self._got} answers came for {self._wanted} expected ones, and their rows' checksums "
                f"{'agree' if self._got_sum % 2**64 == self._wanted_sum % 2**64 else 'differ'}: "
                "rows are lost or doubled; this is a bug, please report it"
            )
        return self._got


def _mixed(numbers: Int64s) -> NDArray[np.uint64]:
    """So that two wrong rows don't add up to two right ones."""
    mixed = numbers.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return np.asarray(mixed ^ (mixed >> np.uint64(29)))


@cache
def places_by_use(cell: Cell) -> Int64s | None:
    """Where each key's row lies once R is in the order of its use so far, as a stream of some pending
    capacities shows it; None: R stays as it is. Rows that nobody has asked for keep their order."""
    observed = float(cell.setting(REORDERED) or 0.0)
    if not observed:
        return None
    stream = KeyStream(cell.master_rows, cell.exponent, order=cell.order, seed=cell.seed)
    seen = stream.values(BEFORE, int(observed * capacities(cell).pending_rows))
    places = np.empty(cell.master_rows, dtype=np.int64)
    uses = np.bincount(seen, minlength=cell.master_rows)
    places[np.argsort(-uses, kind="stable")] = np.arange(cell.master_rows)
    return places


def _stream(keys: Int64s, first: int) -> pa.RecordBatch:
    return pa.record_batch({"key": keys, "number": np.arange(first, first + len(keys))})


def _simulated(cell: Cell, keys: Int64s) -> SimulatedDisk:
    table = pa.record_batch({"key": keys, "payload": payload_of(keys)})
    return SimulatedDisk(MemoryStore(table, "key", page_rows=cell.partition_rows))


def _real(cell: Cell, folder: Path | None) -> Store:
    """120 bytes a row in a clustered copy that is read past the page cache; made once a run."""
    assert folder is not None, "the real disk needs a folder for its masters"
    path = folder / f"{cell.master_rows}-rows-{cell.partition_rows}-a-page"
    if not path.exists():
        keys = np.arange(cell.master_rows)
        filling = np.zeros((cell.master_rows, MASTER_ROW_BYTES - 16), dtype=np.uint8)
        wide = pa.FixedSizeBinaryArray.from_buffers(
            pa.binary(MASTER_ROW_BYTES - 16), cell.master_rows, [None, pa.py_buffer(filling)]
        )
        table = pa.table({"key": keys, "payload": payload_of(keys), "filling": wide})
        build(table, path, "key", page_rows=cell.partition_rows).close()
    return master(str(path), key="key", io="direct").open()


@contextmanager
def masters_in(folder: Path) -> Iterator[Path]:
    """A folder for masters of the real disk, removed at the end."""
    path = folder / "masters"
    path.mkdir(parents=True, exist_ok=True)
    try:
        yield path
    finally:
        shutil.rmtree(path)
