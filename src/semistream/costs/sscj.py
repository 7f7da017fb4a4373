"""SSCJ (described in S4): CACHEJOIN that gives up its least frequent row.

    memory, cost:   as CACHEJOIN; no paper at hand prints its own

Corrected: played like CACHEJOIN, with hit counters, and with victims that are the least frequent of eight
(of all with `strict_paper`). Its hit ratio comes close to that of a cache of the most frequent rows.
Counting hits is part of the probe; four bytes an entry are charged for the counters.
"""

from __future__ import annotations

from dataclasses import replace

from semistream.costs import cachejoin
from semistream.costs.base import DeviceCosts, Prediction, Situation, UnitCosts
from semistream.costs.cachejoin import SCHEDULE, played_with_cache
from semistream.costs.schedules import row_fronts

COUNTER_BYTES = 4

ACCOUNT = cachejoin.ACCOUNT
paper = cachejoin.paper


def corrected(situation: Situation, units: UnitCosts, device: DeviceCosts) -> Prediction:
    """By playing the schedule."""
    victims = row_fronts.LEAST if situation.strict_paper else row_fronts.LEAST_OF_SAMPLE
    schedule = replace(SCHEDULE, replacement=victims)
    counters = COUNTER_BYTES * situation.cache_rows
    return played_with_cache(situation, units, device, schedule, ACCOUNT, other_bytes=counters)
