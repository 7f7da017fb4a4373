"""Oldest row first, behind any number of pinned partitions: in closed form where that holds.

The renewal model (`renewal`) takes the age of the queue's head for constant. It swings where one
partition gets a large share of the rows that wait: loading it frees so many slots at once that
none is loaded for a while. The closed form is then up to 12 % too low, and the schedule is played
(`schedules`) instead.
"""

from __future__ import annotations

from dataclasses import replace

from semistream.costs.accounting import Counts, expected
from semistream.costs.base import Situation
from semistream.costs.renewal import rows_per_load_pinned
from semistream.costs.schedules import loop
from semistream.costs.schedules.playing import Schedule, played

LARGEST_SHARE = 0.1  # of a partition among the rows that wait; renewal is then within 3 %


def oldest_first(situation: Situation, pinned: int = 0) -> Counts:
    """The counts of a row of HYBRIDJOIN, or of X-HYBRIDJOIN with so many partitions pinned."""
    shares = situation.partition_shares
    pinned = min(pinned, len(shares))
    hits = float(shares[:pinned].sum())
    rest = shares[pinned:]
    if not rest.sum() > 0:
        return expected(situation, 0.0, hits)
    strict = situation.strict_paper and pinned > 0
    if strict or rest.max() > LARGEST_SHARE * rest.sum():
        schedule = Schedule(front=loop.PAGES if pinned else loop.NO_FRONT, slots_for_hits=strict)
        return played(replace(situation, cached_partitions=pinned), schedule)
    return expected(situation, 1 / rows_per_load_pinned(shares, pinned, situation.pending_rows), hits)
