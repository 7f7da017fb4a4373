"""The steady state of a queue in front of an index: rows answered per load.

Time is counted in rows admitted. Partition i gets a share q_i of them; the queue holds h rows. With the
oldest row looked up first, a row reaches the head L admissions after it came, and partition i is
loaded once in every cycle of

    C_i = 1 / q_i + L      and then answers      m_i = 1 + q_i L      rows,

holding N_i = q_i L (1 + q_i L / 2) / (1 + q_i L) rows on average. L is the root of sum N_i = h.
Loads per row are D = sum q_i / (1 + q_i L), and w = 1 / D. Where q_i L is large everywhere, L is about
2 h and w about 2 h / n whatever the skew: half the loads of MESHJOIN's w = h / n.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def zipf_shares(keys: int, exponent: float) -> Floats:
    """Probability of each key, the most frequent first."""
    weights = np.arange(1, keys + 1, dtype=np.float64) ** -exponent
    return np.asarray(weights / weights.sum())


def page_shares(key_shares: Floats, page_rows: int) -> Floats:
    """Probability of each page, for keys in the order they lie on disk."""
    return np.asarray(np.add.reduceat(key_shares, np.arange(0, len(key_shares), page_rows)))


def head_age(shares: Floats, pending: float) -> float:
    """L: rows admitted between a row's arrival and its turn at the head of the queue."""
    q = shares[shares > 0]
    low, high = 0.0, 4.0 * pending + 4.0
    while _occupancy(q, high) < pending and high < 1e18:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if _occupancy(q, middle) < pending else (low, middle)
    return (low + high) / 2


def rows_per_load(shares: Floats, pending: float) -> float:
    """w of HYBRIDJOIN for pages of these shares and so many pending rows.

    >>> round(rows_per_load(np.full(100, 0.01), 1000), 1)
    20.0
    """
    age = head_age(shares, pending)
    q = shares[shares > 0]
    return float(1 / np.sum(q / (1 + q * age)))


def bound(shares: Floats, pending: float) -> float:
    """The most rows a load can answer under any schedule (fluid): 2 h / (sum sqrt q_i)^2."""
    return float(2 * pending / np.sum(np.sqrt(shares)) ** 2)


def rows_per_load_pinned(shares: Floats, pinned: int, pending: float, *, strict: bool = False) -> float:
    """w of X-HYBRIDJOIN with the first `pinned` pages kept: answered rows of both kinds per load.

    With `strict` (the paper's loop) hot rows take slots until the next load: h' = h - p w.
    """
    hot = float(shares[:pinned].sum())
    rest = shares[pinned:]
    if not len(rest) or hot >= 1.0:
        return float("inf")
    rest = rest / rest.sum()
    answered = rows_per_load(rest, pending) / (1 - hot)
    for _ in range(60 if strict else 0):
        left = max(1.0, pending - hot * answered)
        answered = 0.5 * answered + 0.5 * rows_per_load(rest, left) / (1 - hot)
    return answered


def _occupancy(q: Floats, age: float) -> float:
    x = q * age
    return float(np.sum(x * (1 + x / 2) / (1 + x)))
