"""SSCJ (described in S4): CACHEJOIN whose cache gives up its least frequent entry.

    as CACHEJOIN, but every hit is counted, and a promotion into a full cache
    replaces the entry with the fewest hits, and only if the newcomer's rate is higher

Counters halve every ten lookups per entry, so that a past favourite can leave. The victim is the least
of eight drawn at random; `strict_paper` looks at all. The papers leave open whether the frequency is
that of the promotion or is updated by hits: updated, since the other can't follow a drift.
"""

from __future__ import annotations

from semistream.algorithms.cachejoin import CacheJoin
from semistream.structures.rowcache import Replacement


class Sscj(CacheJoin):
    """CACHEJOIN with frequency-based replacement."""

    replacement = Replacement.LEAST_FREQUENT_OF_SAMPLE
    strict_replacement = Replacement.LEAST_FREQUENT


ALGORITHM = Sscj
