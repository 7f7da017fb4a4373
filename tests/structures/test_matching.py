"""Pairs of equal codes, however many the caller has room for at a time."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from semistream.structures.matching import CodeTable, match_bytes

codes = st.lists(st.sampled_from([0, 1, 2, 3, 2**32, 2**64 - 1]), max_size=25)


@settings(max_examples=150, deadline=None)
@given(left=codes, right=codes, pieces=st.integers(1, 12))
def test_pairs_are_the_nested_loop_in_order(left: list[int], right: list[int], pieces: int) -> None:
    table = CodeTable(np.array(right, dtype=np.uint64))
    assert len(table) == len(right)
    for most in (pieces, 1000):  # a table serves any number of matches
        check_pairs(table, left, right, most)


def check_pairs(table: CodeTable, left: list[int], right: list[int], most: int) -> None:
    matches = table.matches(np.array(left, dtype=np.uint64))
    found: list[tuple[int, int]] = []
    while not matches.finished:
        lefts, rights = matches.pairs(most)
        whole_rows = np.unique(lefts)
        assert len(lefts) <= most or len(whole_rows) == 1, "more pairs than there was room for"
        assert len(lefts) or matches.finished, "a piece without a pair"
        assert not {*whole_rows.tolist()} & {i for i, _ in found}, "a row in two pieces"
        found += zip(lefts.tolist(), rights.tolist(), strict=True)
    assert found == [(i, j) for i in range(len(left)) for j in range(len(right)) if left[i] == right[j]]


def test_bytes() -> None:
    assert [match_bytes(rows) for rows in (0, 4, 1000)] == [32, 48, 4 * 2048 + 4000]
    for rows in (0, 1, 4, 5, 1000):
        table = CodeTable(np.zeros(rows, dtype=np.uint64))
        assert table.nbytes == table.codes.nbytes + match_bytes(rows)
