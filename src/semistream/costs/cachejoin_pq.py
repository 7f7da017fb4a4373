"""CACHEJOIN-PQ (S4): frequent rows in the cache, frequent partitions when they are due.

    memory:   M = (d_B + h_R) v_R + 16 |PQ| + h_S (f v_S + v_Q)
    cost:     as CACHEJOIN (S5 Eq. 2 and 3 without i_B); S4 prints none

Corrected: the schedule is played. On a scattered master a good cache leaves nearly uniform pages, and the
priority queue gains next to nothing over CACHEJOIN.
"""

from __future__ import annotations

from dataclasses import replace

from semistream.costs import cachejoin
from semistream.costs.base import DeviceCosts, Prediction, Situation, UnitCosts
from semistream.costs.cachejoin import SCHEDULE, played_with_cache
from semistream.costs.hybridjoin_pq import queue_bytes

ACCOUNT = cachejoin.ACCOUNT


def paper(situation: Situation, units: UnitCosts, device: DeviceCosts) -> Prediction:
    """S5 Eq. 2 and 3, with the priority queue's memory."""
    printed = cachejoin.paper(situation, units, device)
    return replace(printed, memory_bytes=printed.memory_bytes + queue_bytes(situation))


def corrected(situation: Situation, units: UnitCosts, device: DeviceCosts) -> Prediction:
    """By playing the schedule."""
    schedule = replace(SCHEDULE, by_due=True)
    return played_with_cache(situation, units, device, schedule, ACCOUNT, other_bytes=queue_bytes(situation))
