"""Everything about a lookup that can be known before its query starts.

What is wrong is said here, by name, and not by some executor in the middle of a batch.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any, Literal

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StringType, StructField, StructType

from semistream.columns import On, key_pairs
from semistream.errors import ArgumentError, ColumnError, KeyTypeError, StoreError
from semistream.join import SemiStreamJoin
from semistream.spark import counters
from semistream.spark.cluster import Cluster, check_python_memory, cluster_of
from semistream.spark.facts import DescribedStore
from semistream.spark.probe import probed
from semistream.spark.seeing import Wanted
from semistream.spark.types import spark_arrow_type
from semistream.spark.worker import JoinSpec, TripSpec
from semistream.stores.base import Store
from semistream.stores.master import Master

BINARY = "UTF8_BINARY"


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


def checked_trip(
    df: DataFrame, lookups: Sequence[Lookup], memory: int, *, probe: bool
) -> tuple[TripSpec, StructType]:
    """The lookups as they travel, and what `mapInArrow` puts out; or an error that says what is wrong."""
    if not lookups:
        raise ArgumentError("lookup_joins was given no lookup: give at least one semistream.lookup(...)")
    cluster = cluster_of(df.sparkSession)
    check_python_memory(cluster)
    if probe and cluster.one_machine:
        probed(df.sparkSession, cluster)
    schema = df.schema
    specs = []
    for one in lookups:
        spec, schema = _checked(df, cluster, schema, one, memory // len(lookups), probe)
        specs.append(spec)
    if counters.COLUMN in schema.names:
        raise ColumnError(f"the output has a column {counters.COLUMN!r}, a name semistream uses: rename it")
    # The row that carries the counters has nulls in every column.
    fields = [StructField(field.name, field.dataType, True, field.metadata) for field in schema]
    made = StructType([*fields, StructField(counters.COLUMN, counters.STRUCT)])
    output = arrow_schema(df, made)
    identity = _fingerprint((specs, memory, arrow_schema(df, df.schema), output))
    return TripSpec(tuple(specs), memory, output, identity), made


@contextmanager
def opened(df: DataFrame, cluster: Cluster, one: Lookup, *, probe: bool) -> Iterator[Store]:
    """The master's store: open here, or known from what the workers tell."""
    if probe and not cluster.one_machine:
        wanted = Wanted(one.master, one.validate is not None)
        (facts,) = probed(df.sparkSession, cluster, (wanted,))[0].facts
        yield DescribedStore(facts)
        return
    try:
        store = one.master.open()
    except StoreError as error:
        if cluster.one_machine:
            raise
        raise StoreError(f"{error} (looked at from this client; with probe=True the workers look)") from error
    try:
        yield store
    finally:
        store.close()


def checked_lookup(one: object, cluster: Cluster) -> Lookup:
    """A lookup whose master can travel to the workers."""
    if not isinstance(one, Lookup) or not isinstance(one.master, Master):
        given = one.master if isinstance(one, Lookup) else one
        raise ArgumentError(f"lookup_join takes what semistream.master gives, and not {type(given).__name__}")
    if one.master.lends_store:
        raise ArgumentError(
            f"{one.master!r} is a store that this process has open, and Spark's workers are other processes: "
            "give semistream.master the store's path, or a pyarrow.Table"
        )
    source = one.master.source
    if isinstance(source, str) and not cluster.connect:  # as Spark takes it: executors work elsewhere
        return replace(one, master=replace(one.master, source=os.path.abspath(source)))
    return one


def pairs_as_spelled(df: DataFrame, schema: StructType, one: Lookup) -> dict[str, str]:
    """`on` as {stream column: master column}, spelled as the stream's schema spells it."""
    pairs = key_pairs(one.on, one.master.key)
    if not _case_sensitive(df):
        spelled = {name.lower(): name for name in schema.names}
        pairs = {key: spelled.get(column.lower(), column) for key, column in pairs.items()}
    return {column: key for key, column in pairs.items()}


def make_join(store: Store, one: Lookup, on: On, memory: int) -> SemiStreamJoin:
    """The join on a store, to be asked and not to be run."""
    return SemiStreamJoin(
        store,
        on,
        one.how,
        columns=one.columns,
        suffix=one.suffix,
        memory=memory,
        algorithm=one.algorithm,
        validate=one.validate,
        status=one.status,
        **dict(one.settings),
    )


def arrow_schema(df: DataFrame, schema: StructType) -> pa.Schema:
    """A schema as Spark hands it to Python."""
    conf = df.sparkSession.conf
    large = str(conf.get("spark.sql.execution.arrow.useLargeVarTypes", "false")).lower() == "true"
    return to_arrow_schema(
        schema, timezone=conf.get("spark.sql.session.timeZone", "UTC"), prefers_large_types=large
    )


def output_of(df: DataFrame, schema: StructType, output: pa.Schema) -> StructType:
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


def check_collations(schema: StructType, on: dict[str, str]) -> None:
    """Keys are compared byte by byte."""
    for field in schema:
        kind = field.dataType
        if field.name in on and isinstance(kind, StringType) and kind.collation != BINARY:
            raise KeyTypeError(
                f"stream key column {field.name!r} has type {kind.simpleString()}, and master key column "
                f"{on[field.name]!r} is compared byte by byte: give the stream's the collation {BINARY}, "
                f"as in col({field.name!r}).cast('string')"
            )


def _checked(
    df: DataFrame, cluster: Cluster, schema: StructType, one: object, share: int, probe: bool
) -> tuple[JoinSpec, StructType]:
    """One lookup as it travels, and the schema it gives."""
    known = checked_lookup(one, cluster)
    on = pairs_as_spelled(df, schema, known)
    check_collations(schema, on)
    stream = arrow_schema(df, schema)
    with opened(df, cluster, known, probe=probe) as store, make_join(store, known, on, share) as join:
        output = join.output_schema_for(stream)
        join.plan_for(stream)
        validated = store.version().token if known.validate is not None else None
    spec = JoinSpec(
        known.master,
        on,
        known.how,
        known.columns,
        known.suffix,
        known.status,
        known.validate,
        known.algorithm,
        known.settings,
        validated,
    )
    return spec, output_of(df, schema, output)


def _case_sensitive(df: DataFrame) -> bool:
    return str(df.sparkSession.conf.get("spark.sql.caseSensitive", "false")).lower() == "true"


def _fingerprint(parts: object) -> str:
    """The same for lookups that do the same, also when they are made anew for each batch."""
    return blake2b(pickle.dumps(parts), digest_size=16).hexdigest()
