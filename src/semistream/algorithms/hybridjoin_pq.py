"""HYBRIDJOIN-PQ (S4): frequent partitions are loaded when they are due, the rest oldest first.

    if the most overdue frequent partition is due: load it
    else load the oldest row's partition
    a partition that answered at least `page_threshold` rows is frequent: it is due again after
        page_threshold * capacity / frequency admitted rows

S4's frequency is the number of rows a load answered, and stays what it was first. Ours glides
(f = decay f + (1 - decay) c), whose fixed point loads partition i at intervals proportional to
1 / sqrt(q_i): the optimum. S4 gives no threshold: it begins at four times the rows a HYBRIDJOIN load
answers, and is doubled or halved to whatever answers more. A due partition no row waits for is
not loaded. `strict_paper`: static frequencies, wasted loads, a fixed threshold.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from semistream.algorithms.base import Algorithm, Settings, Workshop
from semistream.phases.page_phase import Answered
from semistream.structures.pagequeue import PageQueue

QUEUE_SHARE = 0.01  # of the budget
LEAVES_BELOW = 1 / 3  # of the threshold, twice in a row
EPOCH = 4  # queue capacities between two looks at the threshold
BEGINS_AT = 4.0  # times the rows that a HYBRIDJOIN load answers
RANGE = (2.0, 64.0)  # of the threshold, in the same measure


@dataclass(frozen=True, kw_only=True)
class QueueSettings(Settings):
    """page_threshold: rows a load must answer for its partition to be frequent; None: tuned.
    decay: how much of a frequency its next observation leaves standing.
    """

    page_threshold: float | None = None
    decay: float = 0.9


class HybridJoinPq(Algorithm):
    """The most overdue frequent partition, else the oldest row's."""

    settings_type: ClassVar[type[Settings]] = QueueSettings
    settings: QueueSettings

    def __init__(self, workshop: Workshop, settings: Settings) -> None:
        most = max(16, int(QUEUE_SHARE * workshop.budget.limit / 200))
        self.queue = PageQueue(min(most, 4096))
        super().__init__(workshop, settings)
        # A HYBRIDJOIN load answers about twice its share of the queue (costs.renewal).
        self._typical = max(1.0, 2 * self.pending.capacity / max(1, self.page_phase.partitions))
        self.threshold = self.settings.page_threshold or max(2.0, BEGINS_AT * self._typical)
        self._due: tuple[int, float] | None = None
        self._weak: set[int] = set()
        self._epoch_start = (0, 0)
        self._epoch_yield = 0.0
        self._factor = 2.0

    def next_partition(self) -> int:
        self._due = None
        while self.queue.due(self.pending.admitted):
            page, frequency = self.queue.pop()
            if self.settings.strict_paper or self.pending.count(page):
                self._due = page, frequency
                return page
        return super().next_partition()

    def after_load(self, answered: Answered) -> None:
        super().after_load(answered)
        page = answered.partition
        if page is None:
            return
        if self._due is not None and self._due[0] == page:
            self._again(page, self._due[1], answered.rows)
        elif answered.rows >= self.threshold and page not in self.queue:
            self._queue(page, float(answered.rows))
        self._due = None
        if self.settings.page_threshold is None and not self.settings.strict_paper:
            self._tune()

    def _again(self, page: int, frequency: float, rows: int) -> None:
        """A due partition has been loaded: queue it again, or let it go."""
        if self.settings.strict_paper:
            if rows >= self.threshold * LEAVES_BELOW:
                self._queue(page, frequency)
            return
        weak = rows < self.threshold * LEAVES_BELOW
        if weak and page in self._weak:
            self._weak.discard(page)
            return
        (self._weak.add if weak else self._weak.discard)(page)
        self._queue(page, self.settings.decay * frequency + (1 - self.settings.decay) * rows)

    def _queue(self, page: int, frequency: float) -> None:
        interval = self.threshold * self.pending.capacity / max(frequency, 1.0)
        if not self.queue.push(page, self.pending.admitted + interval, frequency):
            self._weak.discard(page)

    def _tune(self) -> None:
        """Walk the threshold up or down by doubling while loads answer more rows for it."""
        loads, admitted = self.page_phase.counters.loads, self.pending.admitted
        if admitted - self._epoch_start[1] < EPOCH * self.pending.capacity:
            return
        rate = (admitted - self._epoch_start[1]) / max(1, loads - self._epoch_start[0])
        if rate < self._epoch_yield:
            self._factor = 1 / self._factor
        self._epoch_yield = rate
        self._epoch_start = (loads, admitted)
        low, high = (bound * self._typical for bound in RANGE)
        self.threshold = min(max(self.threshold * self._factor, low, 2.0), high)


ALGORITHM = HybridJoinPq
