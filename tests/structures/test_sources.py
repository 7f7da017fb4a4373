"""Gathering from many batches gives what `take` from all of them together gives."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from semistream.structures.addressed import NOBODY
from semistream.structures.sources import Sources
from tests.structures.samples import TYPES, array

SOURCES, ROWS = 11, 30  # more sources than the first table of pointers holds


def filled(name: str, rng: np.random.Generator) -> tuple[Sources, list[pa.Array]]:
    arrays = [array(name, rng, ROWS, nulls=0.2 * (i % 2)) for i in range(SOURCES)]
    sources = Sources(pa.schema([("column", TYPES[name])]))
    for i, values in enumerate(arrays):
        assert sources.add(pa.RecordBatch.from_arrays([values], ["column"])) == i
        sources.check()
    return sources, arrays


def some_rows(
    rng: np.random.Generator, count: int, nobody: float
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    numbers = rng.integers(0, SOURCES, count).astype(np.int32)
    numbers[rng.random(count) < nobody] = NOBODY
    return numbers, rng.integers(0, ROWS, count)


@pytest.mark.parametrize("nobody", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("name", TYPES)
def test_gather_is_take(name: str, nobody: float) -> None:
    rng = np.random.default_rng(len(name))
    sources, arrays = filled(name, rng)
    together = pa.concat_arrays(arrays)
    for count in (1, 7, 8, 100):
        numbers, rows = some_rows(rng, count, nobody)
        [found] = sources.gather(numbers, rows, [0])
        found.validate(full=True)
        places = pa.array(numbers.astype(np.int64) * ROWS + rows, mask=numbers == NOBODY)
        assert found.type == TYPES[name]
        assert found.to_pylist() == together.take(places).to_pylist()
        if name != "null":
            assert found.null_count == together.take(places).null_count


@pytest.mark.parametrize("name", TYPES)
def test_row_bytes_bound_what_is_gathered(name: str) -> None:
    rng = np.random.default_rng(len(name))
    sources, _ = filled(name, rng)
    for count in (1, 9, 200):
        numbers, rows = some_rows(rng, count, nobody=0.2)
        [found] = sources.gather(numbers, rows, [0])
        total = int(sources.row_bytes(numbers, rows).sum())
        assert sources.total_bytes(numbers, rows) == total
        bound = total + sources.batch_bytes
        if name == "dictionary":  # a dictionary travels whole, whichever rows are wanted
            bound += SOURCES * found.dictionary.nbytes
        assert found.nbytes <= bound


def test_a_long_row_is_charged_to_itself() -> None:
    sources = Sources(pa.schema([("text", pa.string()), ("n", pa.int32())]))
    sources.add(pa.RecordBatch.from_pydict({"text": ["", "x" * 1000, None], "n": [1, 2, 3]}, sources.schema))
    sizes = sources.row_bytes(np.zeros(3, dtype=np.int32), np.arange(3))
    assert list(sizes - sizes[0]) == [0, 1000, 0]


def test_no_rows_and_no_columns() -> None:
    sources = Sources(pa.schema([("text", pa.string())]))
    nothing = np.empty(0, dtype=np.int32), np.empty(0, dtype=np.int64)
    assert sources.gather(*nothing, [0]) == [pa.array([], pa.string())]
    bare = Sources(pa.schema([]))
    number = bare.add(pa.RecordBatch.from_arrays([], schema=bare.schema))
    where = np.full(4, number, dtype=np.int32), np.arange(4)
    assert bare.gather(*where, []) == []
    assert list(bare.row_bytes(*where)) == [0, 0, 0, 0]


def test_only_a_batch_wanted_whole_is_shared_and_only_if_asked_for() -> None:
    sources = Sources(pa.schema([("n", pa.int64())]))
    batch = pa.RecordBatch.from_pydict({"n": list(range(5))}, sources.schema)
    number = sources.add(batch)
    mine = np.full(5, number, dtype=np.int32)

    def address(rows: NDArray[np.int64], share: bool) -> int:
        [found] = sources.gather(mine[: len(rows)], rows, [0], share=share)
        assert found.to_pylist() == rows.tolist()
        return int(found.buffers()[1].address)

    own = batch.column(0).buffers()[1].address
    assert address(np.arange(5), share=True) == own
    assert address(np.arange(5), share=False) != own
    assert address(np.arange(4), share=True) != own
    assert address(np.arange(5)[::-1].copy(), share=True) != own


def test_a_slice_is_shared_of_memory_that_is_somebody_elses() -> None:
    sources = Sources(pa.schema([("n", pa.int64())]))
    batch = pa.RecordBatch.from_pydict({"n": list(range(5))}, sources.schema)
    [found] = sources.gather(
        np.full(2, sources.add(batch, held=0), dtype=np.int32), np.arange(2, 4), [0], share=True
    )
    assert found.to_pylist() == [2, 3]
    assert found.buffers()[1].address == batch.column(0).buffers()[1].address


@pytest.mark.parametrize("seed", range(3))
def test_adding_dropping_and_pinning(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sources = Sources(pa.schema([("n", pa.int64())]))
    there: dict[int, int] = {}
    only_pinned: dict[int, int] = {}
    pins = 0
    for step in range(400):
        act = rng.integers(0, 5)
        if act <= 1:
            batch = pa.RecordBatch.from_pydict({"n": [step] * int(rng.integers(1, 9))}, sources.schema)
            number = sources.add(batch, held=step)
            assert number not in there
            assert number not in only_pinned
            there[number] = step
        elif act == 2 and there:
            number = list(there)[int(rng.integers(len(there)))]
            sources.drop(number)
            (only_pinned if pins else {})[number] = there.pop(number)
        elif act == 3:
            sources.pin()
            pins += 1
        elif pins:
            sources.unpin()
            pins -= 1
            only_pinned = only_pinned if pins else {}
        sources.check()
        readable = there | only_pinned
        assert len(sources) == len(there)
        assert sources.pinned == (pins > 0)
        assert sources.held_bytes == sum(readable.values())
        numbers = np.array([*readable], dtype=np.int32)
        [found] = sources.gather(numbers, np.zeros(len(numbers), dtype=np.int64), [0])
        assert found.to_pylist() == list(readable.values())


def test_a_dropped_source_is_gone() -> None:
    sources = Sources(pa.schema([("n", pa.int64())]))
    number = sources.add(pa.RecordBatch.from_pydict({"n": [1]}, sources.schema))
    sources.drop(number)
    with pytest.raises(AssertionError, match=f"source {number} is gone"):
        sources.batch(number)
