"""What a load takes on a store's device, by its size: a seek, a bandwidth, and how many at once.

Partitions of several sizes are read at random places, each with everything a read is: the request, its
checksums, the decoding. A straight line through the medians gives seek and bandwidth.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from semistream.stores.base import Store
from semistream.tuning.estimates import Estimate, median_of

Int64s = NDArray[np.int64]

AT_ONCE = (2, 4, 8)  # threads that read side by side
LINES = 200  # through loads that vary within their intervals
PAYS = 1.3  # times the throughput that twice the threads must bring


@dataclass(frozen=True, slots=True)
class LoadEstimate:
    """Seconds to load so many neighbouring pages."""

    pages: int
    bytes_read: int
    seconds: Estimate


@dataclass(frozen=True, slots=True)
class DeviceEstimate:
    """Seek and bandwidth of a straight line through the loads, and how many of them it serves at once."""

    seek_seconds: Estimate
    bandwidth_bytes_per_second: Estimate
    queue_depth: int


def load_estimates(
    store: Store, sizes: Sequence[int], repeats: int, seed: int, progress: Callable[[str], None]
) -> list[LoadEstimate]:
    """The time of a load for each number of pages; none is larger than the master."""
    assert store.layout is not None
    rng = np.random.default_rng(seed)
    found: list[LoadEstimate] = []
    for pages in sizes:
        progress(f"loads of {pages} pages")
        timings = [
            _read(store, int(first), pages)
            for first in rng.integers(0, store.layout.pages - pages + 1, repeats + 1)
        ][1:]  # the first one opens what is opened once
        bytes_read = int(np.median([size for _, size in timings]))
        found.append(LoadEstimate(pages, bytes_read, median_of([seconds for seconds, _ in timings])))
    return found


def device_estimate(store: Store, loads: Sequence[LoadEstimate], repeats: int, seed: int) -> DeviceEstimate:
    """A line through the loads; its interval is that of lines through loads that vary within theirs."""
    rng = np.random.default_rng(seed)
    sizes = np.array([load.bytes_read for load in loads], dtype=np.float64)
    middle = np.array([load.seconds.value for load in loads])
    spread = np.array([(load.seconds.high - load.seconds.low) / 4 for load in loads])  # two sigma each way
    drawn = [
        _line(sizes, np.maximum(middle + spread * rng.standard_normal(len(loads)), 1e-9)) for _ in range(200)
    ]
    seek, rate = _line(sizes, middle)
    samples = loads[0].seconds.samples
    return DeviceEstimate(
        _around(seek, [line[0] for line in drawn], samples),
        _around(rate, [line[1] for line in drawn], samples),
        _served_at_once(store, loads[0].pages, repeats, rng),
    )


def _line(sizes: NDArray[np.float64], seconds: NDArray[np.float64]) -> tuple[float, float]:
    """Seek and bandwidth, by least squares of relative errors; neither is below zero."""
    if len(sizes) == 1:
        return 0.0, float(sizes[0] / seconds[0])
    design = np.stack([np.ones(len(sizes)), sizes], axis=1) / seconds[:, None]
    (seek, per_byte), *_ = np.linalg.lstsq(design, np.ones(len(sizes)), rcond=None)
    if per_byte <= 0:  # too fast to be told from none
        per_byte = 1e-12
    if seek < 0:
        seek, per_byte = 0.0, float(np.median(seconds / sizes))
    return float(seek), float(1 / per_byte)


def _around(value: float, drawn: Sequence[float], samples: int) -> Estimate:
    low, high = np.quantile(drawn, [0.025, 0.975])
    return Estimate(value, min(value, float(low)), max(value, float(high)), samples)


def _served_at_once(store: Store, pages: int, repeats: int, rng: np.random.Generator) -> int:
    """The number of readers up to which twice as many bring `PAYS` times the throughput."""
    best, throughput = 1, _throughput(store, pages, 1, repeats, rng)
    for readers in AT_ONCE:
        reached = _throughput(store, pages, readers, repeats, rng)
        if reached < PAYS * throughput:
            break
        best, throughput = readers, reached
    return best


def _throughput(store: Store, pages: int, readers: int, repeats: int, rng: np.random.Generator) -> float:
    """Loads a second."""
    assert store.layout is not None
    firsts = rng.integers(0, store.layout.pages - pages + 1, 2 * repeats).tolist()
    with ThreadPoolExecutor(readers, thread_name_prefix="semistream-calibration") as pool:
        began = time.perf_counter()
        list(pool.map(lambda first: _read(store, first, pages), firsts))
        return len(firsts) / (time.perf_counter() - began)


def _read(store: Store, first: int, pages: int) -> tuple[float, int]:
    """Seconds and bytes of one load with all its columns."""
    names = [*store.key, *(name for name in store.schema.names if name not in store.key)]
    began = time.perf_counter()
    runs = list(store.read(np.arange(first, first + pages), names))
    seconds = time.perf_counter() - began
    return seconds, sum(run.bytes_read or int(run.batch.nbytes) for run in runs)
