"""HYBRIDJOIN (S3).

    memory, S3 Eq. 1:   M = v_P + h_S (f v_S + v_Q)
    cost, S3 Eq. 3:     c_loop = c_I/O(v_P) + (v_P / v_R) c_H + w (c_O + c_E + c_S + c_A)
    w, S3 Eq. 2:        w = k h_S d / R_t, with k = 1.36 measured
    rate, S3 Eq. 4:     mu = w / c_loop

Doubtful: k is what a run of some six queue lengths gives; in steady state it is nearly 2, somewhat less
where one partition gets a large share of the stream, and falls where loads answer a few rows only.
Deriving w from h_S d e / R_t, as S3 does on the way, would give no matches at all on uniform keys. Finding
the page isn't charged.

Corrected: w of the renewal model (`costs.renewal`, `costs.steady`); the directory is charged.
"""

from __future__ import annotations

from semistream.costs.accounting import Account, predict
from semistream.costs.base import DeviceCosts, Prediction, Situation, UnitCosts
from semistream.costs.printed import buffer_bytes, hybridjoin_matches, iteration, memory, memory_with_index
from semistream.costs.steady import oldest_first

ACCOUNT = Account()


def paper(situation: Situation, units: UnitCosts, device: DeviceCosts) -> Prediction:
    """S3 Eq. 1 to 4."""
    return iteration(
        situation,
        units,
        device,
        matches=hybridjoin_matches(situation),
        probes=situation.partition_rows,
        memory_bytes=memory(situation, buffer_bytes(situation)),
    )


def corrected(situation: Situation, units: UnitCosts, device: DeviceCosts) -> Prediction:
    """By the renewal model."""
    counts = oldest_first(situation)
    return predict(situation, ACCOUNT, counts, units, device, memory_with_index(situation))
