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


SEEDS = range(4)  # of the victims; a single one differs by several per cent


@pytest.mark.parametrize("order", ["sorted", "scattered"])
def test_counting_plainly_costs_hits(order: str) -> None:
    """S5 takes any row that answered two waiting rows for hot, and random ones leave for it."""
    paper = [steady("cachejoin", (order, 1.0), strict_paper=True, seed=seed) for seed in SEEDS]
    ours = [steady("cachejoin", (order, 1.0), seed=seed) for seed in SEEDS]
    assert all(one.promotions > 4 * other.promotions for one, other in zip(paper, ours, strict=True))
    assert sum(one.cache_hits for one in ours) > 1.03 * sum(one.cache_hits for one in paper)


@pytest.mark.parametrize("order", ["sorted", "scattered"])
def test_a_cache_that_knows_its_least_frequent_row_forgives_it(order: str) -> None:
    paper, ours = (steady("sscj", (order, 1.0), strict_paper=strict) for strict in (True, False))
    assert paper.promotions > 3 * ours.promotions
    assert abs(paper.cache_hits - ours.cache_hits) < 0.01 * paper.cache_hits


def test_a_threshold_that_is_given_is_kept_to() -> None:
    trace = ("sorted", 1.0)
    some = steady("cachejoin", trace, promote_above=5.0, strict_paper=True)
    assert 0 < some.promotions < 0.1 * steady("cachejoin", trace, strict_paper=True).promotions
    assert 0 < some.cache_hits < steady("cachejoin", trace).cache_hits
    assert steady("cachejoin", trace, promote_above=1e6).cache_hits == 0
