"""Arrivals go on from a small state, and the bursty ones are bursty at every scale."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import pytest

from semistream.errors import ArgumentError
from semistream.workloads.arrivals import Arrivals, Constant, OnOff, Position
from semistream.workloads.hurst import rescaled_range, variance_time

ALL: list[Arrivals] = [Constant(), OnOff(3), OnOff(4, "uniform"), OnOff(5, shape=1.9)]
KINDS = pytest.mark.parametrize("arrivals", ALL, ids=repr)
CUTS = (0, 1, 2, 2000, 2001, 20_000, 20_000, 33_333)


@KINDS
def test_a_position_depends_on_how_many_rows_came_and_on_nothing_else(arrivals: Arrivals) -> None:
    at = arrivals.begin()
    for start, end in pairwise(CUTS):
        at = arrivals.after(at, end - start)
        assert at == arrivals.after(arrivals.begin(), end)
        assert at.row == end


@KINDS
def test_it_goes_on_from_json(arrivals: Arrivals) -> None:
    at = arrivals.after(arrivals.begin(), 12_345)
    again = Position.from_json(json.loads(json.dumps(at.to_json())))
    assert again == at
    assert arrivals.after(again, 100) == arrivals.after(arrivals.begin(), 12_445)
    assert len(json.dumps(at.to_json())) < 1000


@KINDS
def test_times_are_the_same_however_they_are_cut(arrivals: Arrivals) -> None:
    whole = arrivals.times(arrivals.begin(), CUTS[-1])
    parts = [
        arrivals.times(arrivals.after(arrivals.begin(), start), end - start) for start, end in pairwise(CUTS)
    ]
    assert np.array_equal(whole, np.concatenate(parts))
    assert np.all(np.diff(whole) > 0)


@KINDS
def test_counts_and_times_agree(arrivals: Arrivals) -> None:
    counts, at = arrivals.counts(arrivals.begin(), 50)
    times = arrivals.times(arrivals.begin(), int(counts.sum()))
    assert np.array_equal(np.bincount(times.astype(int), minlength=50), counts)
    assert arrivals.times(at, 1)[0] >= 50
    first, at = arrivals.counts(arrivals.begin(), 20)
    second, at = arrivals.counts(at, 30)
    assert np.array_equal(np.concatenate([first, second]), counts)


@KINDS
@pytest.mark.parametrize("row", [0, 1, 777, 5000])
def test_what_is_due_is_what_has_come(arrivals: Arrivals, row: int) -> None:
    at = arrivals.after(arrivals.begin(), row)
    times = arrivals.times(at, 5000)
    # Just behind a row: whether a row that comes at that very moment is due is a matter of rounding.
    for latest in [-1.0, 0.5, *(float(times[i]) + 1e-9 for i in (0, 99, 1234)), float(times[1234]) + 0.30007]:
        assert arrivals.due(at, latest) == np.searchsorted(times, latest, side="right"), latest


def test_every_stream_switches_by_itself() -> None:
    """The pseudo-code's single flag let the total fall below nothing; its queue lost a stream."""
    arrivals = OnOff(1, "uniform")
    counts, at = arrivals.counts(arrivals.begin(), 20_000)
    assert counts.min() >= 0
    assert counts.max() <= 2046
    assert all(switches > 10 for switches in at.switches)
    for bandwidth in (1 << i for i in range(1, 11)):
        assert 0.4 < np.mean(counts & bandwidth > 0) < 0.6
    assert counts.mean() == pytest.approx(arrivals.rows_per_step, rel=0.1)


@pytest.mark.parametrize("seed", range(4))
def test_bursts_are_self_similar(seed: int) -> None:
    arrivals = OnOff(seed)
    counts, _ = arrivals.counts(arrivals.begin(), 1 << 18)
    assert 0.7 < variance_time(counts) < 1
    assert 0.7 < rescaled_range(counts) < 1
    assert counts.mean() == pytest.approx(arrivals.rows_per_step, rel=0.2)


def test_the_papers_form_is_bursty_at_small_scales_only() -> None:
    arrivals = OnOff(1, "uniform")
    counts, _ = arrivals.counts(arrivals.begin(), 1 << 20)
    assert variance_time(counts, largest=256) > 0.8
    assert variance_time(counts, smallest=2048) < 0.6
    heavy = OnOff(1)
    counts, _ = heavy.counts(heavy.begin(), 1 << 20)
    assert variance_time(counts, smallest=2048) > 0.65


def test_the_estimators_know_noise_from_persistence() -> None:
    random = np.random.default_rng(1)
    noise = random.random(1 << 16)
    assert variance_time(noise) == pytest.approx(0.5, abs=0.05)
    assert rescaled_range(noise) == pytest.approx(0.5, abs=0.1)  # known to err upwards on short blocks
    # One level that holds for half the series: as persistent as can be.
    steps = np.repeat(random.random(8), 1 << 13)
    assert variance_time(steps) > 0.95
    with pytest.raises(ArgumentError, match="too few"):
        variance_time(noise[:50])


def test_what_makes_no_arrivals_is_refused() -> None:
    with pytest.raises(ArgumentError, match="pareto or uniform"):
        OnOff(lengths="normal")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="shape"):
        OnOff(shape=2.5)
