"""Tuned X-HYBRIDJOIN (S1, S2): X-HYBRIDJOIN whose two disk buffers are sized apart.

    as X-HYBRIDJOIN, with `pinned_partitions` kept and `partition_pages` loaded at a time,
    each chosen for the most rows answered per cost of a load

Both sizes come from the renewal model (`costs.tuned_x_hybridjoin`) unless they are given, for a Zipf
exponent and a device that can be told. The papers' own model (S1 Eq. 6, S2 Eq. 9) takes the variance
of a binomial for its mean and caps the gain of the kept part at a third; `costs` has both.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from semistream.algorithms.base import Settings
from semistream.algorithms.x_hybridjoin import XHybridJoin
from semistream.costs.tuned_x_hybridjoin import best_pinned_pages
from semistream.phases.plan import Facts, Needs


@dataclass(frozen=True, kw_only=True)
class PinnedSettings(Settings):
    """pinned_partitions: partitions kept in memory; None: by the model.
    pinned_share: of the memory shared by kept pages and pending rows, the most the model may take.
    exponent: of the Zipf law that the model assumes of the keys.
    """

    pinned_partitions: int | None = None
    pinned_share: float = 0.5
    exponent: float = 1.0


class TunedXHybridJoin(XHybridJoin):
    """As many kept partitions as pay."""

    settings_type: ClassVar[type[Settings]] = PinnedSettings
    settings: PinnedSettings

    @classmethod
    def needs(cls, settings: Settings, facts: Facts) -> Needs:
        assert isinstance(settings, PinnedSettings)
        needs = super().needs(settings, facts)
        if settings.pinned_partitions is not None:
            return replace(needs, front_partitions=settings.pinned_partitions)
        return replace(needs, front_partitions=None, front_share=settings.pinned_share)

    def pinned_partitions(self) -> int:
        if self.settings.pinned_partitions is not None:
            return self.settings.pinned_partitions
        layout = self._workshop.loader.store.layout
        assert layout is not None
        partition = self.plan.partition_pages * (layout.max_bytes + 48 * layout.max_rows)
        most = max(1, self.plan.front_bytes // max(1, partition))
        return best_pinned_pages(
            most, self.page_phase.partitions, self.pending.capacity, self.settings.exponent
        )


ALGORITHM = TunedXHybridJoin
