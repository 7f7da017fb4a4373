"""A part: one query for each `how`, streaming and batch."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import Observation, SparkSession

import semistream as ss
from semistream.columns import HOWS
from semistream.spark.cluster import cluster_of
from semistream.spark.metrics import records
from semistream.spark.pipeline.progress import batch_record
from tests.joins.oracle import Expected, Rows, difference, rows_of
from tests.spark.masters import KEYS, on_disk, table

NAME = "lookup"
FILES = 2
EVENTS = 600
MEMORY = "8MiB"
_STREAM = "id long, event long"


def stream_table() -> pa.Table:
    """Some keys are null, some have no master row, some have several."""
    keys = [None if event % 13 == 0 else event * 7 % (KEYS + 20) for event in range(EVENTS)]
    return pa.table({"id": pa.array(keys, pa.int64()), "event": pa.array(range(EVENTS), pa.int64())})


def prepare(folder: Path) -> None:
    """Write the stream and the master."""
    (folder / "stream").mkdir(parents=True)
    rows = stream_table()
    for part in range(FILES):
        file = folder / "stream" / f"{part}.parquet"
        pq.write_table(rows.slice(part * EVENTS // FILES, EVENTS // FILES), file)
    on_disk(folder / "master", table())


def run(spark: SparkSession, folder: Path) -> dict[str, Any]:
    master = ss.master(str(folder / "master"), key="id")
    stream = spark.readStream.schema(_STREAM).option("maxFilesPerTrigger", 1).parquet(str(folder / "stream"))
    told: dict[str, Any] = {
        "connect": cluster_of(spark).connect,
        "explained": str(ss.explain(stream, master, how="left", memory=MEMORY)),
        "streaming": {},
        "batch": {},
    }
    queries = {}
    for how in HOWS:
        joined = ss.lookup_join(stream, master, how=how, memory=MEMORY, name=NAME)
        queries[how] = (
            joined.writeStream.format("parquet")
            .option("path", str(folder / "streaming" / how))
            .option("checkpointLocation", str(folder / "checkpoint" / how))
            .trigger(availableNow=True)
            .start()
        )
    batch = spark.read.schema(_STREAM).parquet(str(folder / "stream"))
    for how in HOWS:
        observation = Observation(NAME)
        joined = ss.lookup_join(batch, master, how=how, memory=MEMORY, observation=observation)
        joined.write.parquet(str(folder / "batch" / how))
        told["batch"][how] = observation.get["counters"].asDict()
    for how, query in queries.items():
        query.awaitTermination()
        told["streaming"][how] = [
            {"rows": batch_record(progress).rows_in, "lookups": [asdict(one) for one in records(progress)]}
            for progress in query.recentProgress
        ]
    return told


def check(told: dict[str, Any], folder: Path, kind: str, how: str) -> None:
    """The right rows are there, and the right counters came back: right by the dictionary of `oracle`."""
    master = table()
    payload = master.column_names[1:] if how in ("inner", "left") else []
    expected = Expected(stream_table(), master, {"id": "id"}, how, payload)
    found = Rows(rows_of(pq.read_table(folder / kind / how)))
    assert found == expected.rows, difference(found, expected.rows)
    right = {
        "rows_in": EVENTS,
        "rows_out": expected.rows.total(),
        "matched": expected.matched,
        "unmatched": expected.unmatched,
        "null_keys": expected.null_keys,
    }
    counted = told["batch"][how]
    if kind == "streaming":
        batches = told["streaming"][how]
        assert len(batches) == FILES
        assert sum(batch["rows"] for batch in batches) == EVENTS
        lookups = [lookup for batch in batches for lookup in batch["lookups"]]
        assert {lookup["lookup"] for lookup in lookups} == {NAME}
        counted = {name: sum(lookup[name] for lookup in lookups) for name in right}
    assert {name: counted[name] for name in right} == right
