"""A part: a master larger than the address space of the workers."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import semistream as ss
from semistream.errors import BudgetError
from semistream.spark.metrics import records
from semistream.spark.session import session
from semistream.stores.clustered_build import ClusteredWriter

LIMIT = 1 << 30
EVENTS = 4000
PAYLOAD = 4000
_STREAM = "id long, event long"
_SCHEMA = pa.schema({"id": pa.int64(), "name": pa.int64(), "payload": pa.binary(PAYLOAD)})


def prepare(folder: Path) -> int:
    """Write a master of more than `LIMIT`, and a stream that asks for rows all over it; its bytes."""
    chunk = 2_000
    payload = pa.FixedSizeBinaryArray.from_buffers(
        pa.binary(PAYLOAD), chunk, [None, pa.py_buffer(bytes(PAYLOAD * chunk))]
    )
    rows = 0
    with ClusteredWriter(folder / "master", _SCHEMA, "id") as writer:
        while rows * PAYLOAD < LIMIT:
            keys = np.arange(rows, rows + chunk)
            writer.write(pa.record_batch([pa.array(2 * keys), pa.array(keys), payload], schema=_SCHEMA))
            rows += chunk
    (folder / "stream").mkdir()
    keys = np.random.default_rng(1).integers(0, 2 * rows, EVENTS)
    for part in range(2):
        events = np.arange(part, EVENTS, 2)
        pq.write_table(pa.table({"id": keys[events], "event": events}), folder / "stream" / f"{part}.parquet")
    return sum(file.stat().st_size for file in (folder / "master").rglob("*") if file.is_file())


def run(spark: SparkSession, folder: Path) -> dict[str, Any]:
    master = ss.master(str(folder / "master"), key="id", columns=["name"])
    stream = spark.readStream.schema(_STREAM).option("maxFilesPerTrigger", 1).parquet(str(folder / "stream"))
    query = (
        ss.lookup_join(stream, master, how="left", memory="32MiB")
        .writeStream.format("parquet")
        .option("path", str(folder / "out"))
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    found = [record for progress in query.recentProgress for record in records(progress)]

    def limit(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            pass
        yield pa.record_batch({"limit": [resource.getrlimit(resource.RLIMIT_AS)[0]]})

    limits = spark.range(2).repartition(2).mapInArrow(limit, "limit long").collect()
    spark.stop()
    return {
        "limits": [row["limit"] for row in limits],
        "loads": sum(record.loads for record in found),
        "rows": sum(record.rows_in for record in found),
        "refusal": refusal(master),
    }


def refusal(master: ss.Master) -> str:
    """What a session says whose workers have too little."""
    too_little = {"spark.executor.pyspark.memory": "768m"}
    with session("semistream-tests", master="local[1]", config=too_little) as spark:
        try:
            ss.lookup_join(spark.range(3), master)
        except BudgetError as error:
            return str(error)
    return "it refused nothing"


def wrong_rows(folder: Path) -> int:
    """Output rows that aren't what their key says; every event must be there once."""
    rows = pq.read_table(folder / "out").sort_by("event")
    keys, there = rows["id"].to_numpy(), rows["name"].is_valid().to_numpy()
    assert rows["event"].to_pylist() == list(range(EVENTS))
    names = rows["name"].fill_null(-1).to_numpy()
    return int(np.count_nonzero((there != (keys % 2 == 0)) | (there & (names != keys // 2))))
