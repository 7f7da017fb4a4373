"""CACHEJOIN-L (S4): CACHEJOIN's cache, HYBRIDJOIN-L's lookup element.

    memory, cost:   as CACHEJOIN (S5 Eq. 1 to 3 without i_B); S4 prints neither for it

Corrected: the schedule is played. With the cache on, what is left is less skewed, and the default position
costs more loads than it saves on a scattered master.
"""

from __future__ import annotations

from dataclasses import replace

from semistream.costs import cachejoin
from semistream.costs.base import DeviceCosts, Prediction, Situation, UnitCosts
from semistream.costs.cachejoin import SCHEDULE, played_with_cache
from semistream.costs.schedules import loop

ACCOUNT = cachejoin.ACCOUNT
paper = cachejoin.paper


def corrected(situation: Situation, units: UnitCosts, device: DeviceCosts) -> Prediction:
    """By playing the schedule."""
    schedule = replace(SCHEDULE, order=loop.POSITION)
    return played_with_cache(situation, units, device, schedule, ACCOUNT)
