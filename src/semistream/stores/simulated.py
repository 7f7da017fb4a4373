"""A store on a device that doesn't exist: seek time, bandwidth and queue depth, on a virtual clock.

The model. A device has `queue_depth` channels; a request takes the channel that is free first. It
seeks there, beside the seeks of other channels, and then transfers over one bus that all channels
share, in the order in which the requests were issued:

    seek ends  = max(issued, channel free) + seek_seconds     (0 where it reads on from the one before)
    done       = max(seek ends, bus free) + bytes / bandwidth

All runs of one `read` are issued together, as far as channels go: a queue of depth one takes them
one after the other. The clock is the time at which the last run that was handed out was done.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from threading import Lock

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from semistream.errors import ArgumentError
from semistream.keys import KeyCodec, Keys
from semistream.stores.base import PageDirectory, PageRun, Store, Version
from semistream.stores.paged import LOOKUP_DIRECTORY_BYTES, lookup_by_pages
from semistream.stores.wrapped import WrappedStore


@dataclass(frozen=True, slots=True)
class Device:
    """What a device takes for a request. `HARD_DISK` and `SSD` are two to compare with."""

    seek_seconds: float
    bandwidth_bytes_per_second: float
    queue_depth: int = 1

    def __post_init__(self) -> None:
        if self.seek_seconds < 0 or self.bandwidth_bytes_per_second <= 0 or self.queue_depth < 1:
            raise ArgumentError(
                f"{self} can't exist; give seek_seconds >= 0, bandwidth_bytes_per_second > 0 "
                "and queue_depth >= 1"
            )


HARD_DISK = Device(8e-3, 150e6, 1)
SSD = Device(80e-6, 2e9, 32)


class Clock:
    """Virtual seconds since the store was made."""

    def __init__(self) -> None:
        self.now = 0.0


class SimulatedStore(WrappedStore):
    """`store` as it would be on `device`: same rows, and `clock.now` says how long they took.

    Thread-safe: threads are requests in flight. With `real_time` each waits as long as its reads
    take on the virtual clock.
    """

    def __init__(
        self, store: Store, device: Device, *, real_time: bool = False, timeline: Timeline | None = None
    ) -> None:
        super().__init__(store)
        self.device = device
        self._real_time = real_time
        self._timeline = Timeline(device) if timeline is None else timeline
        self._own_directory: PageDirectory | None = None

    @property
    def clock(self) -> Clock:
        return self._timeline.clock

    def at(self, version: Version) -> Store:
        return SimulatedStore(
            self._store.at(version), self.device, real_time=self._real_time, timeline=self._timeline
        )

    def directory(self, memory: int) -> PageDirectory | None:
        inner = self._store.directory(memory)
        if inner is None:
            return None
        self._spend(inner.reads, inner.bytes_read)
        return _SimulatedDirectory(inner, self)

    def read(self, pages: Sequence[int] | NDArray[np.int64], columns: Sequence[str]) -> Iterator[PageRun]:
        return self._timed(self._store.read(pages, columns))

    def scan(self, columns: Sequence[str]) -> Iterator[PageRun]:
        return self._timed(self._store.scan(columns))

    def lookup(self, keys: pa.Table, columns: Sequence[str], deadline: float | None = None) -> pa.Table:
        if self.layout is None:  # one request, whatever it asks for
            found = self._store.lookup(keys, columns, deadline)
            self._spend(1, found.nbytes)
            return found
        if self._own_directory is None:
            least, everything = self.directory_bytes()
            self._own_directory = self.directory(max(least, min(everything, LOOKUP_DIRECTORY_BYTES)))
        assert self._own_directory is not None
        return lookup_by_pages(self, self._own_directory, keys, columns, deadline)

    def _timed(self, runs: Iterator[PageRun]) -> Iterator[PageRun]:
        issued = self._timeline.clock.now
        following = -1
        for run in runs:
            size = run.bytes_read or int(run.batch.nbytes)
            seeks = 0 if run.first == following else 1
            following = run.first + run.pages
            self._wait(self._timeline.request(issued, seeks, size))
            yield replace(run, bytes_read=size, reads=max(run.reads, 1))

    def _spend(self, reads: int, size: int) -> None:
        """Requests that follow one another."""
        if reads:
            self._wait(self._timeline.request(self._timeline.clock.now, reads, size))

    def _wait(self, seconds: float) -> None:
        if self._real_time and seconds > 0:
            time.sleep(seconds)


class Timeline:
    """When each channel, and the bus they share, is free again."""

    def __init__(self, device: Device) -> None:
        self.clock = Clock()
        self._device = device
        self._channels = [0.0] * device.queue_depth
        self._bus = 0.0
        self._lock = Lock()

    def request(self, issued: float, seeks: int, size: int) -> float:
        """Take a request through, and advance the clock to its end; by how much it advanced."""
        with self._lock:
            start = max(issued, heapq.heappop(self._channels)) + seeks * self._device.seek_seconds
            done = max(start, self._bus) + size / self._device.bandwidth_bytes_per_second
            heapq.heappush(self._channels, done)
            self._bus = done
            passed = max(done - self.clock.now, 0.0)
            self.clock.now = max(self.clock.now, done)
            return passed


class _SimulatedDirectory:
    """A directory whose reads take their time too."""

    def __init__(self, inner: PageDirectory, store: SimulatedStore) -> None:
        self.codec: KeyCodec = inner.codec
        self._inner, self._store = inner, store

    @property
    def held_bytes(self) -> int:
        return self._inner.held_bytes

    @property
    def bytes_read(self) -> int:
        return self._inner.bytes_read

    @property
    def reads(self) -> int:
        return self._inner.reads

    def locate(self, keys: Keys) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        reads, bytes_read = self._inner.reads, self._inner.bytes_read
        found = self._inner.locate(keys)
        self._store._spend(self._inner.reads - reads, self._inner.bytes_read - bytes_read)
        return found
