"""`lookup_join`: a DataFrame's rows meet a master's, in the Python workers, inside a byte budget."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal
from uuid import uuid4

import pyarrow as pa
from pyspark.sql import DataFrame, Observation
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructField, StructType

from semistream.budget import parse_memory
from semistream.columns import On, key_pairs
from semistream.errors import ArgumentError, ColumnError
from semistream.join import DEFAULT_ALGORITHM, SemiStreamJoin
from semistream.spark import counters
from semistream.spark.types import spark_arrow_type
from semistream.spark.worker import JoinSpec, enrich
from semistream.stores.master import Master


@dataclass(frozen=True)
class Lookup:
    """One lookup of several in `lookup_joins`; see `lookup`."""

    master: Master
    on: On
    how: str
    columns: tuple[str, ...] | None
    suffix: str | None
    status: str | None
    validate: Literal["m:1"] | None
    algorithm: str
    settings: tuple[tuple[str, Any], ...]


def lookup(
    master: Master,
    on: On = None,
    how: str = "inner",
    *,
    columns: Sequence[str] | None = None,
    suffix: str | None = None,
    status: str | None = None,
    validate: Literal["m:1"] | None = None,
    algorithm: str = DEFAULT_ALGORITHM,
    **settings: Any,
) -> Lookup:
    """What `lookup_joins` does with one master; the parameters are those of `lookup_join`."""
    chosen = tuple(columns) if columns is not None else None
    return Lookup(
        master, on, how, chosen, suffix, status, validate, algorithm, tuple(sorted(settings.items()))
    )


def lookup_join(
    df: DataFrame,
    master: Master,
    on: On = None,
    how: str = "inner",
    *,
    columns: Sequence[str] | None = None,
    suffix: str | None = None,
    memory: int | str = "64MiB",
    algorithm: str = DEFAULT_ALGORITHM,
    validate: Literal["m:1"] | None = None,
    status: str | None = None,
    observation: Observation | str | None = None,
    **settings: Any,
) -> DataFrame:
    """Join a streaming or batch DataFrame with a master that may be far larger than memory.

    The output is what `df.join(master, on, how)` gives, in no particular order, with the stream's
    columns first and the master's, without its key, behind them. `memory` bounds each Python
    worker; a micro-batch is complete when it ends. `observation` names the counters in a streaming
    query's progress (a batch query takes an `Observation`).

    Whatever can be known before the query starts is checked here: columns, key types, the master,
    the budget.
    """
    one = lookup(
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
    return lookup_joins(df, [one], memory=memory, observation=observation)


def lookup_joins(
    df: DataFrame,
    lookups: Sequence[Lookup],
    *,
    memory: int | str = "64MiB",
    observation: Observation | str | None = None,
) -> DataFrame:
    """Several masters, one after the other, in one trip through Python and inside one budget.

    A later lookup may use columns of an earlier one. Chained `lookup_join` calls give the same rows,
    but each takes its own Python worker, with its own memory.
    """
    if not lookups:
        raise ArgumentError("lookup_joins was given no lookup: give at least one semistream.lookup(...)")
    size = parse_memory(memory)
    schema = df.schema
    specs = []
    for one in lookups:
        spec, schema = _checked(df, schema, one, size, len(lookups))
        specs.append(spec)
    made = StructType(
        [*(_nullable(field) for field in schema), StructField(counters.COLUMN, counters.STRUCT)]
    )
    arrow = _arrow(df, made)
    frozen = tuple(specs)

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return enrich(batches, frozen, arrow)

    joined = df.mapInArrow(work, made)
    return counters.observed(joined, observation or f"semistream {uuid4().hex[:8]}")


def _checked(
    df: DataFrame, schema: StructType, one: Lookup, memory: int, lookups: int
) -> tuple[JoinSpec, StructType]:
    """The lookup as it travels, and the schema it gives; or an error that says what is wrong."""
    if not isinstance(one.master, Master):
        raise ArgumentError(
            f"lookup_join takes what semistream.master gives, and not {type(one.master).__name__}"
        )
    on = _as_spelled(df, schema, one)
    spec = JoinSpec(
        one.master,
        on,
        one.how,
        one.columns,
        one.suffix,
        one.status,
        one.validate,
        memory,
        one.algorithm,
        one.settings,
        uuid4().hex,
    )
    stream = _arrow(df, schema)
    share = memory // lookups
    with SemiStreamJoin(
        one.master,
        on,
        one.how,
        columns=one.columns,
        suffix=one.suffix,
        memory=share,
        algorithm=one.algorithm,
        validate=one.validate,
        status=one.status,
        **dict(one.settings),
    ) as join:
        output = join.output_schema_for(stream)
    return spec, _output(df, schema, output)


def _output(df: DataFrame, schema: StructType, output: pa.Schema) -> StructType:
    """The stream's fields as they are (a watermark lives in their metadata), then the new ones."""
    new = list(output)[len(schema) :]
    plain = pa.schema([field.with_type(spark_arrow_type(field.type, field.name)) for field in new])
    added = from_arrow_schema(plain) if new else StructType([])
    made = StructType([*schema, *added])
    if not _case_sensitive(df):
        names = [name.lower() for name in made.names]
        clash = sorted({name for name in names if names.count(name) > 1})
        if clash:
            raise ColumnError(
                f"the output would have columns {clash} twice, since spark.sql.caseSensitive is off: "
                "rename one of them, or leave it out with columns=[...]"
            )
    return made


def _as_spelled(df: DataFrame, schema: StructType, one: Lookup) -> dict[str, str]:
    """`on` as {stream column: master column}, spelled as the stream's schema spells it."""
    pairs = key_pairs(one.on, one.master.key)
    if not _case_sensitive(df):
        spelled = {name.lower(): name for name in schema.names}
        pairs = {key: spelled.get(column.lower(), column) for key, column in pairs.items()}
    return {column: key for key, column in pairs.items()}


def _case_sensitive(df: DataFrame) -> bool:
    return str(df.sparkSession.conf.get("spark.sql.caseSensitive", "false")).lower() == "true"


def _arrow(df: DataFrame, schema: StructType) -> pa.Schema:
    conf = df.sparkSession.conf
    large = str(conf.get("spark.sql.execution.arrow.useLargeVarTypes", "false")).lower() == "true"
    return to_arrow_schema(
        schema, timezone=conf.get("spark.sql.session.timeZone", "UTC"), prefers_large_types=large
    )


def _nullable(field: StructField) -> StructField:
    """The row that carries the counters has nulls in every column."""
    return StructField(field.name, field.dataType, True, field.metadata)
