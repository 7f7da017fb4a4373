"""`build_index`: clusters a master of any size through Spark, onto a folder that all of Spark shares.

1. Spark cuts the master into key ranges, and sorts within each (by access count first, for a heap);
2. each task writes its range as a part of the new version, in bounded memory, and says what it wrote;
3. the driver checks that parts and keys are in order, and publishes them as one version.

A heap takes a second round: where its keys came to lie is sorted by key, and becomes its index.
Whoever has the old version open keeps reading it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema, to_arrow_type
from pyspark.sql.types import StringType

from semistream import errors
from semistream.errors import ArgumentError, KeyTypeError, SchemaError, SemiStreamError
from semistream.spark.watching import Progress, watched
from semistream.stores.assembly import PartedBuild
from semistream.stores.clustered_build import PAGE_BYTES
from semistream.stores.manifest import VERSIONS, FileEntry
from semistream.stores.parts import HEAP, Part, PartPlan, PartWriter, read_places
from semistream.stores.sorting import checked_columns, checked_key, codec_of

ORDERS = ("key", "frequency")
_BY_BYTES = ("string", "string collate UTF8_BINARY")
_COUNT = "__semistream_count"
_FILE = pa.struct({"name": pa.string(), "bytes": pa.int64(), "pages": pa.int64(), "rows": pa.int64()})
_PART = pa.schema(
    {
        "number": pa.int64(),
        "name": pa.string(),
        "host": pa.string(),
        "rows": pa.int64(),
        "pages": pa.int64(),
        "null_key_rows": pa.int64(),
        "unique": pa.bool_(),
        "ends": pa.binary(),
        "files": pa.list_(_FILE),
        "entries_digest": pa.string(),
        "places_digest": pa.string(),
    }
)

Batches = Iterator[pa.RecordBatch]


@dataclass(frozen=True, slots=True)
class IndexReport:
    """What was built. `null_key_rows` were left out: a null key matches nothing."""

    rows: int
    null_key_rows: int
    pages: int
    bytes: int
    unique: bool
    version: str


def build_index(
    df: DataFrame,
    path: str | os.PathLike[str],
    key: str | Sequence[str],
    *,
    order: str = "key",
    sample: DataFrame | None = None,
    sample_key: str | Sequence[str] | None = None,
    page_rows: int | None = None,
    page_bytes: int = PAGE_BYTES,
    partitions: int | None = None,
    progress: Progress | None = None,
) -> IndexReport:
    """Write `df` as the current version of the copy at `path`, sorted by `key`.

    `order="frequency"` writes a heap instead, the rows asked for most first: `sample` is a part of the
    stream, and `sample_key` names its columns where they aren't called like the master's. `path` must
    be seen by the driver and by every executor. `partitions` are the ranges written side by side; left
    out, Spark decides. Spark reads `df` twice, to find the ranges and to write them.
    """
    names = checked_key(key)
    schema = _arrow_schema(df, names)
    target = _checked_path(path)
    if partitions is not None and partitions < 1:
        raise ArgumentError(f"partitions={partitions}; give at least one, or leave it out")
    if order not in ORDERS:
        raise ArgumentError(f"order={order!r} isn't known; choose one of {', '.join(ORDERS)}")
    if (order == "frequency") != (sample is not None):
        raise ArgumentError(
            "order='frequency' and a sample of the stream go together: the sample says which keys are asked "
            "for most"
        )
    ranked = None if sample is None else _with_counts(df, names, schema, sample, sample_key)
    kind = "clustered" if ranked is None else HEAP
    tell = progress or (lambda text: None)
    with PartedBuild(target, schema, names, kind, page_rows=page_rows, page_bytes=page_bytes) as build:
        ascending = [_column(name).asc() for name in names]
        with watched(build.plan.scratch, tell):
            if ranked is None:
                tell(f"Sorting by {', '.join(names)} ...")
                parts = _sorted_into_parts(df, ascending, partitions, build.plan)
                index: list[Part] = []
            else:
                tell("Counting the sample's keys, and sorting by how often each is asked for ...")
                most_first = [_column(_COUNT).desc(), *ascending]
                parts = _sorted_into_parts(ranked, most_first, partitions, build.plan)
                tell("Indexing the keys ...")
                index = _index_parts(df, parts, partitions, build.plan, build.index_plan)
        tell("Putting the parts together ...")
        built = build.publish(parts, index)
    found = built.manifest
    return IndexReport(found.rows, found.null_key_rows, found.pages, built.bytes, found.unique, found.content)


def _sorted_into_parts(
    df: DataFrame, columns: list[Column], partitions: int | None, plan: PartPlan
) -> list[Part]:
    """Let Spark sort, and each task write its range."""
    if partitions is None:
        ranged = df.repartitionByRange(*columns)
    else:
        ranged = df.repartitionByRange(partitions, *columns)
    written = ranged.sortWithinPartitions(*columns).mapInArrow(_writing(plan), from_arrow_schema(_PART))
    try:
        rows = written.collect()
    except PySparkException as error:
        ours = raised_by_worker(error)
        if ours is None:
            raise
        raise ours from error
    return [_part(row.asDict(recursive=True)) for row in rows]


def _part(row: dict[str, Any]) -> Part:
    files = tuple(FileEntry(**file) for file in row["files"])
    return Part(**{**row, "ends": bytes(row["ends"]), "files": files})


def _index_parts(
    df: DataFrame, parts: list[Part], partitions: int | None, heap: PartPlan, index: PartPlan
) -> list[Part]:
    """Sort by key what the heap's parts know of their keys' places."""
    ordered = sorted(parts, key=lambda part: part.number)
    before = dict(zip((part.number for part in ordered), _running_sums(ordered), strict=True))
    known = {part.number: part for part in ordered}

    def read(batches: Batches) -> Batches:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from read_places(heap, known[number], before[number])

    spark = df.sparkSession
    numbers = spark.createDataFrame([(part.number,) for part in ordered], "number long")
    spread = numbers.repartition(max(1, min(len(ordered), partitions or len(ordered))))
    # The key's types as Spark names them, under the names that an index gives its columns.
    types = [(df.schema[name].dataType.simpleString()) for name in heap.key]
    fields = [f"{name} {kind}" for name, kind in zip(index.key, types, strict=True)]
    places = spread.mapInArrow(read, ", ".join([*fields, "first long", "last long", "rows long"]))
    return _sorted_into_parts(places, [_column(name).asc() for name in index.key], partitions, index)


def _running_sums(parts: Sequence[Part]) -> list[int]:
    """The pages before each part."""
    sums = [0]
    for part in parts:
        sums.append(sums[-1] + part.pages)
    return sums[:-1]


def _writing(plan: PartPlan) -> Callable[[Batches], Batches]:
    """What a task does: its rows become a part, and the part's description its only output."""

    def write(batches: Batches) -> Batches:
        context = TaskContext.get()
        writer: PartWriter | None = None
        try:
            for batch in batches:
                if batch.num_rows == 0:
                    continue
                if writer is None:
                    writer = PartWriter(plan, 0 if context is None else context.partitionId())
                writer.write(_fitted(batch, plan.schema))
            if writer is None:
                return
            part = writer.finish()
        except BaseException:
            if writer is not None:
                writer.abandon()
            raise
        yield pa.RecordBatch.from_pylist([asdict(part)], _PART)

    return write


