"""`explain`: what a lookup would do, before it does anything."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal, TypeAlias

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructType

from semistream.algorithms import algorithm as find_algorithm
from semistream.budget import format_bytes, parse_memory
from semistream.columns import On, key_pairs, resolve
from semistream.costs.drained import drained_batch
from semistream.errors import ArgumentError
from semistream.join import DEFAULT_ALGORITHM
from semistream.phases.plan import Plan, row_bytes_of
from semistream.spark import checking
from semistream.spark.asking import LEAST_ADDRESS_SPACE
from semistream.spark.checking import Lookup
from semistream.spark.cluster import Cluster, check_python_memory, cluster_of
from semistream.spark.explanation import Explanation, KeyPair, LookupPlan
from semistream.spark.facts import DescribedStore, MasterFacts, facts_of
from semistream.spark.lookup_join import lookup
from semistream.spark.probe import probed
from semistream.spark.types import spark_arrow_type
from semistream.stores.base import PageLayout, Store
from semistream.stores.master import Master

Stream: TypeAlias = DataFrame | StructType | pa.Schema

BASE_BYTES = 256 << 20  # resident in a worker that has joined once, on Linux with PySpark 4.3
# Spark's batches on both sides, what the allocator keeps, and what the first compiling of kernels leaves.
IN_FLIGHT_BYTES = 96 << 20
IDLE_SECONDS = 60  # after which Spark ends an idle Python worker


@dataclass(frozen=True)
class _Batch:
    """The batch that loads are predicted for."""

    rows: int
    tasks: int
    exponent: float


def explain(
    stream: Stream,
    master: Master | Sequence[Lookup],
    on: On = None,
    how: str = "inner",
    *,
    columns: Sequence[str] | None = None,
    suffix: str | None = None,
    memory: int | str = "64MiB",
    algorithm: str = DEFAULT_ALGORITHM,
    validate: Literal["m:1"] | None = None,
    status: str | None = None,
    batch_rows: int = 100_000,
    exponent: float = 1.0,
    trigger_seconds: float | None = None,
    python_operators: int = 1,
    probe: bool = True,
    **settings: Any,
) -> Explanation:
    """What `lookup_join` with these arguments would do; with a list of lookups, what `lookup_joins` would.

    Fails as they would, and starts nothing, save the probe's little job where a DataFrame brings a session.

    Parameters
    ----------
    stream: a DataFrame, streaming or batch, or just its schema, Spark's or Arrow's.
    batch_rows, exponent: the batch that loads are predicted for; its keys follow Zipf's law.
    trigger_seconds: the query's trigger, where it is known.
    python_operators: Python operators in one task: this one, further lookup_joins, UDFs, a Python source.

    The others are those of `lookup_join`.
    """
    if isinstance(master, Master):
        lookups: Sequence[Lookup] = [
            lookup(
                master,
                on,
                how,
                columns=columns,
                suffix=suffix,
                status=status,
                validate=validate,
                algorithm=algorithm,
                **settings,
            )
        ]
    else:
        lookups = master
    if not lookups:
        raise ArgumentError("explain was given no lookup: give a master, or semistream.lookup(...)s")
    if batch_rows < 1 or exponent < 0 or python_operators < 1:
        raise ArgumentError(
            f"batch_rows={batch_rows}, exponent={exponent} and python_operators={python_operators} describe "
            "no batch: give at least one row, an exponent of 0 or more, and at least one operator"
        )
    scene = _Scene(stream, probe)
    size = parse_memory(memory)
    tasks = min(scene.cluster.all_slots or 1, batch_rows) if scene.cluster is not None else 1
    plans, schema = [], scene.schema
    for one in lookups:
        plan, schema = scene.planned(one, schema, size // len(lookups), _Batch(batch_rows, tasks, exponent))
        plans.append(plan)
    cluster, base = scene.cluster, scene.base_bytes()
    return Explanation(
        lookups=tuple(plans),
        output_schema=schema,
        memory=size,
        base_bytes=(base or BASE_BYTES) + IN_FLIGHT_BYTES,
        base_measured=base is not None,
        executors=cluster.executors if cluster is not None else None,
        slots=cluster.slots if cluster is not None else None,
        python_operators=python_operators,
        batch_rows=batch_rows,
        tasks=tasks,
        exponent=exponent,
        warnings=tuple(_warnings(trigger_seconds, cluster, size)),
    )


class _Scene:
    """The stream, and the session it comes from if there is one."""

    def __init__(self, stream: Stream, probe: bool) -> None:
        self._probe = probe
        self._df = stream if isinstance(stream, DataFrame) else None
        self._spark_types = not isinstance(stream, pa.Schema)
        self.cluster: Cluster | None = None
        if isinstance(stream, DataFrame):
            self.cluster = cluster_of(stream.sparkSession)
            check_python_memory(self.cluster)
            self.schema = checking.arrow_schema(stream, stream.schema)
        elif isinstance(stream, StructType):
            self.schema = to_arrow_schema(stream, timezone="UTC")
        elif isinstance(stream, pa.Schema):
            self.schema = stream
        else:
            raise ArgumentError(
                "explain takes a DataFrame or its schema (a StructType or a pyarrow.Schema), and not "
                f"{type(stream).__name__}"
            )

    def planned(
        self, one: Lookup, schema: pa.Schema, memory: int, batch: _Batch
    ) -> tuple[LookupPlan, pa.Schema]:
        """One lookup, and the schema behind it."""
        with self._opened(one, schema) as (store, known, on):
            facts = store.facts if isinstance(store, DescribedStore) else facts_of(store)
            with checking.make_join(store, known, on, memory) as join:
                output = join.output_schema_for(schema)
                plan = join.plan_for(schema)
            payload = resolve(
                schema, facts.schema, facts.key, on=on, how=one.how, columns=one.columns, suffix=one.suffix
            ).payload
        if self._spark_types:
            new = [f.with_type(spark_arrow_type(f.type, f.name)) for f in list(output)[len(schema) :]]
            output = pa.schema([*schema, *new])
        return _lookup_plan(known, on, facts, schema, memory, plan, payload, batch), output

    def base_bytes(self) -> int | None:
        """The resident memory of a worker that has joined a little, if one was asked."""
        if self._df is None or self.cluster is None or not self._probe:
            return None
        return (
            max(report.resident_bytes or 0 for report in probed(self._df.sparkSession, self.cluster)) or None
        )

    @contextmanager
    def _opened(self, one: Lookup, schema: pa.Schema) -> Iterator[tuple[Store, Lookup, On]]:
        if self._df is None or self.cluster is None:
            store = one.master.open()
            try:
                yield store, one, one.on
            finally:
                if not one.master.lends_store:
                    store.close()
            return
        known = checking.checked_lookup(one, self.cluster)
        spark_schema = from_arrow_schema(schema)
        on = checking.pairs_as_spelled(self._df, spark_schema, known)
        checking.check_collations(self._df.schema, on)
        with checking.opened(self._df, self.cluster, known, probe=self._probe) as store:
            yield store, known, on


def _lookup_plan(
    one: Lookup,
    on: On,
    facts: MasterFacts,
    schema: pa.Schema,
    memory: int,
    plan: Plan,
    payload: Sequence[str],
    batch: _Batch,
) -> LookupPlan:
    layout = facts.layout or PageLayout(0, 0, 0)
    rows = facts.rows if facts.rows is not None else layout.pages * layout.max_rows
    row_bytes = row_bytes_of(facts.schema, layout, [*facts.key, *payload])
    cached = min(rows, plan.front_entries or plan.front_bytes // row_bytes)
    each = max(1, batch.rows // batch.tasks)
    warm, cold = (
        drained_batch(each, rows, batch.exponent, front, layout.pages, plan.pending_rows)
        for front in (cached, 0)
    )
    mapped = facts.kind == "clustered" and dict(one.master.options).get("io", "cached") == "cached"
    return LookupPlan(
        master=repr(one.master),
        how=one.how,
        keys=tuple(
            KeyPair(stream, str(schema.field(stream).type), name, str(facts.schema.field(name).type))
            for name, stream in key_pairs(on, facts.key).items()
        ),
        store=facts.kind,
        rows=facts.rows,
        unique=facts.unique,
        pages=layout.pages,
        page_bytes=layout.max_bytes,
        version=facts.version,
        algorithm=one.algorithm,
        reason=_reason(one.algorithm),
        memory=memory,
        memory_parts=_parts(memory, plan),
        waiting_rows=plan.pending_rows,
        cached_rows=cached,
        hit_ratio=warm.hit_ratio,
        loads=warm.loads * batch.tasks,
        loads_cold=cold.loads * batch.tasks,
        bytes_per_load=facts.bytes_per_load,
        mapped_bytes=facts.bytes_per_load * layout.pages if mapped else 0,
    )


def _parts(memory: int, plan: Plan) -> dict[str, int]:
    """Who gets what. Pending rows take what is left, with the room that arriving rows pass through."""
    parts = {
        "cache": plan.front_bytes,
        "pages": plan.pages_bytes,
        "directory": plan.directory_bytes,
        "output": 4 * plan.output_bytes,  # two phases put out, each a batch beside what it notes
        "between threads": plan.intermediate_bytes,
    }
    return {"waiting rows": memory - sum(parts.values()), **parts}


def _reason(name: str) -> str:
    """Why this algorithm, in a sentence: who chose it, and what it does."""
    module = import_module(find_algorithm(name).__module__)
    first = (module.__doc__ or "").strip().split("\n\n")[0].replace("\n", " ").rstrip(".")
    return f"{'the default' if name == DEFAULT_ALGORITHM else 'as asked for'}. {first}"


def _warnings(trigger: float | None, cluster: Cluster | None, memory: int) -> Iterator[str]:
    cold = (
        "a worker's first batch also loads libraries and compiled code (about a second; half a minute "
        "where nothing on its machine has compiled it yet) and finds empty caches"
    )
    if trigger is not None and trigger > IDLE_SECONDS:
        yield (
            f"Spark ends Python workers that idle for {IDLE_SECONDS} s, so with a trigger of {trigger:g} s "
            f"every batch starts cold: {cold}"
        )
    else:
        yield f"{cold}; Spark ends workers that idle for {IDLE_SECONDS} s"
    if cluster is None:
        return
    limit = cluster.python_memory_of_worker
    if limit is not None and limit < LEAST_ADDRESS_SPACE + memory:
        yield (
            f"spark.executor.pyspark.memory leaves each worker {format_bytes(limit)} of address space for "
            f"libraries of up to {format_bytes(LEAST_ADDRESS_SPACE)} and {format_bytes(memory)} of memory: "
            "raise it"
        )
    if cluster.all_slots is None:
        yield "spark.executor.instances and .cores aren't set, so nobody knows how many tasks run at a time"
