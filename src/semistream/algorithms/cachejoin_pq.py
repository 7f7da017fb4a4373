"""CACHEJOIN-PQ (S4): frequent rows in the cache, frequent pages by due time, the rest oldest first.

    probe the cache; queue the misses
    load the most overdue frequent partition, else the oldest row's
    promote the rows that answered many; what is left of a page's frequency decides when it is due

Page frequencies count what the cache let through, so a page whose hot rows are promoted leaves the
queue by itself. On a scattered master with a good cache the rest is nearly uniform, and the gain over
CACHEJOIN small (0 to 3 %); on one in frequency order it is a fifth and more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from semistream.algorithms.base import Settings
from semistream.algorithms.cachejoin import CacheJoin, CacheSettings
from semistream.algorithms.hybridjoin_pq import HybridJoinPq, QueueSettings


@dataclass(frozen=True, kw_only=True)
class CacheQueueSettings(CacheSettings, QueueSettings):
    """Those of CACHEJOIN and of HYBRIDJOIN-PQ."""


class CacheJoinPq(HybridJoinPq, CacheJoin):
    """CACHEJOIN's front, HYBRIDJOIN-PQ's order."""

    settings_type: ClassVar[type[Settings]] = CacheQueueSettings
    settings: CacheQueueSettings


ALGORITHM = CacheJoinPq
