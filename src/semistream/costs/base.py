"""What every cost model is asked, and what it answers.

    situation (probabilities and sizes) + units + device -> prediction (cost of a stream row)

`paper` predicts by the formulas as printed, `corrected` by ones that hold. Neither is told what a run
measured: no matches a load, no hit ratio.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np

from semistream.costs.renewal import Floats, page_shares, zipf_shares
from semistream.errors import ArgumentError

WARM_UP = 25  # pending capacities until a queue's rare rows are those of a long run
MEASURED = 15  # pending capacities
Order = Literal["frequency", "scattered"]


def _not_negative(costs: Any) -> None:
    for item in fields(costs):
        value = getattr(costs, item.name)
        if not 0 <= value < float("inf"):
            raise ArgumentError(f"{item.name}={value!r} is no cost: give 0 or more")


@dataclass(frozen=True, slots=True)
class UnitCosts:
    """Seconds that one operation takes; the papers' symbols in brackets.

    probe (c_H): look a key up in a hash table. output (c_O): put a row out. delete (c_E): take a row off
    hash table and queue. read (c_S): read a stream row. append (c_A): put a row into hash table and
    queue. copy (c_F): compare a master row's frequency and copy it into the cache. index: find the page
    of a key. load: what a load takes besides its I/O and its rows. The papers charge nothing for these two.
    """

    probe: float
    output: float
    delete: float
    read: float
    append: float
    copy: float
    index: float
    load: float = 0.0

    def __post_init__(self) -> None:
        _not_negative(self)


@dataclass(frozen=True, slots=True)
class DeviceCosts:
    """What a load takes (c_I/O): a seek, and the transfer over a bus that all loads in flight share."""

    seek_seconds: float
    bandwidth_bytes_per_second: float
    queue_depth: int = 1

    def __post_init__(self) -> None:
        _not_negative(self)
        if self.bandwidth_bytes_per_second <= 0 or self.queue_depth < 1:
            raise ArgumentError(
                f"{self} can't exist; give bandwidth_bytes_per_second > 0 and queue_depth >= 1"
            )

    def load_seconds(self, size: float, in_flight: int = 1) -> float:
        """Seconds a load of so many bytes adds while `in_flight` loads are under way all the time.

        >>> DeviceCosts(0.008, 1e8).load_seconds(1_000_000)
        0.018000000000000002
        >>> DeviceCosts(0.008, 1e8, queue_depth=2).load_seconds(1_000_000, in_flight=2)
        0.01
        """
        transfer = size / self.bandwidth_bytes_per_second
        together = max(1, min(in_flight, self.queue_depth))
        if together == 1:
            return self.seek_seconds + transfer
        return max(transfer, (self.seek_seconds + transfer) / together)


FIXED_UNITS = UnitCosts(
    probe=0.1e-6, output=1e-6, delete=0.5e-6, read=1e-6, append=0.5e-6, copy=0.5e-6, index=0.1e-6
)
"""Units for virtual time: of the size that the papers' Java took in 2011."""

HARD_DISK_2011 = DeviceCosts(8e-3, 150e6)


@dataclass(frozen=True, kw_only=True, eq=False)
class Situation:
    """All a model may know.

    key_shares: the probability that a stream row has the key of master row i, by position on disk.
    partition_rows: master rows a load brings (d): rows of a page times pages of a partition.
    pending_rows: stream rows that can wait (h_S).
    cache_rows: master rows in a row cache (h_R). cached_partitions: whole partitions in memory: pinned
        (d_N in partitions), or the most that a page cache holds.
    intermediate_rows: rows between two threads (i_B).
    master_row_bytes, stream_row_bytes, node_bytes, fudge: v_R, v_S, v_Q and f of the papers' memory
        equations. memory: M in bytes, where it is what fixes the rest.
    probe_rows: arriving rows that probe a front together; None: a quarter of the pending ones.
    batch_rows: rows of a batch of the stream; None: many. (Partitioned Join goes by the backlog.)
    warm_up_rows, measured_rows: what is left out, and what is looked at; None: 25 and 15 times
        `pending_rows`. A cache with rare promotions is still what its first filling made it by then.
    The others are the algorithms' settings of the same names.
    """

    key_shares: Floats
    partition_rows: int
    pending_rows: int
    cache_rows: int = 0
    cached_partitions: int = 0
    intermediate_rows: int = 0
    master_row_bytes: int = 120
    stream_row_bytes: int = 20
    node_bytes: int = 12
    fudge: float = 8.0
    memory: int | None = None
    probe_rows: int | None = None
    batch_rows: int | None = None
    warm_up_rows: int | None = None
    measured_rows: int | None = None
    position: float = 0.30
    page_threshold: float | None = None
    decay: float = 0.9
    slot_rows: int | None = None
    max_age: int | None = None
    loads_per_chunk: int | None = None
    promote_above: float | None = None
    loads_per_promotion: float = 4.0
    strict_paper: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("partition_rows", "pending_rows"):
            if getattr(self, name) < 1:
                raise ArgumentError(f"{name}={getattr(self, name)} leaves nothing to model: give at least 1")
        total = float(self.key_shares.sum())
        if not len(self.key_shares) or abs(total - 1.0) > 1e-6:
            raise ArgumentError(f"key_shares add up to {total:g}: give probabilities, which add up to 1")

    @property
    def master_rows(self) -> int:
        return len(self.key_shares)

    @property
    def partitions(self) -> int:
        return -(-self.master_rows // self.partition_rows)

    @property
    def partition_shares(self) -> Floats:
        """The probability of each partition."""
        return page_shares(self.key_shares, self.partition_rows)

    @property
    def partition_bytes(self) -> float:
        """Of an average partition: the last one may be short."""
        return self.master_rows / self.partitions * self.master_row_bytes

    @property
    def pending_row_bytes(self) -> float:
        """What a waiting row takes in the papers' accounting: f v_S + v_Q."""
        return self.fudge * self.stream_row_bytes + self.node_bytes

    @property
    def front_probe_rows(self) -> int:
        return self.probe_rows or max(64, self.pending_rows // 4)

    @property
    def warm_up(self) -> int:
        return WARM_UP * self.pending_rows if self.warm_up_rows is None else self.warm_up_rows

    @property
    def measured(self) -> int:
        return MEASURED * self.pending_rows if self.measured_rows is None else max(1, self.measured_rows)


def zipf_key_shares(keys: int, exponent: float, order: Order = "frequency", seed: int = 0) -> Floats:
    """Probabilities by position in a master in frequency order, or scattered by a permutation.

    >>> zipf_key_shares(3, 1.0).round(3).tolist()
    [0.545, 0.273, 0.182]
    """
    shares = zipf_shares(keys, exponent)
    if order == "frequency":
        return shares
    return np.asarray(shares[np.random.default_rng(seed).permutation(keys)])


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a stream row costs. `rows_per_load` counts the rows that the front answers too (w_N + w_S).

    io_seconds and cpu_seconds are the work of a row, whoever does it; `seconds` is the time it takes,
    which is less where phases run side by side.
    """

    rows_per_load: float
    hit_ratio: float
    loads_per_row: float
    io_seconds: float
    cpu_seconds: float
    seconds: float
    memory_bytes: float

    @property
    def rows_per_second(self) -> float:
        """mu, the service rate."""
        return 1 / self.seconds if self.seconds > 0 else float("inf")
