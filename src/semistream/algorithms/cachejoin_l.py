"""CACHEJOIN-L (S4): CACHEJOIN whose lookup element stands at a fixed queue position.

    probe the cache; queue the misses; load the partition of the row at `position`

With the cache on, what is left in the queue is less skewed, and the best position moves towards the
old end: 0.30 hurts on a scattered master. The guard against starvation is HYBRIDJOIN-L's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from semistream.algorithms.base import Settings
from semistream.algorithms.cachejoin import CacheJoin, CacheSettings
from semistream.algorithms.hybridjoin_l import HybridJoinL, PositionSettings


@dataclass(frozen=True, kw_only=True)
class CachePositionSettings(CacheSettings, PositionSettings):
    """Those of CACHEJOIN and of HYBRIDJOIN-L."""


class CacheJoinL(HybridJoinL, CacheJoin):
    """CACHEJOIN's front, HYBRIDJOIN-L's order."""

    settings_type: ClassVar[type[Settings]] = CachePositionSettings
    settings: CachePositionSettings


ALGORITHM = CacheJoinL
