"""HYBRIDJOIN-L (S4): the lookup element is not the oldest row but one at a fixed queue position.

    as HYBRIDJOIN, but load the partition of the row at `position` of the queue,
    measured from its young end

A young row's page is likelier to be a popular one: rows of popular pages don't get old. In steady state
the position 0.30 answers about 25 % more rows a load than the oldest on a master in frequency order
at Zipf 1, and fewer at low skew. It starves: a row that the position has passed may wait for ever. So
every sixteenth load, and whenever the oldest row is older than eight queue lengths, takes the oldest;
`strict_paper` does neither.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from semistream.algorithms.base import Algorithm, Settings

OLDEST_EVERY = 16
OLDEST_ABOVE = 8  # queue capacities


@dataclass(frozen=True, kw_only=True)
class PositionSettings(Settings):
    """position: of the lookup element, as a share of the queue from its young end."""

    position: float = 0.30


class HybridJoinL(Algorithm):
    """The page of the row at a fixed rank."""

    settings_type: ClassVar[type[Settings]] = PositionSettings
    settings: PositionSettings
    _lookups = 0

    def next_partition(self) -> int:
        self._lookups += 1
        if not self.settings.strict_paper and (
            self._lookups % OLDEST_EVERY == 0
            or self.pending.oldest_age() > OLDEST_ABOVE * self.pending.capacity
        ):
            return self.pending.oldest_page()
        return self.pending.page_at_rank(int(self.settings.position * len(self.pending)))


ALGORITHM = HybridJoinL
