"""The row pool against a dictionary of rows: nothing lost, nothing mixed up, never above its limit."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from semistream.structures.rowpool import MOST_BATCHES, PIECES, RowPool, numbers_of, references, rows_of
from semistream.structures.sizes import batch_bytes
from semistream.structures.sources import Sources
from tests.structures.samples import FLAT_SCHEMA, NESTED_SCHEMA, batch

BARE = pa.schema([])
Int64s = NDArray[np.int64]


def contents(sources: Sources, refs: Int64s) -> list[dict[str, object]]:
    columns = sources.gather(numbers_of(refs), rows_of(refs), range(len(sources.schema)))
    rows: list[dict[str, object]] = pa.RecordBatch.from_arrays(columns, schema=sources.schema).to_pylist()
    return rows


class WatchedSources(Sources):
    """Sources that notice a limit exceeded for a moment only: while rows are moved, they exist twice."""

    def __init__(self, schema: pa.Schema, limit: int) -> None:
        super().__init__(schema)
        self.limit = limit

    def add(self, batch: pa.RecordBatch, held: int | None = None) -> int:
        number = super().add(batch, held)
        assert self.held_bytes <= self.limit
        return number


class Model:
    """A pool, and what each reference should read."""

    def __init__(self, schema: pa.Schema, limit: int, seed: int) -> None:
        self.sources = WatchedSources(schema, limit)
        self.pool = RowPool(self.sources, limit)
        self.rng = np.random.default_rng(seed)
        self.references: dict[int, int] = {}
        self.expected: dict[int, dict[str, object]] = {}
        self.ids = 0

    def check(self) -> None:
        self.pool.check()
        self.sources.check()
        assert self.pool.held_bytes <= self.pool.limit
        assert len(set(self.references.values())) == len(self.references)

    def check_contents(self) -> None:
        refs = np.array([*self.references.values()], dtype=np.int64)
        if len(self.sources.schema):
            assert contents(self.sources, refs) == [*self.expected.values()]

    def compact(self) -> bool:
        live = np.array([*self.references.values()], dtype=np.int64)
        moved = self.pool.compact(live)
        self.references = dict(zip(self.references, live.tolist(), strict=True))
        self.check()
        return moved

    def append(self, rows: int, longest: int) -> bool:
        ids = [*range(self.ids, self.ids + rows)]
        new = batch(self.sources.schema, ids, self.rng, longest)
        size = batch_bytes(new)
        while self.pool.wants_compacting(size) and self.compact():
            pass
        if not self.pool.room_for(size):
            return False
        self.ids += rows
        refs = self.pool.append(new, rows)
        assert len(refs) == rows
        self.references |= dict(zip(ids, refs.tolist(), strict=True))
        self.expected |= dict(zip(ids, new.to_pylist() or [{}] * rows, strict=True))
        self.check()
        return True

    def release(self, chosen: Int64s) -> Int64s:
        refs = np.array([self.references.pop(int(i)) for i in chosen], dtype=np.int64)
        for i in chosen:
            del self.expected[int(i)]
        self.pool.release(refs)
        self.check()
        return refs

    def release_some(self, most: int) -> Int64s:
        ids = self.rng.permutation(np.array([*self.references], dtype=np.int64))
        return self.release(ids[: int(self.rng.integers(0, most + 1))])


@pytest.mark.parametrize("schema", [FLAT_SCHEMA, NESTED_SCHEMA, BARE], ids=["flat", "nested", "bare"])
@pytest.mark.parametrize("seed", range(3))
def test_against_a_dictionary(seed: int, schema: pa.Schema) -> None:
    model = Model(schema, 20_000, seed)
    refused = 0
    for step in range(250):
        # Now and then a batch with long rows: their bytes are nothing like their batch's average.
        longest = 1500 if model.rng.random() < 0.15 else 40
        if not model.append(int(model.rng.integers(1, 15)), longest):
            refused += 1
            model.release_some(30)
        model.release_some(len(model.references) if step % 60 == 59 else 6)
        if step % 10 == 0:
            model.check_contents()
    assert (refused > 0) == (schema is not BARE), "a pool that is never full wasn't tested"
    assert model.pool.moved_rows > 0 or schema is BARE
    model.release(np.array([*model.references], dtype=np.int64))
    assert (model.pool.held_bytes, model.pool.live_bytes, len(model.sources)) == (0, 0, 0)


@pytest.mark.parametrize("seed", range(3))
def test_dead_rows_never_keep_live_ones_out(seed: int) -> None:
    """Live rows may fill all but two pieces: whatever is dead beyond makes room when asked to."""
    model = Model(pa.schema([("id", pa.int64())]), 16_000, seed)
    sizes = [int(n) for n in model.rng.integers(1, model.pool.piece_bytes // 8 + 1, 300)]
    for rows in sizes:
        while (len(model.references) + rows) * 8 > model.pool.limit * (PIECES - 2) // PIECES:
            model.release_some(20)
        assert model.append(rows, 0)


def test_long_rows_that_outlive_short_ones_fit_when_moved() -> None:
    model = Model(pa.schema([("text", pa.string())]), 80_000, seed=0)
    kept: list[int] = []
    for _ in range(400):
        texts = ["x" * 4000, *["y"] * 40]
        new = pa.RecordBatch.from_pydict({"text": texts}, model.sources.schema)
        live = np.array(kept, dtype=np.int64)
        while model.pool.wants_compacting(batch_bytes(new)) and model.pool.compact(live):
            model.pool.check()
        kept = live.tolist()
        if not model.pool.room_for(batch_bytes(new)):
            break
        refs = model.pool.append(new, 41)
        model.pool.release(refs[1:])  # by their number the dead rows are nearly all of it
        kept.append(int(refs[0]))
        model.pool.check()
    assert len(kept) * 4000 >= model.pool.limit * (PIECES - 2) / PIECES
    assert contents(model.sources, np.array(kept)) == [{"text": "x" * 4000}] * len(kept)


@pytest.mark.parametrize("schema", [FLAT_SCHEMA, BARE], ids=["flat", "bare"])
def test_many_small_batches_are_merged(schema: pa.Schema) -> None:
    model = Model(schema, 10_000_000, seed=1)
    for _ in range(10 * MOST_BATCHES):
        assert model.append(1, 10)
        assert len(model.sources) <= MOST_BATCHES + 2
    model.check_contents()


def test_pins_keep_released_and_moved_rows_readable() -> None:
    model = Model(FLAT_SCHEMA, 40_000, seed=2)
    for _ in range(12):
        assert model.append(10, 40)
    expected = [*model.expected.values()]
    noted = np.array([*model.references.values()], dtype=np.int64)
    model.sources.pin()
    model.release(np.arange(1, 120, 2))
    model.release(np.arange(0, 40, 2))
    assert model.compact()
    for _ in range(3):
        model.append(10, 40)
    held = model.pool.held_bytes
    assert contents(model.sources, noted) == expected
    model.check_contents()
    model.sources.unpin()
    model.check()
    model.check_contents()
    assert model.pool.held_bytes < held
    gone = {*numbers_of(noted).tolist()} - {*numbers_of(np.array([*model.references.values()])).tolist()}
    assert gone
    for number in gone:
        with pytest.raises(AssertionError, match="is gone"):
            model.sources.batch(number)


def test_nothing_to_gain() -> None:
    model = Model(FLAT_SCHEMA, 40_000, seed=3)
    assert not model.compact()
    assert model.append(10, 40)
    assert not model.compact()
    assert model.pool.moved_rows == 0


def test_no_rows_are_not_kept() -> None:
    model = Model(FLAT_SCHEMA, 1000, seed=4)
    assert model.append(0, 0)
    assert (len(model.sources), model.pool.held_bytes) == (0, 0)


def test_clear() -> None:
    model = Model(FLAT_SCHEMA, 40_000, seed=5)
    for _ in range(5):
        model.append(10, 40)
    model.pool.clear()
    model.pool.check()
    assert (len(model.sources), model.pool.held_bytes, model.pool.live_bytes) == (0, 0, 0)


def test_references() -> None:
    refs = references(7, 3)
    assert numbers_of(refs).tolist() == [7, 7, 7]
    assert rows_of(refs).tolist() == [0, 1, 2]
    assert numbers_of(np.array([-1])).tolist() == [-1]
