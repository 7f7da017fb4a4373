"""The same batches through `lookup_join` and through Spark's own join of a stream with a Parquet table.

Both read the same rows of the same source in batches of one size, with the same session, and write to
Spark's `noop` sink, so that nothing but the join differs. A checksum of each batch's rows is observed in
both, and must be equal. A time is the median of the batches behind a warm-up.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import semistream as ss
from semistream.spark.demo.sales import LOOKED_UP, MEMORY, Shop
from semistream.spark.pipeline import read_pipeline
from semistream.spark.pipeline.secrets import resolved_options
from semistream.spark.source.reader import NAME as ZIPF

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
    """Time both joins over the pipeline's stream, from its beginning."""
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
    source, rows = read_pipeline(shop.file).sources[0], shop.scale.compared_rows
    options = resolved_options(source.options)
    options |= {"rows": str(rows * batches), "rows_per_batch": str(rows)}
    raw = spark.readStream.format(ZIPF).options(**options).load()
    sales = raw.select(*(F.expr(text).alias(name) for name, text in source.columns.items()))
    joined = way(sales).select("sale_id", *LOOKED_UP)
    checksum = F.sum(F.xxhash64(*joined.columns).cast("decimal(38, 0)"))
    observed = joined.observe(_SEEN, F.count(F.lit(1)).alias("rows"), checksum.alias("checksum"))
    with tempfile.TemporaryDirectory(prefix="semistream-demo-") as checkpoint:
        query = (
            observed.writeStream.format("noop")
            .option("checkpointLocation", checkpoint)
            .trigger(availableNow=True)
            .start()
        )
        try:
            query.awaitTermination()
            return [batch for batch in query.recentProgress if batch["numInputRows"]]
        finally:
            query.stop()


def _median_seconds(batches: list[Any]) -> float:
    return statistics.median(int(batch["durationMs"]["triggerExecution"]) for batch in batches) / 1000
