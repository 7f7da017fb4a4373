"""OP-CACHEJOIN's two ends of the queue: what the order alone does to the loads."""

from __future__ import annotations

from tests.algorithms.steady import TRACES, counted, steady

PINNED = {
    ("sorted", 0.0): 805,
    ("sorted", 0.5): 700,
    ("sorted", 1.0): 265,
    ("scattered", 0.0): 815,
    ("scattered", 0.5): 737,
    ("scattered", 1.0): 290,
}


def test_loads_are_those_pinned() -> None:
    assert counted("op_cachejoin") == PINNED


def test_the_order_costs_loads_where_the_cache_leaves_no_skew() -> None:
    """Behind a cache the youngest row's partition isn't more popular than any other, and few rows wait
    for it yet. S5's gain is two reads at once, which counts of loads can't show."""
    for trace in TRACES:
        ratio = steady("op_cachejoin", trace).rows_per_load / steady("cachejoin", trace).rows_per_load
        assert (ratio > 1) == (trace == ("sorted", 1.0))
        assert 0.8 < ratio < 1.1
