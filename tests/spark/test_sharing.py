"""Queries that share Python workers: who stays warm, what ends, and what the counters are called."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

import semistream as ss
from semistream.errors import ArgumentError, DuplicateKeyError
from semistream.stores.clustered_build import build
from tests.spark.masters import plain
from tests.spark.processes import python_workers

pytestmark = pytest.mark.xdist_group("spark")

BATCHES = 24
HOT = 40


@pytest.fixture(scope="module")
def folder(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A stream of some batches that all ask for the same few keys, and a master of some pages."""
    made = tmp_path_factory.mktemp("sharing")
    for part in range(BATCHES):
        rows = spark.range(part * 1000, (part + 1) * 1000)
        rows = rows.select((F.col("id") % HOT * 7).alias("id"), F.col("id").alias("event"))
        rows.coalesce(1).write.mode("append").parquet(str(made / "stream"))
    publish(made, "one")
    return made


def publish(folder: Path, name: str) -> None:
    table = pa.table({"id": range(400), "name": [f"{name} {i}" for i in range(400)]})
    build(table, folder / "master", "id", page_rows=50).close()


def stream(spark: SparkSession, folder: Path, most: int = 1) -> DataFrame:
    reader = spark.readStream.schema("id long, event long").option("maxFilesPerTrigger", most)
    return reader.parquet(str(folder / "stream"))


def start(df: DataFrame, name: str, checkpoint: Path) -> StreamingQuery:
    writer = df.writeStream.format("noop").queryName(name).option("checkpointLocation", str(checkpoint))
    return writer.trigger(availableNow=True).start()


def told(query: StreamingQuery, name: str) -> list[dict[str, Any]]:
    """The lookup's counters of every batch that had rows."""
    return [p["observedMetrics"][name]["counters"] for p in query.recentProgress if p["numInputRows"]]


def test_two_live_queries_stay_warm_side_by_side(spark: SparkSession, folder: Path, tmp_path: Path) -> None:
    master = ss.master(str(folder / "master"), key="id")
    queries = [
        start(ss.lookup_join(stream(spark, folder), master, name="lookup"), name, tmp_path / name)
        for name in ("sales", "visits")
    ]
    for query in queries:
        query.awaitTermination()
    # Each worker is cold for each query at first, and for the first once more when the other comes; then no
    # load ever again. Spark takes idle workers in turn, and earlier tests may have left some.
    cold = 0
    for query in queries:
        batches = told(query, "lookup")
        assert len(batches) == BATCHES
        assert sum(batch["matched"] for batch in batches) == 1000 * BATCHES
        cold += len([batch for batch in batches if batch["loads"]])
        assert all(batch["held_bytes"] <= 64 << 20 for batch in batches)
    assert cold <= 3 * len(python_workers()) < 2 * BATCHES


