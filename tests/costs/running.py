"""Real joins on a simulated disk: what a stream row cost, in virtual seconds.

A row costs the virtual clock's I/O, and fixed unit costs times what the join counted. Master rows have
the papers' 120 bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

from semistream import SemiStreamJoin
from semistream.costs import model
from semistream.costs.accounting import Account, Counts, counted
from semistream.costs.base import FIXED_UNITS, DeviceCosts, Situation, zipf_key_shares
from semistream.stats import Counters
from semistream.stores.memory import MemoryStore
from semistream.stores.simulated import HARD_DISK, SimulatedStore
from semistream.workloads.keys import zipf_keys
from tests.algorithms.traces import consume, fixed_counts, stream_of

DISK = DeviceCosts(HARD_DISK.seek_seconds, HARD_DISK.bandwidth_bytes_per_second, HARD_DISK.queue_depth)
SCATTER = 99
BATCH_ROWS = 2500
SCANS = ("meshjoin", "r_meshjoin")
INLJ_ROWS = 2000


@dataclass(frozen=True)
class Case:
    """One algorithm in one situation. `kept` is what its front holds, in partitions."""

    name: str
    exponent: float = 1.0
    order: str = "frequency"
    rows: int = 20_000
    partition_rows: int = 100
    pending: int = 1000
    kept: int = 10
    strict_paper: bool = False
    seeds: int = 2
    settings: tuple[tuple[str, Any], ...] = ()

    @property
    def scatter(self) -> int | None:
        return None if self.order == "frequency" else SCATTER

    @property
    def situation(self) -> Situation:
        shares = zipf_key_shares(self.rows, self.exponent, "frequency")
        if self.scatter is not None:
            shares = shares[np.argsort(np.random.default_rng(self.scatter).permutation(self.rows))]
        return Situation(
            key_shares=shares,
            partition_rows=self.partition_rows,
            pending_rows=self.pending,
            cache_rows=self.kept * self.partition_rows,
            cached_partitions=self.kept,
            batch_rows=BATCH_ROWS,
            strict_paper=self.strict_paper,
            **dict(self.settings),
        )

    @property
    def join_settings(self) -> dict[str, Any]:
        own = {**fixed_counts(self.name), **dict(self.settings)}
        if self.name == "tuned_x_hybridjoin":
            own["pinned_partitions"] = self.kept
        elif self.name in ("ssij", "partitioned_join"):
            own["cache_partitions"] = self.kept
        elif "cachejoin" in self.name or self.name == "sscj":
            own["cache_rows"] = self.kept * self.partition_rows
        return own

    @property
    def lengths(self) -> tuple[int, int]:
        """Rows of warm-up, and rows that are measured."""
        if self.name == "inlj":
            return 0, INLJ_ROWS
        return (2 if self.name in SCANS else 25) * self.pending, 15 * self.pending


def measured_seconds(case: Case) -> float:
    """Virtual seconds a row, as a mean over seeds."""
    account: Account = model(case.name).ACCOUNT
    found = []
    for seed in range(case.seeds):
        counts, io = _run(case, seed)
        found.append(account.charge(counts, io, FIXED_UNITS, DISK)[2] / counts.rows)
    return float(np.mean(found))


@cache
def _master(rows: int, page_rows: int) -> MemoryStore:
    payload = pa.array(np.zeros(rows * 112, np.uint8).view("S112"), pa.binary(112))
    return MemoryStore(pa.table({"k": np.arange(rows), "p": payload}), "k", page_rows=page_rows)


def _run(case: Case, seed: int) -> tuple[Counts, float]:
    """Counts and seconds of I/O of the measured part; its loads are checked against the virtual clock."""
    warm_up, measured = case.lengths
    keys = zipf_keys(warm_up + measured, case.rows, case.exponent, seed, scatter=case.scatter)
    store = SimulatedStore(_master(case.rows, case.partition_rows), HARD_DISK)
    with SemiStreamJoin(
        store,
        memory="64MiB",
        algorithm=case.name,
        pending_rows=case.pending,
        strict_paper=case.strict_paper,
        seed=seed,
        **case.join_settings,
    ) as join:
        for at in range(0, warm_up, BATCH_ROWS):
            consume(join.push(stream_of(keys[at : min(at + BATCH_ROWS, warm_up)], at)))
        before, clock = join.stats.counters if warm_up else Counters(), store.clock.now
        for at in range(warm_up, len(keys), BATCH_ROWS):
            consume(join.push(stream_of(keys[at : at + BATCH_ROWS], at)))
        counts, io = counted(before, join.stats.counters), store.clock.now - clock
    assert counts.rows == measured
    each = DISK.load_seconds(case.partition_rows * 120)
    assert abs(io - counts.loads * each) < 1e-6 * io, "a load costs what the model is told it costs"
    return counts, io
