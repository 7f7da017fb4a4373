"""Every type of key that Spark can carry, with every `how`: what Spark's own join gives, row by row."""

from __future__ import annotations

from functools import reduce
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

from semistream.columns import HOWS
from tests.spark.key_cases import CASES, EVENTS, expected, joined, stream_table
from tests.spark.masters import plain

pytestmark = pytest.mark.xdist_group("spark")


@pytest.fixture(scope="module")
def stream(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The stream's rows, in three files."""
    folder = tmp_path_factory.mktemp("stream")
    table = stream_table()
    for part in range(3):
        pq.write_table(table.slice(part * EVENTS // 3, EVENTS // 3), folder / f"{part}.parquet")
    return folder


def all_cases(df: DataFrame, how: str) -> DataFrame:
    """All cases in one job, a task each."""
    return reduce(DataFrame.union, [joined(df.coalesce(1), case, how) for case in CASES])


@pytest.fixture(scope="module")
def oracle(spark: SparkSession, stream: Path) -> dict[str, list[tuple[object, ...]]]:
    df = spark.read.parquet(str(stream)).coalesce(1)
    return {
        how: plain(reduce(DataFrame.union, [expected(spark, df, case, how) for case in CASES]).collect())
        for how in HOWS
    }


@pytest.mark.parametrize("how", HOWS)
def test_in_a_batch_query(
    spark: SparkSession, stream: Path, oracle: dict[str, list[tuple[object, ...]]], how: str
) -> None:
    found = plain(all_cases(spark.read.parquet(str(stream)), how).collect())
    assert found == oracle[how]
    assert {row[0] for row in found} == set(CASES)  # none of the cases is empty


@pytest.mark.parametrize("how", HOWS)
def test_in_a_streaming_query(
    spark: SparkSession,
    stream: Path,
    oracle: dict[str, list[tuple[object, ...]]],
    tmp_path: Path,
    how: str,
) -> None:
    df = spark.readStream.schema(spark.read.parquet(str(stream)).schema).parquet(str(stream))
    query = (
        all_cases(df, how)
        .writeStream.format("parquet")
        .option("path", str(tmp_path / "out"))
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    assert plain(spark.read.parquet(str(tmp_path / "out")).collect()) == oracle[how]
