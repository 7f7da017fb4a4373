"""The queue of waiting rows against a plain list."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from semistream.structures.codeindex import NONE
from semistream.structures.pending import Pending, Taken

Row = tuple[int, int, int, int]  # code, page, reference, admission number


def rows_of(taken: Taken) -> list[Row]:
    columns = (taken.codes, taken.pages, taken.references, taken.admitted)
    return [*zip(*(column.tolist() for column in columns), strict=True)]


def check_against(pending: Pending, model: list[Row], rng: np.random.Generator, pages: int) -> None:
    pending.check()
    assert (len(pending), pending.free) == (len(model), pending.capacity - len(model))
    counts = Counter(page for _, page, _, _ in model)
    assert pending.pages().tolist() == sorted(counts)
    asked = np.arange(pages)
    assert pending.counts(asked).tolist() == [counts[page] for page in range(pages)]
    slots = pending.live_slots()
    assert pending.references[slots].tolist() == [row[2] for row in model]
    assert pending.codes[slots].tolist() == [row[0] for row in model]
    if not model:
        assert {pending.oldest_page(), pending.youngest_page(), pending.page_at_rank(3)} == {NONE}
        assert (pending.fullest_page(), pending.oldest_age()) == (NONE, 0)
        return
    assert (pending.oldest_page(), pending.youngest_page()) == (model[0][1], model[-1][1])
    assert pending.oldest_age() == pending.admitted - model[0][3]
    assert pending.fullest_page() == min(counts, key=lambda page: (-counts[page], page))
    rank = int(rng.integers(-2, len(model) + 3))
    assert pending.page_at_rank(rank) == model[-1 - min(max(rank, 0), len(model) - 1)][1]


@pytest.mark.parametrize(("capacity", "pages"), [(1, 3), (50, 20), (30, 1000), (64, 1)])
@pytest.mark.parametrize("seed", range(2))
def test_against_a_list(seed: int, capacity: int, pages: int) -> None:
    rng = np.random.default_rng(seed)
    pending = Pending(capacity, pages)
    model: list[Row] = []
    for step in range(400):
        filling = rng.random() < (0.7 if step // 50 % 2 == 0 else 0.3)
        if filling and pending.free:
            count = int(rng.integers(1, pending.free + 1))
            waits_for = rng.integers(0, pages, count)
            codes = rng.integers(0, 2**63, count).astype(np.uint64) * np.uint64(2)
            references = rng.integers(0, 2**40, count)
            numbers = range(pending.admitted, pending.admitted + count)
            slots = pending.admit(codes, waits_for, references)
            assert pending.references[slots].tolist() == references.tolist()
            model += zip(codes.tolist(), waits_for.tolist(), references.tolist(), numbers, strict=True)
        else:
            slot_of = {int(pending._admitted_at[slot]): int(slot) for slot in pending.live_slots()}
            known = pending.pages() if rng.random() < 0.8 else np.arange(pages)
            chosen = rng.permutation(known)[: int(rng.integers(1, 4))]
            taken = pending.take(int(chosen[0])) if len(chosen) == 1 else pending.take_pages(chosen)
            assert rows_of(taken) == [row for page in chosen for row in model if row[1] == page]
            assert len(taken) == len(rows_of(taken))
            assert taken.slots.tolist() == [slot_of[int(number)] for number in taken.admitted]
            model = [row for row in model if row[1] not in chosen]
        check_against(pending, model, rng, pages)


def test_a_page_asked_for_twice_gives_its_rows_once() -> None:
    pending = Pending(8, 4)
    pending.admit(np.arange(5, dtype=np.uint64), np.array([1, 2, 1, 3, 1]), np.arange(5))
    taken = pending.take_pages(np.array([1, 2, 1]))
    assert taken.references.tolist() == [0, 2, 4, 1]
    pending.check()
    pending.admit(np.arange(7, dtype=np.uint64), np.arange(7) % 4, np.arange(7))
    pending.check()
    assert pending.free == 0


@pytest.mark.parametrize(("capacity", "pages"), [(1, 1), (5, 100), (100, 5), (1000, 1000), (8, 3)])
def test_bytes_are_those_allocated(capacity: int, pages: int) -> None:
    pending = Pending(capacity, pages)
    allocated = sum(array.nbytes for array in vars(pending).values() if isinstance(array, np.ndarray))
    state = pending._state.nbytes
    assert pending.held_bytes == Pending.bytes_for(capacity, pages) == allocated - state
