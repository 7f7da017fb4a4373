"""What runs inside Spark's Python workers: joins that outlive the tasks they serve.

A worker process lives on between micro-batches, so its joins stay warm; which worker gets which
partition is random, so every worker may hold every join. `warm` says which of them live, and how they
share the process's budget.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

import pyarrow as pa
from pyspark import TaskContext

from semistream.columns import On
from semistream.errors import BudgetError
from semistream.join import SemiStreamJoin
from semistream.spark import counters
from semistream.spark.warm import Owner, Trip, WarmTrips
from semistream.stores.master import Master


@dataclass(frozen=True)
class JoinSpec:
    """One lookup, as it travels to the workers."""

    master: Master
    on: On
    how: str
    columns: tuple[str, ...] | None
    suffix: str | None
    status: str | None
    validate: str | None
    algorithm: str
    settings: tuple[tuple[str, Any], ...]
    validated: str | None = None  # the version of the master for which `validate` holds

    def make(self, memory: int) -> SemiStreamJoin:
        """The join. `validate` is checked once for a version: before the start, or by the first to see it."""
        join = self._made(memory, validate=False)
        if self.validate is not None:
            try:
                version = join.master_version
                if version != self.validated and (self.master.key, version) not in _validated:
                    join.close()
                    join = self._made(memory, validate=True)
                    _validated.add((self.master.key, join.master_version))
            except BaseException:
                join.close()
                raise
        return join

    def _made(self, memory: int, *, validate: bool) -> SemiStreamJoin:
        return SemiStreamJoin(
            self.master,
            self.on,
            self.how,
            columns=self.columns,
            suffix=self.suffix,
            memory=memory,
            algorithm=self.algorithm,
            validate=cast(Any, self.validate) if validate else None,
            status=self.status,
            **{"at_hand": True, **dict(self.settings)},  # no row waits for a later task: why queue it?
        )


@dataclass(frozen=True)
class TripSpec:
    """The lookups of one `mapInArrow`. Trips of one identity do the same to the same columns."""

    joins: tuple[JoinSpec, ...]
    memory: int
    output: pa.Schema
    identity: str


_trips = WarmTrips()
_validated: set[tuple[tuple[str, ...], str]] = set()  # keys and versions of masters without duplicates


def enrich(batches: Iterator[pa.RecordBatch], spec: TripSpec) -> Iterator[pa.RecordBatch]:
    """One task: every batch through all lookups, then the rows that still wait, then the counters.

    No row waits for the next task. A task that fails or is given up closes its joins: what they hold
    of its rows must not meet another task's. A task without rows opens no master.
    """
    task: _Task | None = None
    try:
        for batch in batches:
            if batch.num_rows:
                task = task or _Task(spec)
                yield from _all_fitted(task.through(0, batch), spec.output)
        if task is not None:
            yield from _all_fitted(task.rest(), spec.output)
        did = counters.nothing() if task is None else task.end()
    except BaseException:
        if task is not None:
            task.give_up()
        raise
    yield counters.last_row(spec.output, did)


class _Task:
    """A task's hold on its trip, and what its joins had counted when it began."""

    def __init__(self, spec: TripSpec) -> None:
        self._spec = spec
        self._trip: Trip = _trips.take(
            current_owner(), spec.identity, spec.memory, [join.make for join in spec.joins]
        )
        self._joins = cast(list[SemiStreamJoin], list(self._trip.joins))
        self._before = [join.stats for join in self._joins]
        self._did: list[list[counters.Counted]] = [[] for _ in self._joins]

    def through(self, first: int, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """A batch through the joins from this one on."""
        if first == len(self._joins):
            yield batch
            return
        try:
            answers = self._joins[first].push(batch)
        except BudgetError:  # the batch was refused: with the whole budget there may be room
            yield from self._drained(first)
            if not self._grow(first):
                raise
            answers = self._joins[first].push(batch)
        for answer in answers:
            yield from self.through(first + 1, answer)

    def rest(self) -> Iterator[pa.RecordBatch]:
        """The rows that still wait."""
        for position in range(len(self._joins)):
            yield from self._drained(position)

    def end(self) -> counters.Counted:
        """The trip stays warm; what the task did."""
        for position in range(len(self._joins)):
            self._count(position)
        _trips.give_back(self._trip)
        return counters.added_up([counters.one_after_another(parts) for parts in self._did])

    def give_up(self) -> None:
        _trips.discard(self._trip)

    def _drained(self, position: int) -> Iterator[pa.RecordBatch]:
        for answers in self._joins[position].drain():
            yield from self.through(position + 1, answers)

    def _grow(self, position: int) -> bool:
        self._count(position)
        made = _trips.grow(self._trip, position, self._spec.joins[position].make)
        if made is None:
            return False
        self._joins[position] = cast(SemiStreamJoin, made)
        self._before[position] = self._joins[position].stats
        return True

    def _count(self, position: int) -> None:
        join = self._joins[position]
        self._did[position].append(counters.since(self._before[position], join.stats, join.master_version))


def current_owner() -> Owner:
    """Which query this task works for.

    A run of a streaming query is its job group. Its jobs carry that also where `foreachBatch` starts
    batch queries of its own: they belong to the stream.
    """
    context = TaskContext.get()
    if context is None:
        return Owner("", "")
    query = context.getLocalProperty("sql.streaming.queryId")
    run = "spark.jobGroup.id" if query else "spark.sql.execution.id"
    return Owner(query or "", context.getLocalProperty(run) or "")


def _all_fitted(batches: Iterator[pa.RecordBatch], output: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Batches with Spark's types, and an empty place for the counters."""
    for batch in batches:
        columns = [
            array if array.type == field.type else array.cast(field.type)
            for array, field in zip(batch.columns, output, strict=False)
        ]
        columns.append(pa.nulls(batch.num_rows, type=counters.ARROW))
        yield pa.RecordBatch.from_arrays(columns, schema=output)
