"""The disks that experiments run on, and what a simulated run costs in virtual seconds.

The master lies in memory with narrow rows, and the papers' 120 bytes a row are charged; so a cell needs
exact counts and no bytes.

    virtual seconds = loads x seek time + bytes / bandwidth + counted operations x their unit costs

A load seeks wherever the one before ended, as in the papers' formulas (c_I/O of a partition, whoever
loads it): a disk that others use too has moved on meanwhile. A disk that stands still between two loads
reads a scan without seeking, and is far kinder to MESHJOIN; results have its numbers as well (`scan_`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from semistream.costs import model
from semistream.costs.accounting import Counts
from semistream.costs.base import FIXED_UNITS, HARD_DISK_2011, DeviceCosts, UnitCosts
from semistream.experiments.accounting import MASTER_ROW_BYTES
from semistream.stores.base import PageRun, Store
from semistream.stores.simulated import Clock
from semistream.stores.wrapped import WrappedStore

SSD = DeviceCosts(80e-6, 2e9, 32)


@dataclass(frozen=True, slots=True)
class Reads:
    """What a disk did: loads, those that didn't read on where the last one ended, and bytes."""

    loads: int = 0
    jumps: int = 0
    bytes: int = 0

    def __sub__(self, before: Reads) -> Reads:
        return Reads(self.loads - before.loads, self.jumps - before.jumps, self.bytes - before.bytes)

    def seconds(self, device: DeviceCosts, in_flight: int = 1) -> float:
        """One after the other, or so many at a time as the device can.

        >>> round(Reads(2, 1, 3_000_000).seconds(DeviceCosts(0.008, 1e8)), 3)
        0.046
        """
        return self.loads * device.load_seconds(self.bytes / self.loads, in_flight) if self.loads else 0.0

    def undisturbed(self) -> Reads:
        """The same on a disk that nobody else uses: reading on is no load of its own.

        >>> round(Reads(2, 1, 3_000_000).undisturbed().seconds(DeviceCosts(0.008, 1e8)), 3)
        0.038
        """
        return Reads(self.jumps, self.jumps, self.bytes)


class SimulatedDisk(WrappedStore):
    """A master on a disk that doesn't exist, with a clock that a driver may advance too."""

    def __init__(
        self, store: Store, device: DeviceCosts = HARD_DISK_2011, row_bytes: int = MASTER_ROW_BYTES
    ) -> None:
        super().__init__(store)
        layout = store.layout
        assert layout is not None
        self.device = device
        self.clock = Clock()
        self.loads_by_page: NDArray[np.int64] = np.zeros(layout.pages, dtype=np.int64)
        self._row_bytes = row_bytes
        self._head = -1  # the page behind the one read last
        self._loads = self._jumps = self._bytes = 0

    @property
    def reads(self) -> Reads:
        return Reads(self._loads, self._jumps, self._bytes)

    def read(self, pages: Sequence[int] | NDArray[np.int64], columns: Sequence[str]) -> Iterator[PageRun]:
        for run in super().read(pages, columns):
            jumps = int(run.first != self._head)
            size = run.batch.num_rows * self._row_bytes
            self._head = run.first + run.pages
            self._loads += run.pages
            self._jumps += jumps
            self._bytes += size
            self.loads_by_page[run.first : self._head] += 1
            self.clock.now += Reads(run.pages, jumps, size).seconds(self.device)
            yield replace(run, reads=1)


def front_seconds(algorithm: str, counts: Counts, units: UnitCosts = FIXED_UNITS) -> float:
    """Reading the stream, probing the front, putting its answers out."""
    return model(algorithm).ACCOUNT.front_phase(counts).seconds(units)


def pages_seconds(algorithm: str, counts: Counts, units: UnitCosts = FIXED_UNITS) -> float:
    """Queueing rows, probing with what was loaded, putting out, copying; all but the loads themselves."""
    return model(algorithm).ACCOUNT.page_phase(counts).seconds(units)