def _fitted(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """A batch from Spark under the schema of the copy, without what it was sorted by."""
    columns = [
        array if array.type == field.type else array.cast(field.type)
        for array, field in zip(batch.columns, schema, strict=False)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _with_counts(
    df: DataFrame,
    key: tuple[str, ...],
    schema: pa.Schema,
    sample: DataFrame,
    sample_key: str | Sequence[str] | None,
) -> DataFrame:
    """The master with a column that says how often the sample asks for each row."""
    asked = checked_key(sample_key if sample_key is not None else key)
    fields = _arrow_schema(sample, asked, "the sample")
    codec_of(schema, key).accepts([fields.field(name) for name in asked])
    names = [f"__semistream_key_{part}" for part in range(len(key))]
    renamed = sample.select(*(_column(own).alias(name) for own, name in zip(asked, names, strict=True)))
    counts = renamed.groupBy(*names).agg(F.count(F.lit(1)).alias(_COUNT))
    same = [_column(own) == _column(name) for own, name in zip(key, names, strict=True)]
    joined = df.join(counts, same, "left")
    own = [_column(name) for name in schema.names]
    return joined.select(*own, F.coalesce(_column(_COUNT), F.lit(0)).alias(_COUNT))


def _arrow_schema(df: DataFrame, key: tuple[str, ...], what: str = "the master") -> pa.Schema:
    """A batch DataFrame's schema in Arrow, or an error that names the column that can't be written."""
    if df.isStreaming:
        raise ArgumentError(f"{what} is a streaming DataFrame: give one that ends, made by spark.read")
    conf = df.sparkSession.conf
    large = str(conf.get("spark.sql.execution.arrow.useLargeVarTypes", "false")).lower() == "true"
    for field in df.schema:
        try:
            to_arrow_type(field.dataType, timezone="UTC")
        except (PySparkException, TypeError) as error:
            raise SchemaError(
                f"{what} has column {field.name!r} of type {field.dataType.simpleString()}, which has no "
                "counterpart in Arrow: cast it, or leave it out"
            ) from error
    schema = to_arrow_schema(
        df.schema, timezone=conf.get("spark.sql.session.timeZone", "UTC"), prefers_large_types=large
    )
    checked_columns(schema, key, None)
    for name in key:
        kind = df.schema[name].dataType
        if isinstance(kind, StringType) and kind.simpleString() not in (
            "string",
            "string collate UTF8_BINARY",
        ):
            raise KeyTypeError(
                f"key column {name!r} of {what} is a {kind.simpleString()}, under which texts with "
                "other bytes can be equal; keys are compared by their bytes: cast it to string, in lower "
                "case or whatever the collation means, on both sides"
            )
    codec_of(schema, key)
    return schema


def _checked_path(path: str | os.PathLike[str]) -> Path:
    """A folder that is a copy already, or empty, or not there."""
    text = os.fspath(path)
    if re.match(r"[a-z][a-z0-9+.-]*:/", text):
        raise ArgumentError(
            f"{text}: a copy lies on a file system that the driver and every executor share; "
            "give a plain path"
        )
    target = Path(text).absolute()
    if target.is_file():
        raise ArgumentError(f"{target} is a file; give the folder where the copy is to be")
    if target.is_dir() and not (target / VERSIONS).is_dir() and any(target.iterdir()):
        raise ArgumentError(
            f"{target} holds something that isn't a copy of a master; give an empty folder, or a new one"
        )
    return target


def _column(name: str) -> Column:
    """A column by its whole name, dots and all."""
    return F.col("`" + name.replace("`", "``") + "`")


def raised_by_worker(error: Exception) -> SemiStreamError | None:
    """Our own error, out of the traceback that Spark brings back from a worker; None: it isn't ours."""
    for name, message in re.findall(r"^semistream\.errors\.(\w+): (.*)$", str(error), re.MULTILINE):
        kind: Any = getattr(errors, name, None)
        if isinstance(kind, type) and issubclass(kind, SemiStreamError):
            return kind(message)
    return None
