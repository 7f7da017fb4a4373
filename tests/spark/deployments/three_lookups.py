"""A part: three lookups in one trip, a watermark above them and a windowed aggregate below."""

from __future__ import annotations

import os
from pathlib import Path
from threading import Event, Thread
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import semistream as ss
from semistream.spark.metrics import records
from semistream.stores.clustered_build import build
from semistream.workloads.keys import zipf_keys
from tests.spark.processes import python_workers, resident_beside

MEMORY = "48MiB"
SALES = 60_000  # a file, and a micro-batch
FILES = 4
PRODUCTS = 200_000
CUSTOMERS = 150_000
SUPPLIERS = 500
SECONDS_A_FILE = 300
_STREAM = "product_id long, customer_id long, quantity int, at timestamp"

ORACLE = """
WITH met AS (
    SELECT time_bucket(INTERVAL 60 SECOND, "at") AS start, region, quantity * price AS amount
    FROM sales
    LEFT JOIN products USING (product_id)
    JOIN customers USING (customer_id)
    LEFT JOIN suppliers USING (supplier_id)
)
SELECT epoch_us(start), region, count(*), sum(amount)::BIGINT FROM met
WHERE start + INTERVAL 60 SECOND <= (SELECT max("at") FROM sales) - INTERVAL 10 SECOND
GROUP BY ALL
"""


def products() -> pa.Table:
    keys = np.arange(PRODUCTS)
    return pa.table(
        {
            "product_id": keys,
            "price": keys % 997,
            "supplier_id": keys % (SUPPLIERS + 9),
            "text": [f"{key:090}" for key in keys],
        }
    )


def customers() -> pa.Table:
    keys = np.arange(0, 2 * CUSTOMERS, 2)
    return pa.table({"customer_id": keys, "address": [f"{key:0120}" for key in keys]})


def suppliers() -> pa.Table:
    keys = np.arange(SUPPLIERS)
    return pa.table({"supplier_id": keys, "region": [f"region {key % 7}" for key in keys]})


def sales(file: int) -> pa.Table:
    """Out of order by less than the watermark's delay; some products and half the customers are unknown."""
    random = np.random.default_rng(file)
    seconds = SECONDS_A_FILE * file + np.linspace(0, SECONDS_A_FILE, SALES) + random.uniform(0, 8, SALES)
    return pa.table(
        {
            "product_id": zipf_keys(SALES, PRODUCTS + 2000, 0.8, random, scatter=3),
            "customer_id": zipf_keys(SALES, 2 * CUSTOMERS, 0.8, random, scatter=4),
            "quantity": pa.array(random.integers(1, 9, SALES), pa.int32()),
            "at": pa.array((seconds * 1e6).astype(np.int64), pa.timestamp("us", "UTC")),
        }
    )


def prepare(folder: Path) -> None:
    (folder / "stream").mkdir(parents=True)
    for file in range(FILES):
        pq.write_table(sales(file), folder / "stream" / f"{file}.parquet")
    build(products(), folder / "products", "product_id").close()
    build(customers(), folder / "customers", "customer_id").close()


def run(spark: SparkSession, folder: Path) -> dict[str, Any]:
    stream = (
        spark.readStream.schema(_STREAM)
        .option("maxFilesPerTrigger", 1)
        .parquet(str(folder / "stream"))
        .withWatermark("at", "10 seconds")
        .repartition(2)
    )
    products_here = os.path.relpath(folder / "products")  # executors work in other folders
    lookups = [
        ss.lookup(ss.master(products_here, key="product_id"), how="left"),
        ss.lookup(ss.master(folder / "customers", key="customer_id", io="direct")),
        ss.lookup(ss.master(suppliers(), key="supplier_id"), how="left"),
    ]
    explained = ss.explain(stream, lookups, memory=MEMORY)
    query = (
        windows(ss.lookup_joins(stream, lookups, memory=MEMORY, name="lookups"))
        .writeStream.format("parquet")
        .outputMode("append")
        .option("path", str(folder / "out"))
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
    )
    with Resident(folder) as resident:
        running = query.start()
        running.awaitTermination()
    found = [record for progress in running.recentProgress for record in records(progress)]
    return {
        "explained": str(explained),
        "total_bytes": explained.total_bytes,
        "resident_bytes": resident.most,
        "workers": resident.workers,
        "evictions": sum(record.evictions for record in found),
        "rows_in": sum(record.rows_in for record in found),
    }


def windows(joined: DataFrame) -> DataFrame:
    amount = F.sum(F.col("quantity") * F.col("price")).alias("amount")
    counted = joined.groupBy(F.window("at", "60 seconds"), "region").agg(F.count("*").alias("sales"), amount)
    return counted.select(F.unix_micros("window.start").alias("start"), "region", "sales", "amount")


def expected(folder: Path) -> list[tuple[Any, ...]]:
    """The windows that the watermark has closed."""
    with duckdb.connect() as database:
        database.execute("SET TimeZone = 'UTC'")
        database.read_parquet(str(folder / "stream" / "*.parquet")).create_view("sales")
        for name, table in {
            "products": products(),
            "customers": customers(),
            "suppliers": suppliers(),
        }.items():
            database.register(name, table)
        return sorted(database.sql(ORACLE).fetchall(), key=repr)


def found(folder: Path) -> list[tuple[Any, ...]]:
    rows = pq.read_table(folder / "out").to_pylist()
    return sorted((tuple(row.values()) for row in rows), key=repr)


class Resident:
    """The most that this process's Python workers have in memory together, sampled during the block."""

    def __init__(self, masters: Path) -> None:
        self._masters, self._stop = masters, Event()
        self._thread = Thread(target=self._sample)
        self.most = self.workers = 0

    def __enter__(self) -> Resident:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _sample(self) -> None:
        while not self._stop.wait(0.1):
            workers = python_workers()
            self.workers = max(self.workers, len(workers))
            self.most = max(self.most, sum(resident_beside(pid, self._masters) for pid in workers))
