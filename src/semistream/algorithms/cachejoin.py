"""CACHEJOIN (papers S4, S5): hot master rows in front, HYBRIDJOIN behind.

    probe the cache with each arriving row: a hit is answered at once
    queue the misses; when the queue is full load the oldest row's partition
    a master row that answered many waiting rows on that load moves into the cache

The loads fall by the hit ratio. A full cache overwrites a random entry (S4). The papers give no value
for the promotion threshold: with `promote_above=None` a row needs two waiting rows, and once the cache
is full a rate that keeps promotions rare, at about one in `loads_per_promotion` loads (a drain fills a
cache that has room with whatever it meets). Rates are
matches over the rows admitted since the page's last load; a plain count would take any row of a
rarely loaded page for hot. `strict_paper` counts plainly, against `promote_above` or 2.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from semistream.algorithms.base import Algorithm, Settings
from semistream.keys import Keys, same_as_previous
from semistream.phases.fronts import Front, RowFront
from semistream.phases.page_phase import Answered
from semistream.phases.plan import Facts, Needs
from semistream.stores.base import Found
from semistream.structures.rowcache import Replacement, RowCache
from semistream.structures.views import taken

Int64s = NDArray[np.int64]

MOST_ROWS_A_KEY = 64  # a key with more master rows isn't cached: its fan-out dwarfs the load it saves
LEAST_PROBES = 4  # per entry, behind a rate
FILLS_ABOVE = 0.05  # of the entries there are: with less room than that a drain promotes as a load does
MOST_VICTIMS = 256  # entries that one drain's answers replace
RATE_STEP = 0.05  # how far one promotion into a full cache raises the bar


@dataclass(frozen=True, kw_only=True)
class CacheSettings(Settings):
    """cache_rows: keys the cache can hold; None: as many as its share has room for.
    cache_share: of the memory that cache and pending rows share.
    promote_above: waiting rows a master row must have answered on a load; None: found while running.
    loads_per_promotion: how rare promotions into a full cache are kept.
    """

    cache_rows: int | None = None
    cache_share: float = 0.25
    promote_above: float | None = None
    loads_per_promotion: float = 4.0


class CacheJoin(Algorithm):
    """A row cache in front; promotion by rate."""

    settings_type: ClassVar[type[Settings]] = CacheSettings
    replacement: ClassVar[Replacement] = Replacement.RANDOM
    strict_replacement: ClassVar[Replacement] = Replacement.RANDOM
    settings: CacheSettings
    front: RowFront
    _least_rate = 0.0

    @classmethod
    def needs(cls, settings: Settings, facts: Facts) -> Needs:
        assert isinstance(settings, CacheSettings)
        return replace(
            super().needs(settings, facts),
            front="rows",
            front_share=settings.cache_share,
            cache_rows=settings.cache_rows,
        )

    def make_front(self) -> Front:
        loader = self._workshop.loader
        cache = RowCache(
            loader.schema,
            self.plan.front_entries,
            self.plan.front_pool_bytes,
            self.strict_replacement if self.settings.strict_paper else self.replacement,
            self.settings.seed,
        )
        return RowFront(cache, self.key_columns)

    def after_load(self, answered: Answered) -> None:
        full = len(self.front.cache) >= self.front.cache.capacity
        least = self.settings.promote_above
        if least is None:
            # A drain brings each row that anybody asked for, and room that is left costs nothing.
            drained = answered.partition is None and not self.settings.strict_paper
            least = 0 if drained and self.front.cache.spare >= FILLS_ABOVE * len(self.front.cache) else 1
        if not self.settings.strict_paper and full:
            self._least_rate *= (1 - RATE_STEP / self.settings.loads_per_promotion) ** answered.loads
        hot = np.flatnonzero(answered.matches > least)
        if len(hot):
            self._promote(answered, hot)

    def after_found(self, keys: Keys, found: Found) -> None:
        """Promote what fills the cache, else what was asked for twice at once."""
        cache = self.front.cache
        starts = np.flatnonzero(~same_as_previous(keys))
        asked = np.diff(np.append(starts, len(keys)))
        spare = 0 if self.settings.strict_paper else cache.spare
        if spare < FILLS_ABOVE * len(cache):
            starts, asked = starts[asked > 1], asked[asked > 1]
            if not len(starts):
                return
        begin, end = np.searchsorted(found.keys, starts), np.searchsorted(found.keys, starts, side="right")
        whole = (end > begin) & (end - begin <= MOST_ROWS_A_KEY)
        if not self._workshop.loader.store.unique:
            whole &= end < len(found.keys)  # the last key's rows may go on in another batch
        chosen = np.flatnonzero(whole)
        chosen = chosen[np.argsort(-asked[chosen], kind="stable")][: max(spare, MOST_VICTIMS // 4)]
        if not len(chosen):
            return
        counts = end[chosen] - begin[chosen]
        rows = np.repeat(begin[chosen] - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
        loaded = self._workshop.loader.found(taken(found.batch, rows))
        probes = max(len(keys), min(self.front_phase.counters.rows_in, LEAST_PROBES * cache.capacity))
        self._take_in(loaded.batch, keys.codes[starts[chosen]], counts, asked[chosen] / probes)
        self._account()

    def _take_in(
        self, batch: pa.RecordBatch, codes: NDArray[np.uint64], counts: Int64s, rates: NDArray[np.float64]
    ) -> None:
        # Two keys with one hash: so rare that neither is worth code.
        if self._workshop.loader.exact or len(np.unique(codes)) == len(codes):
            self.page_phase.counters.promotions += self.front.add(batch, codes, counts, rates)

    def _promote(self, answered: Answered, hot: Int64s) -> None:
        """Copy the hot keys' rows into the cache, the hottest first."""
        first, counts = self._groups(answered, hot)
        rates = answered.matches[first] / self._lookups_since_last_load(answered)
        if not self.settings.strict_paper:
            chosen = np.flatnonzero(rates > self._least_rate)
            chosen = chosen[np.argsort(-rates[chosen], kind="stable")][: self._most_at_once(answered)]
            first, counts, rates = first[chosen], counts[chosen], rates[chosen]
        if not len(first):
            return
        rows = np.repeat(first - np.concatenate([[0], np.cumsum(counts)[:-1]]), counts) + np.arange(
            counts.sum()
        )
        sources = self.page_phase.pages
        columns = sources.gather(
            np.full(len(rows), answered.number, dtype=np.int32), rows, range(len(sources.schema))
        )
        batch = pa.RecordBatch.from_arrays(columns, schema=sources.schema)
        evicted = self.front.evictions
        self._take_in(batch, answered.loaded.keys.codes[first], counts, rates)
        if self.front.evictions > evicted and not self.settings.strict_paper:
            raised = (1 + RATE_STEP) ** (self.front.evictions - evicted)
            self._least_rate = max(self._least_rate * min(raised, 2.0), float(rates.min()) / 2)
        self._account()

    def _groups(self, answered: Answered, hot: Int64s) -> tuple[Int64s, Int64s]:
        """First row and number of rows of each hot key whose rows are all on these pages."""
        if self._workshop.loader.store.unique:
            return hot, np.ones(len(hot), dtype=np.int64)
        # Rows of one key lie side by side; the outermost keys may go on beyond these pages.
        starts = np.flatnonzero(~same_as_previous(answered.loaded.keys))
        counts = np.diff(np.append(starts, answered.loaded.rows))
        inner = np.isin(starts, hot) & (counts <= MOST_ROWS_A_KEY)
        inner[[0, -1]] = False
        return starts[inner], counts[inner]

    def _lookups_since_last_load(self, answered: Answered) -> float:
        """Rates are per probe of the cache, as its hit counters are.

        A queue that was drained a moment ago has seen too little to call three equal rows frequent:
        never less than some probes per entry, or than all there were.
        """
        probes = self.front_phase.counters.rows_in
        per_admission = max(1.0, probes / max(1, self.page_phase.counters.admitted))
        least = min(probes, LEAST_PROBES * self.front.cache.capacity)
        return max(answered.rate_scale() * per_admission, float(least), 1.0)

    def _most_at_once(self, answered: Answered) -> int:
        """What has room; else a few, since each of them has to find its victim."""
        return max(
            self.front.cache.spare,
            min(int(answered.loads / self.settings.loads_per_promotion), MOST_VICTIMS),
            4,
        )


ALGORITHM = CacheJoin
