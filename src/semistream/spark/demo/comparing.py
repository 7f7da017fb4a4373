"""The same batches through `lookup_join` and through Spark's own join of a stream with a Parquet table.

The batches are the stream's first sales, of one size, in files. Both joins read them in one session, and
write to Spark's `noop` sink, so that nothing but the join differs. A checksum of each batch's rows is
observed in both, and must be equal. A time is the median of the batches behind a warm-up.
"""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import semistream as ss
from semistream.errors import QueryError
from semistream.spark.demo.sales import LOOKED_UP, MEMORY, TASKS, Shop, stream_of
from semistream.spark.pipeline.analysis import SPARK_ERRORS, first_sentence

_SALES = "product_id long, sale_id long"
_SEEN = "compared"

Way = Callable[[DataFrame], DataFrame]


@dataclass(frozen=True, slots=True)
class Comparison:
    """Seconds of a batch of so many rows, in the median."""

    batch_rows: int
    lookup_seconds: float
    spark_seconds: float

    @property
    def ratio(self) -> float:
        """How many times as fast as Spark's own join."""
        return self.spark_seconds / self.lookup_seconds


def compare(spark: SparkSession, shop: Shop) -> Comparison:
    """Time both joins."""
    scale = shop.scale
    products = ss.master(shop.products, key="product_id")
    parquet = spark.read.parquet(f"file://{shop.parquet}")

    def lookup(sales: DataFrame) -> DataFrame:
        return ss.lookup_join(sales, products, how="left", columns=LOOKED_UP, memory=MEMORY)

    def sparks_own(sales: DataFrame) -> DataFrame:
        return sales.join(parquet.select("product_id", *LOOKED_UP), "product_id", "left")

    ours = _run(spark, lookup, shop, sum(scale.lookup_batches))
    theirs = _run(spark, sparks_own, shop, sum(scale.spark_batches))
    for number, (mine, other) in enumerate(zip(ours, theirs, strict=False)):
        made, expected = mine["observedMetrics"][_SEEN], other["observedMetrics"][_SEEN]
        if made != expected:
            raise AssertionError(
                f"batch {number} is {made} by lookup_join, and {expected} by Spark's own join"
            )
    return Comparison(
        scale.compared_rows,
        _median_seconds(ours[scale.lookup_batches[0] :]),
        _median_seconds(theirs[scale.spark_batches[0] :]),
    )


def _run(spark: SparkSession, way: Way, shop: Shop, batches: int) -> list[Any]:
    """The progress of each batch."""
    with tempfile.TemporaryDirectory(prefix="semistream-demo-") as temporary:
        folder = Path(temporary)
        _write_batches(folder / "sales", shop, batches)
        source = spark.readStream.schema(_SALES).option("maxFilesPerTrigger", TASKS)
        joined = way(source.parquet(f"file://{folder / 'sales'}")).select("sale_id", *LOOKED_UP)
        checksum = F.sum(F.xxhash64(*joined.columns).cast("decimal(38, 0)"))
        observed = joined.observe(_SEEN, F.count(F.lit(1)).alias("rows"), checksum.alias("checksum"))
        query = (
            observed.writeStream.format("noop")
            .option("checkpointLocation", f"file://{folder / 'checkpoint'}")
            .trigger(availableNow=True)
            .start()
        )
        try:
            query.awaitTermination()
            return [batch for batch in query.recentProgress if batch["numInputRows"]]
        except SPARK_ERRORS as error:
            raise QueryError(f"the comparison broke off: {first_sentence(error)}") from error
        finally:
            query.stop()


def _write_batches(folder: Path, shop: Shop, batches: int) -> None:
    """A file for each task of each batch; Spark takes them by their times."""
    folder.mkdir()
    stream, rows = stream_of(shop), shop.scale.compared_rows // TASKS
    at, now = stream.begin(), time.time()
    for number in range(batches * TASKS):
        file = folder / f"{number:05d}.parquet"
        sales = pa.Table.from_batches(stream.batches(at, rows)).select(["key", "sequence"])
        pq.write_table(sales.rename_columns(["product_id", "sale_id"]), file)
        os.utime(file, (now + number, now + number))
        at = stream.after(at, rows)


def _median_seconds(batches: list[Any]) -> float:
    return statistics.median(int(batch["durationMs"]["triggerExecution"]) for batch in batches) / 1000
