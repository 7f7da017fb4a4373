"""P-CACHEJOIN (S5): CACHEJOIN's two phases on two threads, with a buffer between them.

    this thread:  probe the cache with arriving rows; answer hits, put misses into the buffer
    page thread:  queue rows from the buffer; while the queue is full load the oldest row's partition,
                  answer, promote

A turn takes the longer of both phases, max(front, load + match), where S5's Eq. 2 adds them up. A row
in the buffer whose key is promoted meanwhile is answered by its page all the same: nothing is lost, and
nothing is answered twice. The page thread goes on until the queue is empty, where S5 stops it with
the buffer. `schedule="deterministic"` runs the same steps on one thread in a fixed order, for counts
that repeat.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import pyarrow as pa

from semistream.algorithms.base import Batches, Settings, Workshop
from semistream.algorithms.cachejoin import CacheJoin, CacheSettings
from semistream.errors import ArgumentError
from semistream.phases.arrivals import Arrivals
from semistream.phases.page_phase import Answered
from semistream.phases.plan import Facts, Needs
from semistream.phases.side_by_side import PageThread


@dataclass(frozen=True, kw_only=True)
class ParallelSettings(CacheSettings):
    """intermediate_share: of the memory, for misses between the two threads (S5: 2 of 100 MB).
    schedule: "threads", or "deterministic" for counts that repeat.
    """

    intermediate_share: float = 0.02
    schedule: Literal["threads", "deterministic"] = "threads"

    def __post_init__(self) -> None:
        if self.schedule not in ("threads", "deterministic"):
            raise ArgumentError(f"schedule={self.schedule!r} is not known: give 'threads' or 'deterministic'")


class PCacheJoin(CacheJoin):
    """The front here, the pages on a thread of their own."""

    settings_type: ClassVar[type[Settings]] = ParallelSettings
    settings: ParallelSettings

    @classmethod
    def needs(cls, settings: Settings, facts: Facts) -> Needs:
        assert isinstance(settings, ParallelSettings)
        return replace(super().needs(settings, facts), intermediate_share=settings.intermediate_share)

    def __init__(self, workshop: Workshop, settings: Settings) -> None:
        super().__init__(workshop, settings)
        self._pages: PageThread | None = None

    def push(self, batch: pa.RecordBatch) -> Batches:
        if self.settings.schedule == "deterministic":
            yield from super().push(batch)
            return
        for arrivals in self._encoder.pieces(batch, self._probe_rows(), self.plan.arrival_bytes):
            yield from self.arrive(arrivals)
        yield from self._page_thread().finished()

    def arrive(self, arrivals: Arrivals) -> Batches:
        if self.settings.schedule == "deterministic":
            yield from super().arrive(arrivals)
            return
        self._hold_arrivals(arrivals)
        misses = yield from self.front_phase.process(arrivals)
        yield from self._page_thread().hand_over(misses)
        self._hold_arrivals(None)

    def after_load(self, answered: Answered) -> None:
        super().after_load(answered)
        if self._pages is not None:
            self._pages.leave_if_stopping()

    def step(self) -> Batches:
        yield from self._ask(super().step)

    def drain(self) -> Batches:
        yield from self._ask(super().drain)

    def flush(self) -> Batches:
        """What is noted goes out; called on the page thread when its buffer is empty."""
        yield from self.page_phase.flush()

    def close(self) -> None:
        if self._pages is not None:
            self._pages.stop()
            self._pages = None
        super().close()

    @property
    def waiting_rows(self) -> int:
        return super().waiting_rows + (self._pages.waiting_rows if self._pages is not None else 0)

    def check(self) -> None:
        if self._pages is None or self._pages.quiet:
            super().check()

    def _ask(self, request: Callable[[], Batches]) -> Batches:
        if self.settings.schedule == "deterministic":
            return request()
        return self._page_thread().ask(request)

    def _page_thread(self) -> PageThread:
        if self._pages is None:
            budget = self._workshop.budget
            self._pages = PageThread(
                self, self.plan.intermediate_bytes, lambda size: budget.hold("intermediate", size)
            )
        return self._pages


ALGORITHM = PCacheJoin
