"""A table of a database: upserts by key, or plain inserts, exactly once.

One task writes a batch over one connection, with its note, in one transaction. It is opened where the task
runs: a secret of the URL is in that process's environment, and nowhere else.

Where Spark can't go on in the middle of a task's input (a lost executor, a cancelled job), Python sees no
more than its end. So each row says how many there are, and fewer than that are never committed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from semistream.errors import StoreError
from semistream.spark.pipeline.analysis import SPARK_ERRORS, first_sentence
from semistream.spark.pipeline.file import INTERNAL
from semistream.spark.pipeline.places import Place
from semistream.spark.pipeline.sinks.base import BatchId
from semistream.spark.pipeline.sinks.database import Database, Target, connect

_SCHEMES = ("sqlite:///", "postgresql://", "postgres://")
_LAST = "batch long"
_ALL = f"{INTERNAL}_all"  # how many rows the batch has


@dataclass(frozen=True)
class SqlSink:
    """One table. Its URL stays as it was written until a task connects."""

    place: Place
    url: str
    table: str
    key: tuple[str, ...]
    latest: str | None

    def check(self, spark: SparkSession, schema: StructType) -> None:
        if not self.url.startswith(_SCHEMES):
            raise self.place.error(
                "url",
                "names no database that this sink knows: give sqlite:///PATH or "
                "postgresql://USER:${NAME}@HOST/DATABASE",
            )
        target = self._target(schema)

        def look(database: Database) -> int | None:
            database.check(target)
            return None

        try:
            _asked(spark, self.url, look)
        except SPARK_ERRORS as error:
            said = first_sentence(error)
            raise self.place.error("table" if "table" in said else "url", said) from None

    def resume(self, spark: SparkSession, batch: BatchId) -> bool:
        target = self._target(StructType())
        last = _asked(spark, self.url, lambda database: database.last_batch(target, batch.query))
        return last is not None and last >= batch.number

    def write(self, df: DataFrame, batch: BatchId) -> None:
        in_one_task(df).mapInArrow(writing(self._target(df.schema), batch), _LAST).collect()

    def known(self, asked: DataFrame) -> DataFrame | None:
        target = self._target(asked.schema)

        def find(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            database = connect(target.url)
            try:
                yield from database.known(target, batches)
            finally:
                database.close()

        return asked.mapInArrow(find, asked.schema)

    def _target(self, schema: StructType) -> Target:
        return Target(self.url, self.table, to_arrow_schema(schema, timezone="UTC"), self.key, self.latest)


def in_one_task(df: DataFrame) -> DataFrame:
    """All rows in one partition, each with the number of them."""
    # Not coalesce: the work before would then be that one task's as well.
    return df.repartition(1).withColumn(_ALL, F.count(F.lit(1)).over(Window.partitionBy()))


def writing(target: Target, batch: BatchId) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """What the task does. Without rows it does nothing, for they may only not have come."""

    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        filled = (rows for rows in batches if rows.num_rows)
        first = next(filled, None)
        if first is not None:
            database = connect(target.url)
            try:
                database.write(target, batch, _all_of(chain([first], filled)))
            finally:
                database.close()
        yield pa.record_batch({"batch": pa.array([batch.number], pa.int64())})

    return write


def _all_of(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows without their number, or an error in the place of the end if some are missing."""
    seen = expected = 0
    for rows in batches:
        expected = rows.column(_ALL)[0].as_py()
        seen += rows.num_rows
        yield rows.drop_columns([_ALL])
    if seen != expected:
        raise StoreError(f"{seen} of the batch's {expected} rows came before Spark gave up: none is written")


def _asked(spark: SparkSession, url: str, work: Callable[[Database], int | None]) -> int | None:
    """What a worker finds out over a connection of its own."""

    def ask(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            pass
        database = connect(url)
        try:
            found = work(database)
        finally:
            database.close()
        yield pa.record_batch({"batch": pa.array([found], pa.int64())})

    rows = spark.range(0, 1, 1, 1).mapInArrow(ask, _LAST).collect()
    found = rows[0]["batch"]
    return None if found is None else int(found)
