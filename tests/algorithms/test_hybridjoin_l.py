"""HYBRIDJOIN-L loads fewer partitions under skew, more without, and starves nobody unless told to."""

from __future__ import annotations

import pytest

from tests.algorithms.steady import PENDING, TRACES, counted, steady

PINNED = {
    ("sorted", 0.0): 969,
    ("sorted", 0.5): 868,
    ("sorted", 1.0): 413,
    ("scattered", 0.0): 972,
    ("scattered", 0.5): 971,
    ("scattered", 1.0): 811,
}


def test_loads_are_those_pinned() -> None:
    assert counted("hybridjoin_l") == PINNED


@pytest.mark.parametrize("name", ["hybridjoin_l", "cachejoin_l"])
def test_the_guard_bounds_how_long_a_row_waits(name: str) -> None:
    """A row may pass eight queue lengths by as much as it takes to load those that are older still."""
    ours = steady(name, ("sorted", 1.0))
    paper = steady(name, ("sorted", 1.0), strict_paper=True)
    assert ours.age_max <= 10 * PENDING
    assert paper.age_max > 15 * PENDING
    # Rows that starve hold slots, so the guard's loads of rare partitions pay.
    assert ours.rows_per_load > paper.rows_per_load


def test_a_young_lookup_element_pays_under_skew_in_frequency_order_only() -> None:
    better = {
        trace: steady("hybridjoin_l", trace).rows_per_load / steady("hybridjoin", trace).rows_per_load
        for trace in TRACES
    }
    assert better.pop(("sorted", 1.0)) > 1.25
    # S4's figure 2 says the best position moves to the old end as skew falls: 0.30 is too young here.
    assert max(better.values()) < 0.95


def test_the_position_is_measured_from_the_young_end() -> None:
    trace = ("scattered", 0.0)
    oldest = steady("hybridjoin_l", trace, position=1.0)
    assert oldest.loads == steady("hybridjoin", trace).loads
    young = steady("hybridjoin_l", trace, position=0.05)
    assert young.loads > steady("hybridjoin_l", trace).loads > oldest.loads
