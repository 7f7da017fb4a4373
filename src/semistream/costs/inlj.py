"""INLJ, the index nested loop join (the baseline of S3 and S5).

    memory:   v_P + v_S, whatever M is
    cost:     c_loop = c_I/O(v_P) + c_O + c_S for each row (S3 measures it, Fig. 8c, and prints no formula)

Corrected: the look-ups in the index and in the page are charged.
"""

from __future__ import annotations

from semistream.costs.accounting import Account, expected, predict
from semistream.costs.base import DeviceCosts, Prediction, Situation, UnitCosts
from semistream.costs.printed import FENCE_BYTES, buffer_bytes, per_row

ACCOUNT = Account(queued=False)


def paper(situation: Situation, units: UnitCosts, device: DeviceCosts) -> Prediction:
    """A load a row."""
    io = device.load_seconds(buffer_bytes(situation))
    size = buffer_bytes(situation) + situation.stream_row_bytes
    return per_row(1.0, 0.0, io, units.output + units.read, size)


def corrected(situation: Situation, units: UnitCosts, device: DeviceCosts) -> Prediction:
    """A load, an index look-up and a probe of the page a row."""
    size = buffer_bytes(situation) + situation.stream_row_bytes + FENCE_BYTES * situation.partitions
    return predict(situation, ACCOUNT, expected(situation, loads=1.0), units, device, size)
