"""What happened in a join: counters, queue ages, times and held bytes.

Counters carry Flink's lookup-cache names where there is one (hits, misses, loads), in our spelling.
Each phase of a join counts for itself, so that parallel phases never share a counter.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

_STEPS_PER_DOUBLING = 16  # an age's bucket is at most 4.4 % wide


@dataclass(slots=True)
class Counters:
    """Plain counts. All of them only grow."""

    rows_in: int = 0
    rows_out: int = 0
    matched: int = 0  # stream rows that met at least one master row
    unmatched: int = 0  # stream rows whose key no master row has
    null_keys: int = 0
    cache_hits: int = 0  # stream rows answered without waiting for a load
    cache_misses: int = 0
    admitted: int = 0  # rows that had to wait in the queue
    loads: int = 0  # partitions loaded, whatever the device made of it
    wasted_loads: int = 0  # loads that found no row waiting
    reads: int = 0  # requests to the device
    rows_read: int = 0
    bytes_read: int = 0
    index_reads: int = 0  # reads of a paged directory
    index_bytes_read: int = 0
    promotions: int = 0
    evictions: int = 0
    processing_seconds: float = 0.0
    waiting_row_seconds: float = 0.0  # integral of the rows that wait, over time

    def add(self, other: Counters) -> None:
        for item in fields(Counters):
            setattr(self, item.name, getattr(self, item.name) + getattr(other, item.name))


class Ages:
    """How long rows waited, in rows admitted after them: a histogram of logarithmic buckets.

    Exact below 16, within 4.4 % above; bytes: 8 KiB however many rows.
    """

    def __init__(self) -> None:
        self._counts = np.zeros(_STEPS_PER_DOUBLING * 64, dtype=np.int64)
        self.most = 0

    def add(self, ages: NDArray[np.int64]) -> None:
        if len(ages):
            self.most = max(self.most, int(ages.max()))
            buckets = np.log2(ages + 1.0) * _STEPS_PER_DOUBLING
            self._counts += np.bincount(buckets.astype(np.int64), minlength=len(self._counts))

    def quantile(self, share: float) -> int:
        total = int(self._counts.sum())
        if not total:
            return 0
        bucket = int(np.searchsorted(np.cumsum(self._counts), max(1.0, share * total)))
        return min(self.most, int(2 ** ((bucket + 1) / _STEPS_PER_DOUBLING) - 1))

    def merge(self, other: Ages) -> None:
        self._counts += other._counts
        self.most = max(self.most, other.most)


@dataclass(frozen=True, slots=True)
class Stats:
    """A snapshot of a join, as `SemiStreamJoin.stats` gives it."""

    counters: Counters
    pending_rows: int
    pending_capacity: int
    cached_rows: int
    age_p50: int
    age_p99: int
    age_max: int
    memory_limit: int
    held_bytes: dict[str, int] = field(default_factory=dict)
    peak_bytes: int = 0
    paper_bytes: int = 0
    threads: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def __getattr__(self, name: str) -> Any:
        """Counters read like attributes of the snapshot: `stats.loads`."""
        if name in Counters.__slots__:
            return getattr(self.counters, name)
        raise AttributeError(f"stats have no {name!r}; counters are {', '.join(Counters.__slots__)}")

    @property
    def held_total(self) -> int:
        return sum(self.held_bytes.values())

    @property
    def rows_per_load(self) -> float:
        """Stream rows answered per load, those answered by the front included (the papers' w)."""
        answered = self.counters.rows_in - self.pending_rows
        return answered / self.counters.loads if self.counters.loads else float("inf")

    @property
    def loads_per_row(self) -> float:
        answered = self.counters.rows_in - self.pending_rows
        return self.counters.loads / answered if answered else 0.0

    @property
    def waiting_seconds(self) -> float:
        """Mean time a row waited in the queue (Little's law: row-seconds over rows)."""
        served = self.counters.admitted - self.pending_rows
        return self.counters.waiting_row_seconds / served if served else 0.0

    def as_dict(self) -> dict[str, Any]:
        """Everything as plain numbers, for JSON; `rows_per_load` is None before the first load."""
        flat = {item.name: getattr(self.counters, item.name) for item in fields(Counters)}
        own = {item.name: getattr(self, item.name) for item in fields(self) if item.name != "counters"}
        rows_per_load = self.rows_per_load if self.counters.loads else None  # JSON has no infinity
        return {**flat, **own, "held_total": self.held_total, "rows_per_load": rows_per_load}
