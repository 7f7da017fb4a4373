"""CACHEJOIN-L: CACHEJOIN's front, HYBRIDJOIN-L's order."""

from __future__ import annotations

from tests.algorithms.steady import TRACES, counted, steady

PINNED = {
    ("sorted", 0.0): 904,
    ("sorted", 0.5): 797,
    ("sorted", 1.0): 288,
    ("scattered", 0.0): 922,
    ("scattered", 0.5): 808,
    ("scattered", 1.0): 329,
}


def test_loads_are_those_pinned() -> None:
    assert counted("cachejoin_l") == PINNED


def test_it_loads_more_than_cachejoin_on_every_trace() -> None:
    """Against S4, whose runs are short: a cache leaves little skew in the queue, and a young lookup
    element pays under skew only. It is still better than HYBRIDJOIN-L, as S4 says."""
    for trace in TRACES:
        found = steady("cachejoin_l", trace)
        assert found.loads > steady("cachejoin", trace).loads
        assert found.loads < steady("hybridjoin_l", trace).loads
