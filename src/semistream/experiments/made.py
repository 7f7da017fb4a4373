"""Figures of the stream generator (S3, appendix): made from streams alone, without a join."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from semistream.experiments.figure import MILLION, Scale
from semistream.workloads.arrivals import Lengths, OnOff
from semistream.workloads.hurst import rescaled_range, variance_time
from semistream.workloads.keys import KeyStream, Law

Line = list[tuple[float | str, float]]
Lines = Mapping[str, Line]

MASTER_ROWS = 2 * MILLION
STREAM_ROWS = 4 * MILLION
LAWS: Mapping[str, Law] = {"exact Zipf": "exact", "the paper's inverse": "continuous"}
LENGTHS: Mapping[str, Lengths] = {"heavy-tailed lengths": "pareto", "the paper's lengths": "uniform"}
SHARES = (0.01, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0)
STEPS_SHOWN = 400
STEPS_MEASURED = 1 << 20


def shares(scale: Scale) -> Lines:
    """Which part of the stream the most frequent keys take."""
    found: dict[str, Line] = {}
    for label, law in LAWS.items():
        counts = _counts(scale, law)
        ends = np.cumsum(counts) / counts.sum()
        found[label] = [(share, float(ends[round(share * len(ends)) - 1])) for share in SHARES]
    return found


def frequencies(scale: Scale) -> Lines:
    """How often each rank comes: means over ranges that are even on a logarithmic axis."""
    found: dict[str, Line] = {}
    for label, law in LAWS.items():
        counts = _counts(scale, law)
        edges = np.unique(np.geomspace(1, len(counts) + 1, 40).astype(np.int64))
        ranges = [(int(first), int(end)) for first, end in pairwise(edges)]
        means = [float(counts[first - 1 : end - 1].mean()) for first, end in ranges]
        found[label] = [
            (float(np.sqrt(first * (end - 1))), mean / float(counts.sum()))
            for (first, end), mean in zip(ranges, means, strict=True)
            if mean > 0
        ]
    return found


def bursts(scale: Scale) -> Lines:
    """Rows in each step of the on/off streams."""
    return {
        label: [(float(step), float(rows)) for step, rows in enumerate(_steps(scale, lengths, STEPS_SHOWN))]
        for label, lengths in LENGTHS.items()
    }


def hurst(scale: Scale) -> Lines:
    """0.5 for independent steps, above it for bursts at every scale."""
    steps = max(1 << 16, int(STEPS_MEASURED * scale.share))
    series = {label: _steps(scale, lengths, steps) for label, lengths in LENGTHS.items()}
    first = next(iter(series.values()))
    series["the same steps, shuffled"] = np.random.default_rng(scale.seed).permutation(first)
    return {
        label: [("variance of means", variance_time(counts)), ("rescaled range", rescaled_range(counts))]
        for label, counts in series.items()
    }


MADE: Mapping[str, Callable[[Scale], Lines]] = {
    "shares": shares,
    "frequencies": frequencies,
    "bursts": bursts,
    "hurst": hurst,
}


def _steps(scale: Scale, lengths: Lengths, steps: int) -> NDArray[np.int64]:
    arrivals = OnOff(seed=scale.seed, lengths=lengths)
    return arrivals.counts(arrivals.begin(), steps)[0]


def _counts(scale: Scale, law: Law) -> NDArray[np.int64]:
    """How often each rank was drawn, the most frequent first."""
    keys = int(MASTER_ROWS * scale.share)
    ranks = KeyStream(keys, 1.0, law=law, seed=scale.seed).ranks(0, int(STREAM_ROWS * scale.share))
    return -np.sort(-np.bincount(ranks, minlength=keys))
