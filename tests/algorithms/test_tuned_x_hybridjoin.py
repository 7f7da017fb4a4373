"""Tuned X-HYBRIDJOIN keeps as many partitions as pay."""

from __future__ import annotations

import pytest

from semistream import SemiStreamJoin
from semistream.costs.renewal import rows_per_load_pinned
from semistream.workloads.keys import zipf_keys
from tests.algorithms.steady import CACHE_PAGES, PENDING, TRACES, Trace, counted, shares, steady
from tests.algorithms.traces import feed, master_of

PINNED = {
    ("sorted", 0.0): 675,
    ("sorted", 0.5): 546,
    ("sorted", 1.0): 214,
    ("scattered", 0.0): 671,
    ("scattered", 0.5): 681,
    ("scattered", 1.0): 660,
}


def test_loads_are_those_pinned() -> None:
    assert counted("tuned_x_hybridjoin") == PINNED


@pytest.mark.parametrize("trace", TRACES)
def test_a_load_answers_what_the_renewal_model_says(trace: Trace) -> None:
    expected = rows_per_load_pinned(shares(trace), CACHE_PAGES, PENDING)
    found = steady("tuned_x_hybridjoin", trace).rows_per_load
    assert found == pytest.approx(expected, rel=0.10 if trace == ("sorted", 1.0) else 0.05)


def test_one_kept_partition_is_x_hybridjoin() -> None:
    trace = ("sorted", 1.0)
    tuned, plain = steady("tuned_x_hybridjoin", trace, pinned_partitions=1), steady("x_hybridjoin", trace)
    assert (tuned.loads, tuned.cache_hits) == (plain.loads, plain.cache_hits)


def test_without_a_number_the_model_finds_one() -> None:
    rows, page_rows = 200_000, 10
    master = master_of(range(rows), page_rows)

    def kept(exponent: float) -> int:
        join = SemiStreamJoin(
            master, memory="1MiB", algorithm="tuned_x_hybridjoin", pending_rows=1000,
            pinned_share=0.05, exponent=exponent,
        )  # fmt: skip
        feed(join, zipf_keys(10, rows, 1.0), 10)
        found: int = join.stats.cached_rows
        join.close()
        return found

    assert kept(1.0) >= 16 * page_rows
    assert kept(0.0) == page_rows, "of uniform keys some dozens of 20,000 partitions answer next to nothing"
