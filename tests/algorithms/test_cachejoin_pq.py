"""CACHEJOIN-PQ: CACHEJOIN's front, HYBRIDJOIN-PQ's order."""

from __future__ import annotations

import pytest

from tests.algorithms.steady import TRACES, counted, steady

PINNED = {
    ("sorted", 0.0): 724,
    ("sorted", 0.5): 634,
    ("sorted", 1.0): 242,
    ("scattered", 0.0): 706,
    ("scattered", 0.5): 642,
    ("scattered", 1.0): 261,
}


def test_loads_are_those_pinned() -> None:
    assert counted("cachejoin_pq") == PINNED


def test_page_priorities_add_a_little_to_a_cache_where_pages_differ() -> None:
    """What the cache leaves of a scattered master is nearly uniform: there is nothing to gain."""
    for trace in TRACES:
        ratio = steady("cachejoin_pq", trace).rows_per_load / steady("cachejoin", trace).rows_per_load
        if trace == ("sorted", 1.0):
            assert ratio > 1.03
        else:
            assert ratio == pytest.approx(1, abs=0.03)
