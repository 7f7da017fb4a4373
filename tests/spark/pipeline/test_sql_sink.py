"""A SQL sink whose task gets only a part of its input: Python sees an end like any other."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema

from semistream.spark.pipeline.sinks.base import BatchId
from semistream.spark.pipeline.sinks.database import Target, connect
from semistream.spark.pipeline.sinks.sql import in_one_task, writing

pytestmark = pytest.mark.xdist_group("spark")

ROWS = 50_000
BATCH = BatchId("4f2a9c1e-77aa-4b1c-8f57-0c5d3b1d1a11", 3)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "warehouse.db"


def write(spark: SparkSession, path: Path, rows: int, fail_at: int | None = None) -> None:
    """The sink's own task; at a row, Spark fails in the JVM that feeds it."""
    df = spark.range(rows)
    target = Target(f"sqlite:///{path}", "numbers", to_arrow_schema(df.schema), (), None)
    fed = in_one_task(df)
    if fail_at is not None:
        failing = F.when(F.col("id") == fail_at, F.raise_error(F.lit("lost"))).otherwise(F.col("id"))
        fed = fed.withColumn("id", failing.cast("long"))
    fed.mapInArrow(writing(target, BATCH), "batch long").collect()


def last_batch(path: Path) -> int | None:
    database = connect(f"sqlite:///{path}")
    try:
        target = Target(f"sqlite:///{path}", "numbers", pa.schema({"id": pa.int64()}), (), None)
        return database.last_batch(target, BATCH.query)
    finally:
        database.close()


def test_an_input_that_breaks_off_is_not_committed(spark: SparkSession, path: Path) -> None:
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "500")
    try:
        with pytest.raises(PySparkException, match="lost"):
            write(spark, path, ROWS, fail_at=ROWS - 1)
        assert last_batch(path) is None
        write(spark, path, ROWS)
    finally:
        spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")
    assert last_batch(path) == BATCH.number
    with sqlite3.connect(path) as connection:
        found = connection.execute("SELECT count(*), count(DISTINCT id) FROM numbers").fetchone()
    assert found == (ROWS, ROWS)


def test_no_rows_are_no_batch(spark: SparkSession, path: Path) -> None:
    """Whether they broke off can't be told, and writing none again does no harm."""
    write(spark, path, 0)
    assert last_batch(path) is None
