"""How many partitions Tuned X-HYBRIDJOIN should keep: memory kept is memory that rows can't wait in.

Corrected form of S1 Eq. 6 and S2 Eq. 9 (`algorithms.tuned_x_hybridjoin`): w = w' / (1 - p), with w'
HYBRIDJOIN's rows per load on what the kept part leaves (`costs.renewal`).
"""

from __future__ import annotations

import numpy as np

from semistream.costs.renewal import rows_per_load_pinned

GROUPS = 4096  # partitions are modelled in at most so many groups: the law is smooth


def best_pinned_pages(most: int, pages: int, pending: int, exponent: float) -> int:
    """The number of kept pages, up to `most`, that answers the most rows per load.

    The memory that keeping could take is already set aside, so more is better until the gain of
    another doubling falls below 1 %.
    """
    pages = max(1, pages)
    most = min(most, max(1, pages - 1))
    shares = _zipf_pages(pages, exponent)
    best, best_rate = 1, 0.0
    count = 1
    while count <= most:
        group = min(len(shares) - 1, max(1, round(count * len(shares) / pages)))
        rate = rows_per_load_pinned(shares, group, pending) if group else 0.0
        if rate > best_rate * 1.01:
            best, best_rate = count, rate
        count *= 2
    return best


def _zipf_pages(pages: int, exponent: float) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Shares of page groups under Zipf's law over the pages' keys, by its integral."""
    groups = min(pages, GROUPS)
    edges = 0.5 + np.arange(groups + 1, dtype=np.float64) * (pages * 64.0 / groups)
    e = exponent
    cumulative = np.log(edges) if abs(e - 1.0) < 1e-9 else edges ** (1 - e) / (1 - e)
    shares = np.diff(cumulative)
    return np.asarray(shares / shares.sum())
