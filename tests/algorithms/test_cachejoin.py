"""CACHEJOIN answers hot rows from its cache, and promotes by rate where the paper counts."""

from __future__ import annotations

import pytest

from semistream.algorithms.cachejoin import CacheSettings
from semistream.costs.renewal import zipf_shares
from tests.algorithms.steady import CACHE_ROWS, MEASURED, PENDING, ROWS, TRACES, counted, steady

PINNED = {
    ("sorted", 0.0): 724,
    ("sorted", 0.5): 629,
    ("sorted", 1.0): 274,
    ("scattered", 0.0): 706,
    ("scattered", 0.5): 641,
    ("scattered", 1.0): 258,
}


def test_loads_are_those_pinned() -> None:
    assert counted("cachejoin") == PINNED


def test_the_cache_finds_most_of_what_an_ideal_one_would_hold() -> None:
    """The ideal one has the most frequent rows. Random replacement keeps some rows that are not."""
    for order, exponent in TRACES:
        ideal = float(zipf_shares(ROWS, exponent)[:CACHE_ROWS].sum())
        hits = steady("cachejoin", (order, exponent)).cache_hits / (MEASURED * PENDING)
        assert hits < 1.05 * ideal
        assert hits > {0.0: 0.9, 0.5: 0.6, 1.0: 0.85}[exponent] * ideal


def test_promotions_into_a_full_cache_are_rare() -> None:
    for trace in (("scattered", 0.0), ("sorted", 0.5), ("scattered", 1.0)):
        found = steady("cachejoin", trace)
        assert found.promotions <= 1.2 * found.loads / CacheSettings().loads_per_promotion
        assert steady("cachejoin", trace, strict_paper=True).promotions > 1.7 * found.promotions


@pytest.mark.parametrize("name", ["cachejoin", "sscj"])
def test_counting_plainly_costs_hits(name: str) -> None:
    """S5 takes any row that answered two waiting rows for hot, and pushes hotter ones out for it."""
    for order in ("sorted", "scattered"):
        paper = steady(name, (order, 1.0), strict_paper=True)
        assert paper.promotions
        assert paper.cache_hits < 1.01 * steady(name, (order, 1.0)).cache_hits


def test_a_threshold_that_is_given_is_kept_to() -> None:
    trace = ("sorted", 1.0)
    some = steady("cachejoin", trace, promote_above=5.0, strict_paper=True)
    assert 0 < some.promotions < 0.1 * steady("cachejoin", trace, strict_paper=True).promotions
    assert 0 < some.cache_hits < steady("cachejoin", trace).cache_hits
    assert steady("cachejoin", trace, promote_above=1e6).cache_hits == 0
