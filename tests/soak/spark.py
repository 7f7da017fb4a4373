"""Streaming lookups for a long time, on keys whose favourites change: do Spark's workers keep their memory?

Two lookups in one trip, so that both ways of reading are at work: one master through the page cache, one
past it. What a worker holds, by the counters in the query's progress, must stay within the budget in every
batch, and every row must come out once. No worker's resident memory may be larger in the second half than
the largest was in the first, by more than a tenth of the budget and a little for Python itself.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import semistream as ss
from semistream.spark.metrics import records
from semistream.spark.session import session, stop
from semistream.spark.source import register
from semistream.stores.clustered_build import build
from tests.spark.process_tree import workers_below
from tests.spark.processes import resident_bytes

MASTER_ROWS = 300_000
MEMORY = 8 * 2**20
BATCH = 10_000
DRIFT_EVERY = 40 * BATCH
SLACK = MEMORY // 10 + 2 * 2**20
POLL_SECONDS = 1.0  # progress keeps the last hundred batches


@dataclass
class Seen:
    """A run so far."""

    batches: int = 0
    rows: int = 0
    held: int = 0
    resident: list[int] = field(default_factory=list)  # of the largest worker, at each look
    failures: list[str] = field(default_factory=list)

    def add(self, query: StreamingQuery) -> None:
        """Look at the batches that have ended since the last look, and at the workers."""
        for progress in query.recentProgress:
            for record in records(progress):
                if record.batch_id < self.batches:
                    continue
                if record.batch_id > self.batches:
                    self.failures.append(f"batches {self.batches} to {record.batch_id - 1} told nothing")
                self.batches = record.batch_id + 1
                self.rows += record.rows_in
                self.held = max(self.held, record.held_bytes)
                if not record.rows_in == record.rows_out == progress["numInputRows"]:
                    told = f"{progress['numInputRows']} rows, {record.rows_in} in, {record.rows_out} out"
                    self.failures.append(f"batch {record.batch_id}: {told}")
        workers = [resident_bytes(one.pid) for one in workers_below(os.getpid())]
        self.resident.append(max(workers, default=0))

    @property
    def growth(self) -> int:
        half = len(self.resident) // 2
        return max(self.resident[half:]) - max(self.resident[: half or 1])


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--minutes", type=float, default=10.0, help="how long at least")
    parser.add_argument("--batches", type=int, default=500, help="how many micro-batches at least")


def run(options: argparse.Namespace) -> list[str]:
    """What went wrong."""
    seen = Seen()
    with tempfile.TemporaryDirectory(prefix="semistream-soak-") as name, _spark(Path(name)) as spark:
        query = _start(_joined(spark, Path(name)), Path(name))
        began = time.monotonic()
        while time.monotonic() < began + 60 * options.minutes or seen.batches < options.batches:
            time.sleep(POLL_SECONDS)
            seen.add(query)
            if not query.isActive:
                return [f"the query ended: {query.exception()}"]
        query.stop()
        minutes = (time.monotonic() - began) / 60
    failures = seen.failures
    if seen.held > MEMORY:
        failures.append(f"held {seen.held} bytes of {MEMORY}")
    if seen.growth > SLACK:
        failures.append(f"resident memory grew by {seen.growth} bytes")
    mib = 2**20
    print(
        f"{seen.batches:,} batches in {minutes:.1f} minutes, {seen.rows:,} rows, "
        f"at most {seen.held / mib:.2f} of {MEMORY / mib:.0f} MiB held, "
        f"largest worker {max(seen.resident) / mib:.0f} MiB, second half {seen.growth / mib:+.1f} MiB",
        flush=True,
    )
    return failures


@contextmanager
def _spark(folder: Path) -> Iterator[SparkSession]:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {
        "spark.driver.memory": "1g",
        "spark.local.dir": str(folder / "local"),
        "spark.log.level": "ERROR",
        "spark.sql.shuffle.partitions": "2",
    }
    spark = session("semistream soak", master="local[2]", config=settings)
    try:
        yield spark
    finally:
        stop(spark)


def _joined(spark: SparkSession, folder: Path) -> DataFrame:
    register(spark)
    columns = {"key": np.arange(MASTER_ROWS), "name": pa.array(["x" * 90] * MASTER_ROWS)}
    build(pa.table(columns), folder / "master", "key", page_rows=128).close()
    stream = spark.readStream.format("semistream-zipf").options(
        keys=MASTER_ROWS, rows_per_batch=BATCH, drift_every=DRIFT_EVERY, unmatched=0.02, nulls=0.01
    )
    lookups = [
        ss.lookup(ss.master(str(folder / "master"), key="key"), how="left"),
        ss.lookup(ss.master(str(folder / "master"), key="key", io="direct"), how="left", suffix="_again"),
    ]
    return ss.lookup_joins(stream.load(), lookups, memory=MEMORY, name="lookups")


def _start(df: DataFrame, folder: Path) -> StreamingQuery:
    writer = df.writeStream.format("noop").option("checkpointLocation", str(folder / "checkpoint"))
    return writer.start()
