"""P-CACHEJOIN (S5): CACHEJOIN's two phases side by side.

    memory, S5 Eq. 1:   M = (d_B + h_R) v_R + i_B v_S + h_S (f v_S + v_Q)
    cost, S5 Eq. 2:     c_loop = c_I/O(d_B) + d_B (c_H + c_F) + w_S (c_O + c_S + c_A + c_E + c_AI)
                                 + w_N (c_H + c_O + c_S)
    rate, S5 Eq. 3:     mu = (w_N + w_S) / c_loop

Doubtful: phases that run side by side are added up; a miss is read twice, from the stream and from the
intermediate buffer, and charged once; its probe of the cache isn't charged. Corrected:

    c_loop = max( stream phase, c_I/O(d_B) + page phase )

with CACHEJOIN's played counts. c_AI, an append to the intermediate buffer, is taken to cost c_A.
"""

from __future__ import annotations

from semistream.costs.accounting import Account
from semistream.costs.base import DeviceCosts, Prediction, Situation, UnitCosts
from semistream.costs.cachejoin import SCHEDULE, played_with_cache, printed_loop

ACCOUNT = Account(front="rows", phases="parallel")


def paper(situation: Situation, units: UnitCosts, device: DeviceCosts) -> Prediction:
    """S5 Eq. 1 to 3."""
    return printed_loop(situation, units, device, handed_over=1)


def corrected(situation: Situation, units: UnitCosts, device: DeviceCosts) -> Prediction:
    """The longer of both phases."""
    between = situation.intermediate_rows * situation.stream_row_bytes
    return played_with_cache(situation, units, device, SCHEDULE, ACCOUNT, other_bytes=between)
