"""What a choice costs when it is run: the real join over the master, on a virtual device or on its own.

On a virtual device a row costs the clock's I/O and unit costs times what was counted: the same every
time. On the real one it costs the time it takes. Every choice meets the same stream, drawn from the skew.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from semistream.algorithms import algorithm as find_algorithm
from semistream.columns import key_pairs
from semistream.costs.accounting import counted
from semistream.stats import Counters
from semistream.stores.base import Store
from semistream.stores.simulated import Device, SimulatedStore
from semistream.structures.views import taken, taken_array
from semistream.tuning.job import Job, Settings

BATCH_ROWS = 1 << 14
READ_AT_ONCE = 256  # pages

Int64s = NDArray[np.int64]


class Trial:
    """One stream, run through the join with one setting after the other."""

    def __init__(self, job: Job, warm_up: int, measured: int, *, real: bool = False, seed: int = 0) -> None:
        self._job, self._real = job, real
        self._warm_up = warm_up
        rng = np.random.default_rng([seed, warm_up + measured])
        ends = np.cumsum(job.key_shares)
        positions = np.searchsorted(ends / ends[-1], rng.random(warm_up + measured), side="right")
        self._rows, self._which = _rows_at(job, positions)

    def seconds(self, settings: Settings) -> float:
        """Of a row, after the warm-up."""
        job = self._job
        if self._real:
            return self._run(settings, job.store)[0]
        device = Device(
            job.device.seek_seconds, job.device.bandwidth_bytes_per_second, job.device.queue_depth
        )
        store = SimulatedStore(job.store, device)
        _, io_seconds, before, after = self._run({**settings, **self._repeatable()}, store)
        counts = counted(before, after)
        return job.costs.ACCOUNT.charge(counts, io_seconds, job.units, job.device)[2] / counts.rows

    def _run(self, settings: Settings, store: Store) -> tuple[float, float, Counters, Counters]:
        clock = store.clock if isinstance(store, SimulatedStore) else None
        with self._job.join(settings, store) as join:
            for batch in self._batches(0, self._warm_up):
                _drop(join.push(batch))
            before, began = join.stats.counters, clock.now if clock else 0.0
            for batch in self._batches(self._warm_up, len(self._which)):
                _drop(join.push(batch))
            after, ended = join.stats.counters, clock.now if clock else 0.0
        rows = after.rows_in - before.rows_in
        each = (after.processing_seconds - before.processing_seconds) / max(1, rows)
        return each, ended - began, before, after

    def _batches(self, first: int, end: int) -> Iterator[pa.RecordBatch]:
        for at in range(first, end, BATCH_ROWS):
            yield taken(self._rows, self._which[at : min(at + BATCH_ROWS, end)])

    def _repeatable(self) -> Settings:
        """Threads would make counts vary."""
        known = {item.name for item in fields(find_algorithm(self._job.algorithm).settings_type)}
        return {"schedule": "deterministic"} if "schedule" in known else {}


def _rows_at(job: Job, positions: Int64s) -> tuple[pa.RecordBatch, Int64s]:
    """Stream rows with the keys of the master's rows at these positions, each once, and which is which."""
    wanted, which = np.unique(positions, return_inverse=True)
    pages = np.minimum((wanted / job.page_rows).astype(np.int64), job.layout.pages - 1)
    behind = (wanted - pages * job.page_rows).astype(np.int64)  # rows into its page
    asked = np.unique(pages)
    found: list[pa.RecordBatch] = []
    for at in range(0, len(asked), READ_AT_ONCE):
        for run in job.store.read(asked[at : at + READ_AT_ONCE], list(job.store.key)):
            begin, end = np.searchsorted(pages, [run.first, run.first + run.pages])
            local = pages[begin:end] - run.first
            last = run.offsets[local + 1] - 1  # an average page's rows may be more than this one's
            found.append(taken(run.batch, np.minimum(run.offsets[local] + behind[begin:end], last)))
    keys = pa.Table.from_batches(found).combine_chunks().to_batches()[0]
    masters = {stream: master for master, stream in key_pairs(job.arguments.get("on"), job.store.key).items()}
    columns = [
        keys.column(masters[item.name]).cast(item.type)
        if item.name in masters
        else taken_array(others, np.arange(keys.num_rows) % len(others))
        for item, others in zip(job.stream, job.example.columns, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=job.stream), which


def _drop(batches: Iterator[Any]) -> None:
    for _ in batches:
        pass
