"""Counters add up, ages are right within their buckets, and a snapshot is JSON."""

from __future__ import annotations

import json
import pickle
from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from semistream.stats import Ages, Counters, Stats

SHARES = (0.0, 0.01, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 1.0)
WIDTH = 2 ** (1 / 16) - 1  # of a bucket


def snapshot(**counters: float) -> Stats:
    return Stats(
        counters=Counters(**counters),  # type: ignore[arg-type]  # one of them is no integer
        pending_rows=40,
        pending_capacity=100,
        cached_rows=7,
        age_p50=1,
        age_p99=2,
        age_max=3,
        memory_limit=1000,
        held_bytes={"pending": 300, "front": 200},
    )


def check_quantiles(ages: Ages, values: NDArray[np.int64]) -> None:
    for share in SHARES:
        exact = int(np.quantile(values, share, method="inverted_cdf"))
        found = ages.quantile(share)
        assert exact <= found <= exact + (exact + 1) * WIDTH
    assert ages.quantile(1.0) == ages.most == values.max()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("shape", ["uniform", "long tail", "bursts", "huge"])
def test_quantiles(shape: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = {
        "uniform": rng.integers(0, 50_000, 20_000),
        "long tail": np.minimum(rng.pareto(0.7, 20_000) * 10, 1e12).astype(np.int64),
        "bursts": np.repeat(rng.integers(0, 10**6, 9), rng.integers(1, 900, 9)),
        "huge": rng.integers(2**61, 2**62, 100),
    }[shape]
    ages, parts = Ages(), [Ages(), Ages()]
    for i, piece in enumerate(np.array_split(values, 7)):
        ages.add(piece)
        parts[i % 2].add(piece)
    check_quantiles(ages, values)
    merged, other = parts
    merged.merge(other)
    assert merged.most == ages.most
    assert [merged.quantile(share) for share in SHARES] == [ages.quantile(share) for share in SHARES]


@settings(max_examples=100, deadline=None)
@given(values=st.lists(st.integers(0, 15), min_size=1, max_size=30))
def test_small_ages_are_exact(values: list[int]) -> None:
    ages = Ages()
    ages.add(np.array(values, dtype=np.int64))
    for share in SHARES:
        assert ages.quantile(share) == np.quantile(values, share, method="inverted_cdf")


def test_no_ages() -> None:
    ages = Ages()
    ages.add(np.empty(0, dtype=np.int64))
    assert (ages.quantile(0.5), ages.most) == (0, 0)


def test_counters_add_up() -> None:
    one = Counters(**{item.name: n for n, item in enumerate(fields(Counters), start=1)})
    two = Counters(**{item.name: 100 * n for n, item in enumerate(fields(Counters), start=1)})
    one.add(two)
    assert [getattr(one, item.name) for item in fields(Counters)] == [
        101 * n for n in range(1, len(fields(Counters)) + 1)
    ]
    assert two.rows_in == 100


def test_a_snapshot_reads_like_its_counters() -> None:
    stats = snapshot(rows_in=140, loads=20, admitted=90, waiting_row_seconds=25.0)
    assert [getattr(stats, item.name) for item in fields(Counters)] == [
        getattr(stats.counters, item.name) for item in fields(Counters)
    ]
    assert (stats.loads, stats.held_total) == (20, 500)
    assert (stats.rows_per_load, stats.loads_per_row) == (5.0, 0.2)
    assert stats.waiting_seconds == 0.5


def test_a_counter_that_does_not_exist() -> None:
    with pytest.raises(AttributeError, match=r"stats have no 'misses'; counters are rows_in, .*cache_misses"):
        snapshot().misses  # noqa: B018 - reading it is the test


def test_nothing_happened_yet() -> None:
    stats = snapshot(rows_in=40, admitted=40)
    assert (stats.rows_per_load, stats.loads_per_row, stats.waiting_seconds) == (float("inf"), 0.0, 0.0)
    assert json.loads(json.dumps(stats.as_dict(), allow_nan=False))["rows_per_load"] is None


def test_as_json() -> None:
    stats = snapshot(rows_in=140, loads=20)
    read = json.loads(json.dumps(stats.as_dict(), allow_nan=False))
    assert {item.name for item in fields(Counters)} | {item.name for item in fields(Stats)} - {"counters"} < {
        *read
    }
    assert (read["rows_in"], read["held_bytes"]["front"], read["held_total"]) == (140, 200, 500)
    assert read["rows_per_load"] == 5.0


def test_a_snapshot_is_pickled_whole() -> None:
    stats = snapshot(rows_in=140, loads=20)
    assert pickle.loads(pickle.dumps(stats)) == stats
