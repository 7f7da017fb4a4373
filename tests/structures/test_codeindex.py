"""The hash multi-map against a plain dictionary."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from semistream.structures.codeindex import NONE, CodeIndex, table_size

CAPACITY = 40


def code_pool(name: str) -> NDArray[np.uint64]:
    """Codes that meet each other often, in the table and as equals."""
    if name == "few":
        return np.arange(12, dtype=np.uint64)
    if name == "extremes":
        return np.array([0, 1, 2**31, 2**32, 2**63 - 1, 2**63, 2**64 - 1, 2**64 - 2], dtype=np.uint64)
    return np.arange(200, dtype=np.uint64) << np.uint64(32)


@pytest.mark.parametrize("name", ["few", "extremes", "high bits only"])
@pytest.mark.parametrize("seed", range(3))
def test_against_a_dictionary(seed: int, name: str) -> None:
    rng = np.random.default_rng(seed)
    codes = code_pool(name)
    asked = np.concatenate([codes, [np.uint64(77777)]])
    index = CodeIndex(CAPACITY)
    model: dict[int, np.uint64] = {}
    for step in range(400):
        free = [item for item in range(CAPACITY) if item not in model]
        # Phases of filling to the brim and of draining: long runs, then holes in them.
        if free and (rng.random() < (0.8 if step // 80 % 2 == 0 else 0.3) or not model):
            items = rng.permutation(free)[: int(rng.integers(1, 4))].astype(np.int32)
            chosen = rng.choice(codes, len(items))
            index.insert(chosen, items)
            model |= dict(zip(items.tolist(), chosen, strict=True))
        else:
            items = rng.permutation([*model])[: int(rng.integers(1, 4))].astype(np.int32)
            index.remove(np.array([model.pop(int(item)) for item in items]), items)
        index.check()
        assert index.count == len(model)
        skip = rng.random(len(asked)) < 0.1
        expected = sorted(
            (position, item)
            for position, code in enumerate(asked)
            for item, held in model.items()
            if held == code and not skip[position]
        )
        positions, items = index.find_all(asked, skip)
        assert sorted(zip(positions.tolist(), items.tolist(), strict=True)) == expected
        assert np.all(np.diff(positions) >= 0)
        check_pieces(index, asked, int(rng.integers(1, 9)))
        first = index.find(asked, skip)
        assert set(np.flatnonzero(first != NONE)) == {position for position, _ in expected}
        assert {*zip(np.flatnonzero(first != NONE), first[first != NONE], strict=True)} <= {*expected}


def check_pieces(index: CodeIndex, asked: NDArray[np.uint64], room: int) -> None:
    pieces = [*index.find_pieces(asked, lambda: room)]
    assert all(len(piece[1]) <= room or len(np.unique(piece[0])) == 1 for piece in pieces)
    positions, items = index.find_all(asked, np.zeros(len(asked), dtype=np.bool_))
    assert np.array_equal(positions, np.concatenate([piece[0] for piece in pieces]))
    assert np.array_equal(items, np.concatenate([piece[1] for piece in pieces]))


def test_removing_what_is_not_there_is_an_error() -> None:
    index = CodeIndex(4)
    index.insert(np.array([5], dtype=np.uint64), np.array([1], dtype=np.int32))
    with pytest.raises(AssertionError, match="doesn't hold"):
        index.remove(np.array([5], dtype=np.uint64), np.array([2], dtype=np.int32))


def test_check_sees_a_code_cut_off_from_its_home() -> None:
    index = CodeIndex(4)
    index.insert(np.array([5], dtype=np.uint64), np.array([1], dtype=np.int32))
    index._table[index._heads != NONE] = 6
    index._table[index._heads == NONE] = 6
    place = int(np.flatnonzero(index._heads != NONE)[0])
    index._heads = np.roll(index._heads, 1)
    assert index._heads[place] == NONE
    with pytest.raises(AssertionError):
        index.check()


@pytest.mark.parametrize("capacity", [0, 1, 5, 8, 9, 1000])
def test_bytes_are_those_promised_and_the_table_is_at_most_half_full(capacity: int) -> None:
    assert CodeIndex(capacity).held_bytes == CodeIndex.bytes_for(capacity)
    assert table_size(capacity) >= 2 * capacity
    assert table_size(capacity) <= max(8, 4 * capacity)
