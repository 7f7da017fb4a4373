"""Kept pages against a dictionary."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from semistream.structures.matching import CodeTable
from semistream.structures.pagecache import PageCache

SCHEMA = pa.schema([("n", pa.int64())])
LIMIT = 500


def page_of(number: int, rows: int) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"n": [number * 1000 + row for row in range(rows)]}, SCHEMA)


@pytest.mark.parametrize("seed", range(3))
def test_against_a_dictionary(seed: int) -> None:
    rng = np.random.default_rng(seed)
    cache = PageCache(SCHEMA, LIMIT)
    model: dict[int, tuple[int, int, float]] = {}
    for step in range(300):
        page, held = int(rng.integers(0, 30)), int(rng.integers(1, 120))
        if page not in model and rng.random() < 0.7:
            used = sum(size for _, size, _ in model.values())
            assert cache.room_for(held) == (used + held <= LIMIT)
            while not cache.room_for(held):
                victim = cache.least_used()
                assert victim == min(model, key=lambda number: (model[number][2], number))
                cache.drop(victim)
                del model[victim]
            rows, use = int(rng.integers(1, 9)), float(rng.integers(0, 4))
            codes = CodeTable(np.arange(rows, dtype=np.uint64) + np.uint64(page))
            cache.keep(page, page_of(page, rows), codes, held, use)
            model[page] = (rows, held, use)
        elif page in model and rng.random() < 0.5:
            cache[page].use = float(step)
            model[page] = (*model[page][:2], float(step))
        elif page in model:
            cache.drop(page)
            del model[page]
        elif rng.random() < 0.05:
            cache.clear()
            model.clear()
        cache.check()
        cache.sources.check()
        assert {number: (len(kept.codes), kept.held, kept.use) for number, kept in cache.items()} == model
        assert [number for number in range(30) if number in cache] == sorted(model)
        assert (len(cache), cache.rows) == (len(model), sum(rows for rows, _, _ in model.values()))
        for number, (rows, _, _) in model.items():
            assert cache.sources.batch(cache[number].number).equals(page_of(number, rows))
            assert cache[number].codes.codes[0] == number


def test_a_page_without_room_is_refused() -> None:
    cache = PageCache(SCHEMA, 100)
    codes = CodeTable(np.zeros(1, dtype=np.uint64))
    with pytest.raises(AssertionError, match="room_for"):
        cache.keep(1, page_of(1, 1), codes, 101, 0.0)
    cache.keep(1, page_of(1, 1), codes, 100, 0.0)
    with pytest.raises(AssertionError):
        cache.keep(1, page_of(1, 1), codes, 0, 0.0)


def test_a_pin_keeps_a_dropped_page_readable() -> None:
    cache = PageCache(SCHEMA, 100)
    cache.keep(3, page_of(3, 4), CodeTable(np.zeros(4, dtype=np.uint64)), 60, 0.0)
    number = cache[3].number
    cache.sources.pin()
    cache.drop(3)
    assert cache.sources.batch(number).equals(page_of(3, 4))
    assert (cache.held_bytes, cache.sources.held_bytes) == (0, 60)
    cache.sources.unpin()
    assert cache.sources.held_bytes == 0