def test_a_restarted_query_reads_the_version_of_now(
    spark: SparkSession, folder: Path, tmp_path: Path
) -> None:
    """Its workers live on, with the old run's joins."""
    versions: list[str] = []
    for name in ("one", "two"):
        publish(folder, name)
        spark.range(100).withColumn("event", F.lit(name)).coalesce(2).write.mode("append").parquet(
            str(tmp_path / "stream")
        )
        rows = spark.readStream.schema("id long, event string").parquet(str(tmp_path / "stream"))
        df = ss.lookup_join(rows, ss.master(str(folder / "master"), key="id"), name="lookup")
        query = (
            df.writeStream.format("parquet")
            .option("path", str(tmp_path / "out"))
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        versions += [batch["master_version"] for batch in told(query, "lookup")]
    found = spark.read.parquet(str(tmp_path / "out"))
    assert {row["event"]: row["count"] for row in found.groupBy("event").count().collect()} == {
        "one": 100,
        "two": 100,
    }
    assert found.filter("not startswith(name, event)").count() == 0
    assert len(set(versions)) == 2
    publish(folder, "one")


def test_a_batch_query_reads_the_version_of_now(spark: SparkSession, folder: Path) -> None:
    df = ss.lookup_join(spark.range(50), ss.master(str(folder / "master"), key="id"))
    for name in ("three", "one"):
        publish(folder, name)
        assert {row["name"].split()[0] for row in df.collect()} == {name}


def test_lookups_made_anew_for_each_batch_stay_warm(
    spark: SparkSession, folder: Path, tmp_path: Path
) -> None:
    """In `foreachBatch` every batch makes its own DataFrames, for the same lookup."""
    master = ss.master(str(folder / "master"), key="id")
    loads = []

    def write(batch: DataFrame, number: int) -> None:
        observation = Observation()
        ss.lookup_join(batch, master, observation=observation).write.format("noop").mode("append").save()
        loads.append(observation.get["counters"]["loads"])

    query = (
        stream(spark, folder)
        .writeStream.foreachBatch(write)
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    assert len(loads) == BATCHES
    assert len([some for some in loads if some]) <= len(python_workers()) < BATCHES


def test_an_abandoned_and_a_failed_task_leave_no_rows(spark: SparkSession, folder: Path) -> None:
    master = ss.master(str(folder / "master"), key="id")
    rows = spark.range(4000).select((F.col("id") % 500).alias("id"), F.col("id").alias("event"))
    df = ss.lookup_join(rows, master, how="left", memory="1MiB")
    expected = plain(rows.collect())
    assert len(df.limit(3).collect()) == 3
    assert plain(df.select("id", "event").collect()) == expected
    with pytest.raises(PySparkException, match="enough is enough"):
        df.select(F.when(F.col("event") > 2000, F.raise_error(F.lit("enough is enough")))).collect()
    assert plain(df.select("id", "event").collect()) == expected


def test_chained_lookups_and_one_frame_in_two_queries(
    spark: SparkSession, folder: Path, tmp_path: Path
) -> None:
    """The names of their counters never meet, though all are made alike."""
    master = ss.master(str(folder / "master"), key="id")
    once = ss.lookup_join(stream(spark, folder, most=BATCHES), master)
    twice = ss.lookup_join(once, master, suffix="_again")
    both = once.union(ss.lookup_join(stream(spark, folder, most=BATCHES), master))
    queries = [start(df, name, tmp_path / name) for name, df in {"twice": twice, "both": both}.items()]
    for query in queries:
        query.awaitTermination()
        (progress,) = [p for p in query.recentProgress if p["numInputRows"]]
        names = sorted(progress["observedMetrics"])
        assert len(names) == 2
        assert all(name.startswith("master") for name in names)
    assert twice.columns == ["id", "event", "name", "name_again"]


def test_names_that_cannot_be(spark: SparkSession, folder: Path) -> None:
    master = ss.master(str(folder / "master"), key="id")
    df = spark.range(3)
    with pytest.raises(ArgumentError, match=r"pyspark\.sql\.Observation"):
        ss.lookup_join(df, master, observation="lookup")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="names nothing"):
        ss.lookup_join(df, master, name=" ")
    with pytest.raises(ArgumentError, match="give one"):
        ss.lookup_join(df, master, name="lookup", observation=Observation())
    with pytest.raises(ArgumentError, match="is a stream"):
        ss.lookup_join(stream(spark, folder), master, observation=Observation())


def test_duplicates_are_refused_before_the_start(spark: SparkSession) -> None:
    twice = ss.master(pa.table({"id": [1, 7, 7], "name": ["a", "b", "c"]}), key="id")
    with pytest.raises(DuplicateKeyError, match="7"):
        ss.lookup_join(spark.range(3), twice, validate="m:1")
    once = ss.master(pa.table({"id": [1, 7], "name": ["a", "b"]}), key="id")
    assert ss.lookup_join(spark.range(9), once, validate="m:1").count() == 2
