"""The data source `semistream-zipf` in a real session: its rows are those of the pure function."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from semistream.spark.source import register
from semistream.spark.source.options import SourceOptions
from semistream.workloads.streams import SCHEMA

pytestmark = pytest.mark.xdist_group("spark")

OPTIONS = {"keys": "5000", "nulls": "0.05", "unmatched": "0.1", "drift_every": "700", "seed": "3"}
BURSTY = {**OPTIONS, "arrivals": "bursty"}
RATES = pytest.mark.parametrize("options", [OPTIONS, BURSTY], ids=["constant", "bursty"])


def expected(options: dict[str, str], rows: int) -> pa.Table:
    stream = SourceOptions.parsed(options).stream()
    return pa.Table.from_batches(stream.batches(stream.begin(), rows), SCHEMA)


def stream_of(spark: SparkSession, options: dict[str, str]) -> DataFrame:
    register(spark)
    return spark.readStream.format("semistream-zipf").options(**options).load()


def start(frame: DataFrame, folder: Path, *, available_now: bool = True) -> StreamingQuery:
    writer = (
        frame.writeStream.format("parquet")
        .option("path", str(folder / "out"))
        .option("checkpointLocation", str(folder / "checkpoint"))
    )
    return (writer.trigger(availableNow=True) if available_now else writer).start()


def landed(folder: Path, spark: SparkSession) -> pa.Table:
    """Through Spark, which alone knows which files were committed."""
    return spark.read.parquet(str(folder / "out")).orderBy("sequence").toArrow()


def same(found: pa.Table, options: dict[str, str], rows: int) -> bool:
    table = expected(options, rows)
    return bool(
        found.num_rows == rows
        and all(found[name].combine_chunks().equals(table[name].combine_chunks()) for name in SCHEMA.names)
    )


@RATES
def test_a_batch_query_has_the_rows_of_the_pure_function(
    spark: SparkSession, options: dict[str, str]
) -> None:
    register(spark)
    limits = {"rows": "150000", "partitions": "3"}
    frame = spark.read.format("semistream-zipf").options(**options, **limits).load()
    assert frame.dtypes == [("key", "bigint"), ("sequence", "bigint"), ("event_time", "timestamp")]
    assert frame.rdd.getNumPartitions() == 3
    assert same(frame.orderBy("sequence").toArrow(), options, 150_000)


def test_available_now_ends_and_no_batch_is_above_its_cap(spark: SparkSession, tmp_path: Path) -> None:
    limits = {"rows": "10000", "rows_per_batch": "3000", "rows_per_second": "100"}
    query = start(stream_of(spark, {**BURSTY, **limits}), tmp_path)
    assert query.awaitTermination(60)
    sizes = [progress["numInputRows"] for progress in query.recentProgress if progress["numInputRows"]]
    assert sizes == [3000, 3000, 3000, 1000]
    assert same(landed(tmp_path, spark), {**BURSTY, "rows_per_second": "100"}, 10_000)


@RATES
def test_a_stopped_query_goes_on_where_it_was(
    spark: SparkSession, tmp_path: Path, options: dict[str, str]
) -> None:
    """Stopped in the middle of whatever it does, twice, then let to its end."""
    limits = {"rows": "30000", "rows_per_batch": "2500"}
    for _ in range(2):
        query = start(stream_of(spark, {**options, **limits}), tmp_path, available_now=False)
        wait_for(lambda query=query: len(query.recentProgress) > 1)
        query.stop()
    assert start(stream_of(spark, {**options, **limits}), tmp_path).awaitTermination(120)
    assert same(landed(tmp_path, spark), options, 30_000)


def test_a_batch_that_failed_is_made_again(spark: SparkSession, tmp_path: Path) -> None:
    """The sink fails once its rows are there; the same batch comes again with the same rows."""
    seen: list[tuple[int, list[int]]] = []

    def keep(batch: DataFrame, number: int) -> None:
        seen.append((number, [row["sequence"] for row in batch.orderBy("sequence").collect()]))
        if len(seen) == 2:
            raise ValueError("the sink refuses")

    frame = stream_of(spark, {**BURSTY, "rows": "3000", "rows_per_batch": "1000"})
    for _ in range(2):
        writer = frame.writeStream.foreachBatch(keep).option(
            "checkpointLocation", str(tmp_path / "checkpoint")
        )
        query = writer.trigger(availableNow=True).start()
        try:
            query.awaitTermination(60)
        except PySparkException:
            assert len(seen) == 2
    assert [number for number, _ in seen] == [0, 1, 1, 2]
    assert seen[1] == seen[2]
    assert [row for number, rows in [*seen[:2], seen[3]] for row in rows] == list(range(3000))


def test_rows_come_at_their_rate_by_the_wall_clock(spark: SparkSession, tmp_path: Path) -> None:
    options = {**OPTIONS, "rows_per_second": "2000"}
    began = time.monotonic()
    query = start(stream_of(spark, options), tmp_path, available_now=False)
    wait_for(lambda: sum(progress["numInputRows"] for progress in query.recentProgress) > 3000)
    query.stop()
    rows = landed(tmp_path, spark).num_rows
    assert 3000 < rows <= 2000 * (time.monotonic() - began)
    assert same(landed(tmp_path, spark), options, rows)


def test_available_now_without_an_end_takes_what_is_due(spark: SparkSession, tmp_path: Path) -> None:
    """Like a job that cron starts: the second run takes what came since the first."""
    options = {**OPTIONS, "rows_per_second": "5000"}
    assert start(stream_of(spark, options), tmp_path).awaitTermination(60)
    time.sleep(1)
    assert start(stream_of(spark, options), tmp_path).awaitTermination(60)
    rows = landed(tmp_path, spark).num_rows
    assert rows > 0
    assert same(landed(tmp_path, spark), options, rows)


def wait_for(what: object, seconds: float = 60) -> None:
    assert callable(what)
    deadline = time.monotonic() + seconds
    pause = threading.Event()
    while not what():
        assert time.monotonic() < deadline
        pause.wait(0.05)


def test_a_mistake_is_told_before_anything_runs(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(PySparkException, match="'speed': its options are keys, exponent"):
        stream_of(spark, {**OPTIONS, "speed": "5"})
    register(spark)
    with pytest.raises(PySparkException, match="needs the option 'rows'"):
        spark.read.format("semistream-zipf").options(**OPTIONS).load().count()
    endless = start(stream_of(spark, OPTIONS), tmp_path / "endless")
    with pytest.raises(PySparkException, match="never ends"):
        endless.awaitTermination(60)
    assert start(stream_of(spark, {**OPTIONS, "rows": "10"}), tmp_path).awaitTermination(60)
    other = start(stream_of(spark, {**OPTIONS, "rows": "20", "seed": "4"}), tmp_path)
    with pytest.raises(PySparkException, match="with other options"):
        other.awaitTermination(60)
    assert ds.dataset(tmp_path / "out", format="parquet", exclude_invalid_files=True).count_rows() == 10
