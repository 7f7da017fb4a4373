"""Which algorithm answers more rows a load, in steady state: what the papers say of each other.

Zipf 1, equal queues and equal caches (`steady.settings_of`). P- and OP-CACHEJOIN are about time, which
counts don't show; their own tests say what their order does.
"""

from __future__ import annotations

from itertools import pairwise

from tests.algorithms.steady import steady

SORTED, SCATTERED = ("sorted", 1.0), ("scattered", 1.0)


def in_order(names: list[str], trace: tuple[str, float]) -> bool:
    worth = [steady(name, trace).rows_per_load for name in names]
    return all(low < high for low, high in pairwise(worth))


def test_lookup_orders_on_a_master_in_frequency_order() -> None:
    assert in_order(["meshjoin", "hybridjoin", "hybridjoin_l", "hybridjoin_pq"], SORTED)
    # INLJ answers one row a load, and R-MESHJOIN is MESHJOIN here: test_inlj, test_meshjoin.
    assert steady("meshjoin", SORTED).rows_per_load > 1
    assert steady("r_meshjoin", SORTED).loads == steady("meshjoin", SORTED).loads


def test_lookup_orders_on_a_scattered_master() -> None:
    """There a young lookup element hurts: HYBRIDJOIN-L is behind HYBRIDJOIN, where S4 has it ahead."""
    assert in_order(["meshjoin", "hybridjoin_l", "hybridjoin", "hybridjoin_pq"], SCATTERED)


def test_fronts_on_a_master_in_frequency_order() -> None:
    """S5 and S4 put CACHEJOIN ahead of Tuned X-HYBRIDJOIN. With as many rows in either front it can't
    be: there the first pages *are* the most frequent rows, which is the best that a cache could learn.
    Even SSCJ comes close only. CACHEJOIN's point is that it needs no such order: see below."""
    assert in_order(["hybridjoin", "x_hybridjoin", "cachejoin", "sscj", "tuned_x_hybridjoin"], SORTED)


def test_fronts_on_a_scattered_master() -> None:
    names = ["hybridjoin", "x_hybridjoin", "tuned_x_hybridjoin", "cachejoin", "sscj"]
    assert in_order(names, SCATTERED)
    pinned, cached = steady("tuned_x_hybridjoin", SCATTERED), steady("cachejoin", SCATTERED)
    assert cached.rows_per_load > 2 * pinned.rows_per_load


def test_lookup_orders_behind_a_cache() -> None:
    """CACHEJOIN-L < CACHEJOIN-PQ holds; but -L is behind plain CACHEJOIN, as test_cachejoin_l shows."""
    for trace in (SORTED, SCATTERED):
        assert in_order(["cachejoin_l", "cachejoin_pq"], trace)
        for plain, cached in (("hybridjoin", "cachejoin"), ("hybridjoin_l", "cachejoin_l")):
            assert in_order([plain, cached], trace)
        assert in_order(["hybridjoin_pq", "cachejoin_pq"], trace)
