"""Tuned X-HYBRIDJOIN (S1, S2): how many partitions to keep, and what that costs.

    memory, S1 Eq. 1, S2 Eq. 4:   M = (k + l) v_P + h_S (f v_S + v_Q)
    cost, S1 Eq. 2, S2 Eq. 5:     c_loop = c_I/O(k v_P) + (d_N + d_S) c_H + w (c_O + c_E + c_S + c_A)
    rate, S1 Eq. 3, S2 Eq. 6:     mu = w / c_loop
    S1 Eq. 4, S2 Eq. 7:           p_old = 1 / n
    S1 Eq. 5, S2 Eq. 8:           p_new = p_N + p_S / n
    S1 Eq. 6, S2 Eq. 9:           w = h_S p_o (1 - p_o) / (1 + p_o (1 - p_o) - p_n (1 - p_n))

Doubtful: p (1 - p) is the variance of a binomial, and matches are its mean. It caps the gain of the kept
part at a third, and has w fall with it above p_N = 1/2. `mean_matches` takes the mean instead, and is
still half of what happens: rows of rarely loaded partitions make up most of an old queue.

Corrected: w = w' / (1 - p_N), with w' HYBRIDJOIN's rows per load on what the kept part leaves
(`costs.renewal`, `costs.steady`). Memory kept is memory that rows can't wait in.
"""

from __future__ import annotations

import numpy as np

from semistream.costs.accounting import Account, predict
from semistream.costs.base import DeviceCosts, Prediction, Situation, UnitCosts
from semistream.costs.printed import buffer_bytes, iteration, memory, memory_with_index
from semistream.costs.renewal import rows_per_load_pinned
from semistream.costs.steady import oldest_first

ACCOUNT = Account(front="partitions")
GROUPS = 4096  # partitions are modelled in at most so many groups: the law is smooth


def paper(situation: Situation, units: UnitCosts, device: DeviceCosts) -> Prediction:
    """S1 Eq. 1 to 6, S2 Eq. 4 to 9."""
    return printed_loop(situation, units, device, situation.cached_partitions)


def corrected(situation: Situation, units: UnitCosts, device: DeviceCosts) -> Prediction:
    """By the renewal model."""
    pinned = situation.cached_partitions
    counts = oldest_first(situation, pinned)
    size = memory_with_index(situation, buffers=1 + pinned)
    return predict(situation, ACCOUNT, counts, units, device, size)


def printed_loop(situation: Situation, units: UnitCosts, device: DeviceCosts, pinned: int) -> Prediction:
    """One iteration with so many partitions pinned, as printed."""
    kept = situation.partition_shares[:pinned].sum()
    rest = max(1.0, situation.master_rows / situation.partition_rows - pinned)
    return iteration(
        situation,
        units,
        device,
        matches=printed_matches(situation.pending_rows, float(kept), rest),
        probes=(1 + pinned) * situation.partition_rows,
        memory_bytes=memory(situation, buffer_bytes(situation, 1 + pinned)),
    )


def printed_matches(pending: float, kept_share: float, partitions: float) -> float:
    """S1 Eq. 6, S2 Eq. 9: w, with n partitions that aren't kept."""
    old = 1 / partitions
    new = kept_share + (1 - kept_share) / partitions
    return pending * old * (1 - old) / (1 + old * (1 - old) - new * (1 - new))


def mean_matches(pending: float, kept_share: float, partitions: float) -> float:
    """The same derivation with a binomial's mean: w = h_S p_o / (1 + p_o - p_n)."""
    old = 1 / partitions
    new = kept_share + (1 - kept_share) / partitions
    return pending * old / (1 + old - new)


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
