"""The permutation without a table is one, and spreads what is frequent."""

from __future__ import annotations

import numpy as np
import pytest

from semistream.errors import ArgumentError
from semistream.workloads.scatter import LARGEST, Scatter


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 8, 9, 100, 127, 128, 129, 1000, 4097, 100_003])
@pytest.mark.parametrize("seed", [0, 1, -7, 1 << 70])
def test_every_place_is_taken_once(size: int, seed: int) -> None:
    assert np.array_equal(np.sort(Scatter(size, seed).places(np.arange(size))), np.arange(size))


def test_the_first_ranks_lie_everywhere() -> None:
    """What a page phase would notice: frequent keys that share pages."""
    size = 2_000_000
    for seed in range(20):
        places = Scatter(size, seed).places(np.arange(2000))
        drawn = np.bincount(places * 100 // size, minlength=100)
        chi_square = float(((drawn - 20) ** 2 / 20).sum())
        assert chi_square < 99 + 5 * (2 * 99) ** 0.5, (seed, chi_square)
        neighbours = np.abs(np.diff(places))
        assert np.mean(neighbours) == pytest.approx(size / 3, rel=0.1)
        assert len(np.unique(np.diff(places))) > 1900


def test_seeds_give_different_permutations() -> None:
    found = {tuple(Scatter(50, seed).places(np.arange(50)).tolist()) for seed in range(200)}
    assert len(found) == 200


def test_ranks_stay_as_they_are() -> None:
    ranks = np.arange(10)
    Scatter(10).places(ranks)
    assert np.array_equal(ranks, np.arange(10))


def test_what_cannot_be_permuted_is_refused() -> None:
    for size in (0, LARGEST + 1):
        with pytest.raises(ArgumentError, match="size="):
            Scatter(size)
    with pytest.raises(ArgumentError, match="outside"):
        Scatter(10).places(np.array([10]))
    assert len(np.unique(Scatter(LARGEST).places(np.arange(100)))) == 100
