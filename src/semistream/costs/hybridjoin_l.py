"""HYBRIDJOIN-L (S4): a lookup element at a fixed position of the queue.

    memory, cost:   as HYBRIDJOIN (S3 Eq. 1 to 4); S4 prints neither for it

Doubtful: nothing in S3 Eq. 2 depends on which row is looked up, so as printed the position gains nothing.
Corrected: no closed form. A row passes the position once and may be left behind for ever; what is left
behind fills the queue over tens of queue lengths. So the schedule is played (`costs.schedules`), the
guard against starvation included unless `strict_paper` is set.
"""

from __future__ import annotations

from semistream.costs import hybridjoin
from semistream.costs.accounting import predict
from semistream.costs.base import DeviceCosts, Prediction, Situation, UnitCosts
from semistream.costs.printed import memory_with_index
from semistream.costs.schedules import loop
from semistream.costs.schedules.playing import Schedule, played

ACCOUNT = hybridjoin.ACCOUNT
paper = hybridjoin.paper


def corrected(situation: Situation, units: UnitCosts, device: DeviceCosts) -> Prediction:
    """By playing the schedule."""
    counts = played(situation, Schedule(order=loop.POSITION))
    return predict(situation, ACCOUNT, counts, units, device, memory_with_index(situation))
