"""Keys by number: any part of a stream can be made alone, and the whole follows its law."""

from __future__ import annotations

import math
import pickle
from dataclasses import replace
from itertools import pairwise
from typing import Any, get_args

import numpy as np
import pyarrow as pa
import pytest

from semistream.errors import ArgumentError
from semistream.workloads.draws import purpose_key, uniform_at
from semistream.workloads.keys import KeyStream, Law, Order

DRAWS = 500_000
EVERYTHING = KeyStream(3000, 0.9, seed=5, drift_every=100, drift_share=0.2, unmatched=0.1, nulls=0.05)


def distance(drawn: np.ndarray[Any, Any], shares: np.ndarray[Any, Any]) -> float:
    """Chi-square in standard deviations from its mean: beyond 4 once in 30,000 fair trials."""
    expected = drawn.sum() * shares
    freedom = len(shares) - 1
    chi_square = float(((drawn - expected) ** 2 / expected).sum())
    return (chi_square - freedom) / math.sqrt(2 * freedom)


@pytest.mark.parametrize("law", get_args(Law))
@pytest.mark.parametrize("exponent", [0.0, 0.5, 0.999999, 1.0, 1.5, 4.0])
def test_ranks_follow_the_law(law: Law, exponent: float) -> None:
    stream = KeyStream(100, exponent, law, seed=11)
    shares = stream.rank_shares()
    drawn = np.bincount(stream.ranks(0, DRAWS), minlength=100)
    common = (
        int(np.argmin(shares * DRAWS > 5)) or 100
    )  # chi-square is wrong where hardly anything is expected
    merged = np.append(drawn[:common], drawn[common:].sum())
    merged_shares = np.append(shares[:common], shares[common:].sum())
    present = merged_shares * DRAWS > 5
    assert abs(distance(merged[present], merged_shares[present] / merged_shares[present].sum())) < 4


def test_the_exact_law_is_not_the_papers() -> None:
    for law, ratio in (("exact", 0.5), ("continuous", 0.585)):
        drawn = np.bincount(KeyStream(1000, 1.0, law, seed=1).ranks(0, DRAWS))  # type: ignore[arg-type]
        assert drawn[1] / drawn[0] == pytest.approx(ratio, rel=0.015)


def test_a_fifth_of_two_million_keys_gets_most_of_the_rows() -> None:
    stream = KeyStream(2_000_000, seed=2)
    share = np.mean(stream.ranks(0, DRAWS) < 400_000)
    assert share == pytest.approx(stream.rank_shares()[:400_000].sum(), abs=0.002)
    assert share == pytest.approx(0.89, abs=0.01)


def test_eight_million_keys_are_right_at_both_ends() -> None:
    stream = KeyStream(8_000_000, seed=3)
    ranks = stream.ranks(0, 2 * DRAWS)
    edges = np.array([0, 1, 2, 4, 10, 100, 10_000, 1_000_000, 7_000_000, 7_900_000, 8_000_000])
    shares = np.add.reduceat(stream.rank_shares(), edges[:-1])
    assert abs(distance(np.histogram(ranks, edges)[0], shares)) < 4


@pytest.mark.parametrize(
    "stream",
    [EVERYTHING, replace(EVERYTHING, law="continuous", order="frequency"), KeyStream(1), KeyStream(7, 0.0)],
    ids=repr,
)
def test_any_part_is_that_part_of_the_whole(stream: KeyStream) -> None:
    whole = stream.array(0, 5000)
    for start, end in pairwise([0, 0, 1, 99, 100, 101, 2500, 4999, 5000]):
        assert stream.array(start, end - start).equals(whole.slice(start, end - start))
    assert pickle.loads(pickle.dumps(stream)).array(1000, 500).equals(whole.slice(1000, 500))
    assert whole.type == pa.int64()


def test_far_into_the_stream_it_is_still_the_same_stream() -> None:
    far = 10**15
    assert np.array_equal(EVERYTHING.values(far, 100)[40:], EVERYTHING.values(far + 40, 60))


def test_seeds_have_nothing_in_common() -> None:
    one, other = (KeyStream(1 << 40, 0.0, order="frequency", seed=seed).values(0, 10_000) for seed in (1, 2))
    assert len(np.intersect1d(one, other)) == 0
    assert not np.array_equal(KeyStream(500, seed=1).key_of_rank(np.arange(500)), np.arange(500))


def test_neighbouring_draws_are_independent() -> None:
    draws = np.empty(DRAWS)
    uniform_at(purpose_key(1, 0), 0, draws)
    assert abs(np.corrcoef(draws[1:], draws[:-1])[0, 1]) < 4 / DRAWS**0.5
    pairs = np.histogram2d(draws[::2], draws[1::2], bins=20)[0].ravel()
    assert abs(distance(pairs, np.full(400, 1 / 400))) < 4


def test_scattering_renames_the_keys_and_nothing_else() -> None:
    plain, scattered = (KeyStream(1000, 1.0, order=order, seed=4) for order in get_args(Order)[::-1])
    renamed = scattered.key_of_rank(np.arange(1000))
    assert np.array_equal(np.sort(renamed), np.arange(1000))
    assert np.array_equal(scattered.values(0, 3000), renamed[plain.values(0, 3000)])


def test_drift_rotates_the_ranking() -> None:
    still = KeyStream(1000, order="frequency", seed=6)
    drifting = replace(still, drift_every=250, drift_share=0.3)
    rotations = np.arange(2000) // 250
    assert np.array_equal(drifting.values(0, 2000), (still.values(0, 2000) + 300 * rotations) % 1000)
    # In scattered order the same ranks are behind the keys.
    scattered = replace(drifting, order="scattered")
    at = 1234
    assert scattered.values(at, 1)[0] == scattered.key_of_rank(scattered.ranks(at, 1), row=at)[0]
    assert np.array_equal(np.sort(scattered.key_of_rank(np.arange(1000), row=999)), np.arange(1000))


def test_unmatched_and_null_keys_come_at_their_rates() -> None:
    keys = EVERYTHING.array(0, DRAWS)
    assert keys.null_count / DRAWS == pytest.approx(0.05, abs=0.002)
    values = keys.drop_null().to_numpy()
    assert np.mean(values >= 3000) == pytest.approx(0.1, abs=0.003)
    assert values.min() >= 0
    assert values.max() < 6000
    # What is switched on leaves the other rows as they were.
    assert np.array_equal(
        EVERYTHING.values(0, 1000) % 3000, replace(EVERYTHING, unmatched=0.0).values(0, 1000)
    )
    assert replace(EVERYTHING, nulls=1.0).array(0, 50).null_count == 50


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"keys": 0}, "keys=0"),
        ({"exponent": -0.5}, "exponent"),
        ({"exponent": float("inf")}, "exponent"),
        ({"law": "normal"}, "exact or continuous"),
        ({"order": "random"}, "scattered or frequency"),
        ({"drift_every": 0}, "drift_every"),
        ({"drift_share": 1.5}, "drift_share"),
        ({"unmatched": -0.1}, "unmatched"),
        ({"nulls": float("nan")}, "nulls"),
    ],
)
def test_what_cannot_be_drawn_is_refused(change: dict[str, Any], said: str) -> None:
    with pytest.raises(ArgumentError, match=said):
        replace(EVERYTHING, **change)
    with pytest.raises(ArgumentError, match="count from 0"):
        EVERYTHING.ranks(-1, 5)
