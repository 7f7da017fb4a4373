"""What runs inside Spark's Python workers: joins that outlive the tasks they serve.

A worker process lives on between micro-batches, so its joins stay warm; which worker gets which
partition is random, so every worker may hold every join. One memory budget belongs to the process: the
joins in it share it equally, and joins of a query that is gone end when the next one's first task comes.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark import TaskContext

from semistream.columns import On
from semistream.join import SemiStreamJoin
from semistream.spark import counters
from semistream.stores.master import Master


@dataclass(frozen=True)
class JoinSpec:
    """One lookup, as it travels to the workers: small, and without data."""

    master: Master
    on: On
    how: str
    columns: tuple[str, ...] | None
    suffix: str | None
    status: str | None
    validate: str | None
    memory: int
    algorithm: str
    settings: tuple[tuple[str, Any], ...]
    identity: str  # tells this lookup apart from every other in the process

    def make(self, memory: int) -> SemiStreamJoin:
        return SemiStreamJoin(
            self.master,
            self.on,
            self.how,
            columns=self.columns,
            suffix=self.suffix,
            memory=memory,
            algorithm=self.algorithm,
            status=self.status,
            **{"at_hand": True, **dict(self.settings)},  # no row waits for a later task: why queue it?
        )


@dataclass
class WarmJoin:
    """A join, and what it was made for."""

    join: SemiStreamJoin
    memory: int


_warm: OrderedDict[tuple[str, str], WarmJoin] = OrderedDict()  # by query and lookup, idle ones only


def enrich(
    batches: Iterator[pa.RecordBatch], specs: tuple[JoinSpec, ...], output: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """One task: every batch through all lookups, then the rows that still wait, then the counters.

    No row waits for the next task. A task that fails or is given up closes its joins: what they hold
    of its rows must not meet another task's.
    """
    query = _query()
    used = [_take(spec, query, len(specs)) for spec in specs]
    before = [warm.join.stats for warm in used]
    finished = False
    try:
        for batch in batches:
            yield from _all_fitted(_through(used, batch), output)
        for i, warm in enumerate(used):
            for answers in warm.join.drain():
                yield from _all_fitted(_through(used[i + 1 :], answers), output)
        did = [
            counters.since(start, warm.join.stats, warm.join.master_version)
            for start, warm in zip(before, used, strict=True)
        ]
        finished = True
        yield counters.last_row(output, counters.added_up(did))
    finally:
        for spec, warm in zip(specs, used, strict=True):
            if finished:
                _warm[query, spec.identity] = warm
            else:
                warm.join.close()


def _query() -> str:
    """Which streaming query this task belongs to; empty in a batch job."""
    context = TaskContext.get()
    return (context.getLocalProperty("sql.streaming.queryId") or "") if context is not None else ""


def _take(spec: JoinSpec, query: str, fused: int) -> WarmJoin:
    """The warm join of this lookup, or a new one, inside the process's budget.

    The budget is one lookup's memory, or what fused lookups were given together. Joins of other queries
    go first; several lookups of one query that are not fused divide the budget.
    """
    found = _warm.pop((query, spec.identity), None)
    for key in [key for key in _warm if key[0] != query]:
        _warm.pop(key).join.close()
    siblings = len(_warm) + 1
    share = spec.memory // max(fused, siblings)
    for key, warm in list(_warm.items()):
        if warm.memory > spec.memory // max(fused, siblings):
            _warm.pop(key).join.close()
    if found is not None and found.memory <= share:
        return found
    if found is not None:
        found.join.close()
    return WarmJoin(spec.make(share), share)


def _through(used: list[WarmJoin], batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """A batch through the first of these joins, and what comes out of it through the next ones."""
    if not used:
        yield batch
        return
    for answers in used[0].join.push(batch):
        yield from _through(used[1:], answers)


def _all_fitted(batches: Iterator[pa.RecordBatch], output: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Batches with Spark's types, and an empty place for the counters."""
    for batch in batches:
        columns = [
            array if array.type == field.type else array.cast(field.type)
            for array, field in zip(batch.columns, output, strict=False)
        ]
        columns.append(pa.nulls(batch.num_rows, type=counters.ARROW))
        yield pa.RecordBatch.from_arrays(columns, schema=output)
