"""Exponent and order, from samples of streams whose law is known."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from semistream.errors import ArgumentError
from semistream.stores.memory import MemoryStore
from semistream.tuning.sample import skew_of
from semistream.tuning.skew import Skew, estimated
from semistream.workloads.keys import zipf_keys

ROWS = 20_000
PAGE_ROWS = 100


def skew_in(keys: np.ndarray[tuple[int], np.dtype[np.int64]], rows: int = ROWS) -> Skew:
    found, counts = np.unique(keys, return_counts=True)
    return estimated(counts, found // PAGE_ROWS * PAGE_ROWS, PAGE_ROWS, rows)


@pytest.mark.parametrize("scatter", [None, 5], ids=["frequency", "scattered"])
@pytest.mark.parametrize("exponent", [0.5, 0.8, 1.0, 1.2, 1.5])
def test_exponent_and_order(exponent: float, scatter: int | None) -> None:
    skew = skew_in(zipf_keys(50_000, ROWS, exponent, 3, scatter=scatter))
    assert skew.exponent == pytest.approx(exponent, abs=0.02)
    assert skew.low is not None
    assert skew.high is not None
    assert skew.low - 0.01 <= exponent <= skew.high + 0.01
    assert skew.high - skew.low < 0.06
    assert skew.in_order == pytest.approx(1.0 if scatter is None else 0.0, abs=0.1)


def test_uniform_keys_are_not_taken_for_skewed() -> None:
    """Their counts vary too; a line through ranked counts would have found an exponent of 0.3 and more."""
    skew = skew_in(zipf_keys(50_000, ROWS, 0.0, 3))
    assert skew.exponent < 0.1
    assert skew.low == 0.0


@pytest.mark.parametrize("exponent", [0.8, 1.2])
def test_interval_holds_the_exponent(exponent: float) -> None:
    """Of ten samples of a few thousand rows from a large master."""
    inside = 0
    for seed in range(10):
        skew = skew_in(zipf_keys(5000, 500_000, exponent, seed), 500_000)
        assert skew.low is not None
        assert skew.high is not None
        inside += skew.low <= exponent <= skew.high
        assert skew.exponent == pytest.approx(exponent, abs=0.06)
    assert inside >= 8


def test_half_of_the_keys_in_order() -> None:
    expected = Skew(1.0, in_order=0.5)
    shares = expected.key_shares(ROWS, seed=4)
    keys = np.random.default_rng(8).choice(ROWS, 50_000, p=shares)
    assert skew_in(keys).in_order == pytest.approx(0.5, abs=0.25)


def test_shares_are_a_law_in_any_order() -> None:
    ordered = Skew(1.0, in_order=1.0).key_shares(1000)
    assert np.all(np.diff(ordered) < 0)
    scattered = Skew(1.0, in_order=0.0).key_shares(1000, seed=1)
    assert not np.array_equal(scattered, ordered)
    assert np.allclose(np.sort(scattered), np.sort(ordered))


def test_one_odd_key_bends_no_law() -> None:
    """A key that stands for what isn't known has a third of the stream."""
    keys = zipf_keys(40_000, ROWS, 0.5, 3, scatter=7)
    odd = np.concatenate([keys, np.full(20_000, 123)])
    assert skew_in(odd).exponent == pytest.approx(0.5, abs=0.05)


def test_keys_are_found_where_they_lie() -> None:
    """Null and foreign keys of a sample count for nothing; a string key lies where its order has it."""
    names = np.array([f"k{i:05}" for i in range(ROWS)])
    store = MemoryStore(pa.table({"name": names}), "name", page_rows=PAGE_ROWS)
    keys = names[zipf_keys(30_000, ROWS, 1.0, 3)].tolist()
    sample = pa.table({"who": [*keys, *[None] * 500, *["a"] * 700]})
    skew = skew_of(sample, store, {"who": "name"})
    assert skew.exponent == pytest.approx(1.0, abs=0.02)
    assert skew.order == "frequency"
    assert skew.sample_rows == len(keys)


def test_a_sample_of_too_few_keys() -> None:
    with pytest.raises(ArgumentError, match="too few to tell a law"):
        skew_in(np.arange(63))


def test_a_sample_without_the_key() -> None:
    store = MemoryStore(pa.table({"id": range(100)}), "id")
    with pytest.raises(ArgumentError, match="no column 'id'; it has other"):
        skew_of(pa.table({"other": [1]}), store)


@pytest.mark.parametrize(("exponent", "in_order"), [(-1.0, 0.0), (1.0, 1.5), (float("inf"), 0.0)])
def test_what_is_no_skew(exponent: float, in_order: float) -> None:
    with pytest.raises(ArgumentError, match="give 0"):
        Skew(exponent, in_order)
