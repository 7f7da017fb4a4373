"""Zipf keys have the law's frequencies, and the same ones for the same seed."""

from __future__ import annotations

import numpy as np
import pytest

from semistream.errors import ArgumentError
from semistream.workloads.keys import key_of_rank, key_shares, zipf_keys

DRAWS = 200_000


@pytest.mark.parametrize("scatter", [None, 3])
@pytest.mark.parametrize("exponent", [0.0, 0.5, 1.0, 1.5])
def test_every_key_comes_as_often_as_the_law_says(exponent: float, scatter: int | None) -> None:
    keys = 50
    drawn = np.bincount(zipf_keys(DRAWS, keys, exponent, 1, scatter=scatter), minlength=keys)
    assert len(drawn) == keys
    expected = DRAWS * key_shares(keys, exponent, scatter=scatter)
    chi_square = float(((drawn - expected) ** 2 / expected).sum())
    # 49 degrees of freedom: mean 49, standard deviation 10.
    assert chi_square < 100, chi_square


def test_it_is_zipf_and_not_the_papers_continuous_law() -> None:
    drawn = np.bincount(zipf_keys(DRAWS, 1000, 1.0, 2))
    assert drawn[1] / drawn[0] == pytest.approx(0.5, rel=0.03)


def test_a_seed_gives_the_same_keys_and_a_generator_goes_on() -> None:
    whole = zipf_keys(1000, 77, 0.8, 5)
    assert np.array_equal(whole, zipf_keys(1000, 77, 0.8, 5))
    assert not np.array_equal(whole, zipf_keys(1000, 77, 0.8, 6))
    rng = np.random.default_rng(5)
    parts = [zipf_keys(size, 77, 0.8, rng) for size in (1, 0, 600, 399)]
    assert np.array_equal(whole, np.concatenate(parts))


def test_scattering_renames_the_keys_and_nothing_else() -> None:
    renamed = key_of_rank(500, 9)
    assert sorted(renamed.tolist()) == list(range(500))
    assert renamed.tolist() != list(range(500))
    assert np.array_equal(zipf_keys(300, 500, 1.0, 4, scatter=9), renamed[zipf_keys(300, 500, 1.0, 4)])
    assert np.array_equal(key_shares(500, 1.0, scatter=9)[renamed], key_shares(500, 1.0))


def test_one_key_is_all_there_is_to_draw() -> None:
    assert zipf_keys(5, 1, 1.0).tolist() == [0] * 5


@pytest.mark.parametrize(
    ("count", "keys", "exponent", "named"),
    [(-1, 5, 1.0, "count"), (1, 0, 1.0, "keys"), (1, 5, -0.5, "exponent"), (1, 5, float("nan"), "exponent")],
)
def test_what_cannot_be_drawn_is_refused(count: int, keys: int, exponent: float, named: str) -> None:
    with pytest.raises(ArgumentError, match=named):
        zipf_keys(count, keys, exponent)
