"""SSCJ: CACHEJOIN that gives up the least frequent entry of its cache."""

from __future__ import annotations

import pytest

from tests.algorithms.steady import TRACES, counted, steady

PINNED = {
    ("sorted", 0.0): 726,
    ("sorted", 0.5): 612,
    ("sorted", 1.0): 228,
    ("scattered", 0.0): 709,
    ("scattered", 0.5): 619,
    ("scattered", 1.0): 252,
}


def test_loads_are_those_pinned() -> None:
    assert counted("sscj") == PINNED


def test_it_is_never_worse_than_random_replacement_and_better_under_skew() -> None:
    for trace in TRACES:
        ratio = steady("sscj", trace).rows_per_load / steady("cachejoin", trace).rows_per_load
        assert ratio > 0.98
        if trace[1] == 1.0:
            assert ratio > 1.02


@pytest.mark.parametrize("order", ["sorted", "scattered"])
def test_the_exact_minimum_is_hardly_better_than_the_least_of_eight(order: str) -> None:
    """`strict_paper` also counts plainly; with a threshold that few rows pass that doesn't matter."""
    exact = steady("sscj", (order, 1.0), strict_paper=True)
    assert exact.cache_hits == pytest.approx(steady("sscj", (order, 1.0)).cache_hits, rel=0.05)
