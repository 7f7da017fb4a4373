"""X-HYBRIDJOIN (S2): the first partition is pinned.

    memory, S2 Eq. 1:   M = 2 v_P + h_S (f v_S + v_Q)
    cost, S2 Eq. 2:     c_loop = c_I/O(v_P) + 2 d_T c_H + w (c_O + c_E + c_S + c_A)
    rate, S2 Eq. 3:     mu = w / c_loop; w by S2 Eq. 9 (`tuned_x_hybridjoin`) with d_N = d_S

Corrected: w = w' / (1 - p_N), with w' HYBRIDJOIN's on what is left; hits are answered on arrival, so the
pinned part is probed by arriving rows and not d_T times a loop. With `strict_paper` they take slots
until the next load.
"""

from __future__ import annotations

from semistream.costs.accounting import Account, predict
from semistream.costs.base import DeviceCosts, Prediction, Situation, UnitCosts
from semistream.costs.printed import memory_with_index
from semistream.costs.steady import oldest_first
from semistream.costs.tuned_x_hybridjoin import printed_loop

ACCOUNT = Account(front="partitions")
PINNED = 1


def paper(situation: Situation, units: UnitCosts, device: DeviceCosts) -> Prediction:
    """S2 Eq. 1 to 3 and 9."""
    return printed_loop(situation, units, device, PINNED)


def corrected(situation: Situation, units: UnitCosts, device: DeviceCosts) -> Prediction:
    """By the renewal model."""
    counts = oldest_first(situation, PINNED)
    size = memory_with_index(situation, buffers=1 + PINNED)
    return predict(situation, ACCOUNT, counts, units, device, size)
