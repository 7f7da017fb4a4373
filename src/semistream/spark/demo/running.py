"""The pipeline of the demo, until every sale is in the warehouse.

Its sales come by the clock, so the query would wait for more of them: it is asked to stop behind the last.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from pyspark.sql import SparkSession

from semistream.spark.demo.sales import TASKS, Shop
from semistream.spark.pipeline import (
    BatchRecord,
    Stopping,
    Summary,
    build_pipeline,
    read_pipeline,
    run_pipeline,
)
from semistream.spark.pipeline.explaining import session_settings
from semistream.spark.pipeline.running import Tell
from semistream.spark.session import session_for


@dataclass(frozen=True, slots=True)
class Streamed:
    """The run as a whole; `held_bytes` is the most that a worker held after a batch."""

    summary: Summary
    held_bytes: int
    smallest_batch: int
    largest_batch: int


@contextmanager
def demo_session(shop: Shop) -> Iterator[SparkSession]:
    """Two task slots, for both joins alike."""
    config = session_settings(read_pipeline(shop.file), {"spark.sql.shuffle.partitions": str(TASKS)})
    with session_for("semistream demo", master=f"local[{TASKS}]", config=config) as spark:
        yield spark


def stream_sales(spark: SparkSession, shop: Shop, tell: Tell) -> Streamed:
    """Run the pipeline until all sales have come."""
    built = build_pipeline(spark, read_pipeline(shop.file))
    stopping = Stopping()
    seen: list[BatchRecord] = []

    def follow(record: BatchRecord) -> None:
        tell(record)
        seen.append(record)
        if sum(one.rows_in for one in seen) >= shop.scale.sales:
            stopping.ask()

    summary = run_pipeline(spark, built, follow, stopping)
    sizes = [record.rows_in for record in seen if record.rows_in]
    return Streamed(summary, max(record.held_bytes for record in seen), min(sizes), max(sizes))
