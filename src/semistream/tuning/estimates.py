"""Measured values with an interval: medians, since a busy machine's outliers go one way only."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Estimate:
    """A median, and the interval that holds the true one with 95 % confidence."""

    value: float
    low: float
    high: float
    samples: int

    def scaled(self, factor: float) -> Estimate:
        """In another unit."""
        return Estimate(self.value * factor, self.low * factor, self.high * factor, self.samples)


def median_of(samples: Sequence[float], least: float = 0.0) -> Estimate:
    """The median and its interval by order statistics, which assumes nothing of the distribution.

    least: nothing is taken to be below it: differences of timings can be.

    >>> median_of([5.0, 1.0, 2.0, 3.0, 4.0, 9.0])
    Estimate(value=3.5, low=1.0, high=9.0, samples=6)
    """
    ordered = np.maximum(np.sort(np.asarray(samples, dtype=np.float64)), least)
    count = len(ordered)
    reach = 0.98 * math.sqrt(count)  # 1.96 standard deviations of a binomial of one half
    low = max(0, math.floor(count / 2 - reach))
    high = min(count - 1, math.ceil(count / 2 + reach))
    return Estimate(float(np.median(ordered)), float(ordered[low]), float(ordered[high]), count)
