"""A generated folder is a stream to Spark's file source, and its master one that a lookup join reads."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

import semistream as ss
from semistream.workloads.catalogue import workload
from semistream.workloads.files import write
from semistream.workloads.masters import rows_of

pytestmark = pytest.mark.xdist_group("spark")


def test_files_come_one_after_the_other_and_find_their_rows(spark: SparkSession, tmp_path: Path) -> None:
    made = workload("zipf", master_rows=2000, stream_rows=900, seed=2, unmatched=0.1, arrivals="bursty")
    write(made, tmp_path / "sales", file_rows=300)
    folder = str(tmp_path / "sales" / "stream")
    stream = (
        spark.readStream.schema(spark.read.parquet(folder).schema)
        .option("maxFilesPerTrigger", 1)
        .parquet(folder)
    )
    master = ss.master(tmp_path / "sales" / "master", key="key")
    batches: dict[int, list[tuple[int, int, str]]] = {}

    def keep(batch: DataFrame, number: int) -> None:
        rows = batch.select("sequence", "key", "description").collect()
        batches[number] = sorted((row[0], row[1], row[2]) for row in rows)

    query = (
        ss.lookup_join(stream, master, on="key", memory="16MiB")
        .writeStream.foreachBatch(keep)
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    expected = made.stream.table()
    keys = expected["key"].to_numpy()
    for number in range(3):
        matched = [row for row in range(number * 300, number * 300 + 300) if keys[row] < 2000]
        texts = rows_of(keys[matched])["description"].to_pylist()
        assert batches[number] == list(zip(matched, keys[matched], texts, strict=True))


def test_every_data_set_is_one_that_spark_reads(spark: SparkSession, tmp_path: Path) -> None:
    for name in ("retail", "flights-weather", "tpch-zipf", "weather-reports"):
        scale = {"tpch-zipf": {"scale": 0.001}, "weather-reports": {"scale": 0.0001}}.get(name, {})
        made = workload(name, stream_rows=100, **scale)
        write(made, tmp_path / name)
        for side, of in (("stream", made.stream), ("master", made.master)):
            found = spark.read.parquet(str(tmp_path / name / side)).toArrow()
            assert found.schema.names == of.schema.names
            rows = of.table().num_rows
            assert found.num_rows == rows
            if side == "stream":
                assert found.to_pylist() == of.table().to_pylist()
