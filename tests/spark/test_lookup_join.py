"""`lookup_join` against Spark's own join of the same rows, batch and streaming."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

import semistream as ss
from semistream.columns import HOWS
from semistream.errors import BudgetError, ColumnError, KeyTypeError, SchemaError, StoreError
from semistream.spark.lookup_join import lookup, lookup_join, lookup_joins
from tests.spark.masters import KEYS, frame, on_disk, plain, table

pytestmark = pytest.mark.xdist_group("spark")


def events(spark: SparkSession, rows: int = 2000) -> DataFrame:
    """Some keys are null, some have no master row."""
    key = F.when(F.col("id") % 13 == 0, F.lit(None)).otherwise(F.col("id") * 7 % (KEYS + 20))
    return spark.range(rows).select(key.alias("id"), F.col("id").alias("event"))


@pytest.mark.parametrize("how", HOWS)
def test_a_batch_query_gives_what_spark_gives(spark: SparkSession, tmp_path: Path, how: str) -> None:
    master = table()
    joined = lookup_join(events(spark), on_disk(tmp_path / "master", master), how=how)
    expected = events(spark).join(frame(spark, master), on="id", how=how)
    assert joined.columns == expected.columns
    assert plain(joined.collect()) == plain(expected.collect())


@pytest.mark.parametrize("how", HOWS)
def test_so_does_a_streaming_query(spark: SparkSession, tmp_path: Path, how: str) -> None:
    master = table()
    for part in range(4):
        chunk = events(spark).filter(F.col("event") % 4 == part).coalesce(1)
        chunk.write.mode("append").parquet(str(tmp_path / "stream"))
    stream = (
        spark.readStream.schema("id long, event long")
        .option("maxFilesPerTrigger", 1)
        .parquet(str(tmp_path / "stream"))
    )
    joined = lookup_join(stream, on_disk(tmp_path / "master", master), how=how, memory="4MiB", name="lookup")
    query = (
        joined.writeStream.format("parquet")
        .option("path", str(tmp_path / "out"))
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    assert len([p for p in query.recentProgress if p["numInputRows"]]) == 4
    observed = [p["observedMetrics"]["lookup"]["counters"] for p in query.recentProgress if p["numInputRows"]]
    assert sum(metrics["rows_in"] for metrics in observed) == 2000
    assert all(0 < metrics["held_bytes"] <= 4 * 2**20 for metrics in observed)
    expected = events(spark).join(frame(spark, master), on="id", how=how)
    assert plain(spark.read.parquet(str(tmp_path / "out")).collect()) == plain(expected.collect())


def test_a_watermark_drives_windows_behind_the_join(spark: SparkSession, tmp_path: Path) -> None:
    rows = spark.range(600).select(F.timestamp_seconds("id").alias("at"), (F.col("id") % 30).alias("id"))
    rows.coalesce(1).write.parquet(str(tmp_path / "stream"))
    stream = spark.readStream.schema("at timestamp, id long").parquet(str(tmp_path / "stream"))
    joined = lookup_join(
        stream.withWatermark("at", "10 seconds"), on_disk(tmp_path / "master", table(duplicates=1))
    )
    counts = joined.groupBy(F.window("at", "60 seconds")).count().select("window.start", "count")
    query = (
        counts.writeStream.format("parquet")
        .outputMode("append")
        .option("path", str(tmp_path / "out"))
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    found = spark.read.parquet(str(tmp_path / "out")).collect()
    # The last window stays open: the watermark is ten seconds behind the last row.
    assert [row["count"] for row in found] == [40] * 9


def test_several_lookups_in_one_trip(spark: SparkSession, tmp_path: Path) -> None:
    master = table(duplicates=1)
    names = on_disk(tmp_path / "names", master.select(["id", "name"]))
    copies = on_disk(tmp_path / "copies", master.select(["id", "copy", "day"]))
    joined = lookup_joins(
        events(spark),
        [lookup(names, how="left"), lookup(copies, how="left", columns=["day"], status="met")],
    )
    expected = (
        events(spark)
        .join(frame(spark, master).select("id", "name"), "id", "left")
        .join(frame(spark, master).select("id", "day"), "id", "left")
    )
    assert plain(joined.drop("met").collect()) == plain(expected.collect())
    met = {row["met"]: row["count"] for row in joined.groupBy("met").count().collect()}
    assert met["null_key"] == events(spark).filter("id is null").count()
    assert met["matched"] == expected.filter("day is not null").count()


def test_counters_of_a_batch_query(spark: SparkSession, tmp_path: Path) -> None:
    observation = Observation("counters")
    joined = lookup_join(
        events(spark), on_disk(tmp_path / "master", table(duplicates=1)), how="left", observation=observation
    )
    assert joined.count() == 2000
    told = observation.get["counters"]
    assert told["rows_in"] == told["rows_out"] == 2000
    assert told["matched"] + told["unmatched"] + told["null_keys"] == 2000
    assert told["loads"] > 0
    assert told["master_version"]


def test_names_follow_the_session(spark: SparkSession, tmp_path: Path) -> None:
    master = on_disk(tmp_path / "master", table())
    upper = events(spark).withColumnRenamed("id", "ID").withColumnRenamed("event", "NAME")
    assert lookup_join(upper, master, on="id", columns=["day"]).columns == ["ID", "NAME", "day"]
    with pytest.raises(ColumnError, match="caseSensitive"):
        lookup_join(upper, master, on="id", columns=["name"])


def test_what_is_wrong_is_said_before_the_query_starts(spark: SparkSession, tmp_path: Path) -> None:
    master = on_disk(tmp_path / "master", table())
    stream = events(spark)
    with pytest.raises(ColumnError, match="'article'"):
        lookup_join(stream, master, on={"article": "id"})
    with pytest.raises(KeyTypeError, match=r"id.*string"):
        lookup_join(stream.select(F.col("id").cast("string")), master)
    with pytest.raises(BudgetError, match="at least"):
        lookup_join(stream, master, memory="10KiB")
    with pytest.raises(StoreError, match="nowhere"):
        lookup_join(stream, ss.master(str(tmp_path / "nowhere"), key="id"))
    wide = pa.table({"id": [1], "amount": pa.array([1], pa.decimal256(60, 0))})
    with pytest.raises(SchemaError, match="amount"):
        lookup_join(stream, ss.master(wide, key="id"))
