"""The queue of frequent pages against a sorted list."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semistream.structures.pagequeue import ENTRY_BYTES, PageQueue

CAPACITY = 5
pushes = st.tuples(st.integers(0, 9), st.integers(0, 6), st.integers(1, 5))


@settings(max_examples=100, deadline=None)
@given(acts=st.lists(pushes | st.none() | st.just("clear"), max_size=40))
def test_against_a_sorted_list(acts: list[tuple[int, int, int] | str | None]) -> None:
    queue = PageQueue(CAPACITY)
    model: list[tuple[float, int, float]] = []
    for act in acts:
        if isinstance(act, tuple):
            page, due, frequency = act
            if page in queue:
                continue
            room = len(model) < CAPACITY
            assert queue.push(page, due, frequency) == room
            if room:
                model = sorted([*model, (due, page, frequency)])
        elif act == "clear":
            queue.clear()
            model.clear()
        elif model:
            assert queue.pop() == model.pop(0)[1:]
        queue.check()
        assert len(queue) == len(model)
        assert queue.held_bytes == ENTRY_BYTES * len(model)
        assert [page for page in range(10) if page in queue] == sorted(page for _, page, _ in model)
        for now in range(-1, 8):
            assert queue.due(now) == any(due <= now for due, _, _ in model)


def test_a_page_is_queued_once() -> None:
    queue = PageQueue(3)
    assert queue.push(7, 1.0, 2.0)
    with pytest.raises(AssertionError, match="page 7 is queued already"):
        queue.push(7, 2.0, 2.0)
