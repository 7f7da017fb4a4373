"""OP-CACHEJOIN (S5): P-CACHEJOIN with two loads in flight, one from each end of the queue.

    page thread:     keep both buffers loading; answer the rows of whichever is full first
    loader threads:  one fetches the oldest row's partition, the other the youngest's

A buffer is empty, loading, full or busy, and empty again. A loader that finds its partition in the
other buffer takes the next one on: S5's text would load it twice. Rows that arrive while their
partition is loading are answered by it. The second buffer pays if the device serves two reads at once;
the order alone, oldest and youngest in turn, answers more rows a load on a master in frequency order
and fewer at low skew.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from semistream.algorithms.base import Batches, Settings, Workshop
from semistream.algorithms.p_cachejoin import PCacheJoin
from semistream.phases.loading import Loaded
from semistream.phases.plan import Facts, Needs
from semistream.structures.codeindex import NONE

BUFFERS = 2


class _AtOnce(Executor):
    """Runs what is submitted then and there: the deterministic schedule's loaders."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        done: Future[Any] = Future()
        done.set_result(fn(*args, **kwargs))
        return done


class OpCacheJoin(PCacheJoin):
    """Two loaders under P-CACHEJOIN's page thread."""

    ends: ClassVar[tuple[bool, ...]] = (True, False)  # each buffer's: from the oldest row?

    @classmethod
    def needs(cls, settings: Settings, facts: Facts) -> Needs:
        return replace(super().needs(settings, facts), loads_in_flight=BUFFERS)

    def __init__(self, workshop: Workshop, settings: Settings) -> None:
        super().__init__(workshop, settings)
        self._loaders: Executor = (
            _AtOnce()
            if self.settings.schedule == "deterministic"
            else ThreadPoolExecutor(BUFFERS, thread_name_prefix="semistream-loader")
        )
        # By buffer: the partition, and the load. Insertion order is the order of asking.
        self._flights: dict[int, tuple[int, Future[Loaded]]] = {}

    def make_room(self) -> Batches:
        self._ask_for_loads(NONE)
        partition, loaded = self._landed()
        self._ask_for_loads(partition)  # the next load goes on while this one is answered
        yield from self.page_phase.answer(loaded, 1)

    def drain(self) -> Batches:
        yield from self._ask(self._settle)
        yield from super().drain()

    def close(self) -> None:
        super().close()
        self._loaders.shutdown(wait=True, cancel_futures=True)
        self._flights.clear()

    def _settle(self) -> Batches:
        """Answer what is in flight already."""
        while self._flights:
            _, loaded = self._landed()
            yield from self.page_phase.answer(loaded, 1)

    def _ask_for_loads(self, busy: int) -> None:
        """Give every empty buffer a partition that is in no other buffer."""
        for buffer, from_oldest in enumerate(self.ends):
            if buffer not in self._flights:
                excluded = [busy, *(partition for partition, _ in self._flights.values())]
                wanted = self.pending.page_not_in(np.array(excluded, dtype=np.int64), from_oldest=from_oldest)
                if wanted != NONE:
                    self._flights[buffer] = wanted, self._loaders.submit(self.page_phase.read, wanted)

    def _landed(self) -> tuple[int, Loaded]:
        """The first load to be complete; of several the one asked for first."""
        wait([load for _, load in self._flights.values()], return_when=FIRST_COMPLETED)
        buffer = next(buffer for buffer, (_, load) in self._flights.items() if load.done())
        partition, load = self._flights.pop(buffer)
        return partition, load.result()


ALGORITHM = OpCacheJoin
