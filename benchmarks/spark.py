"""`lookup_join` in a streaming query, beside Spark's own stream-static join and beside the ceiling.

    python -m benchmarks.spark [--masters 2000000 20000000] [--batches 10000 200000 1000000] [--out FILE]

The master lies on disk as a clustered copy (and as Parquet for Spark), the stream's keys follow Zipf's law
(exponent 1), scattered over it. The ceiling is a `mapInArrow` that adds constant columns of the same
width: what crossing into Python and back costs without any join. Each way runs the same micro-batches
in one session, `--rounds` times in turn; a way's time for a batch is the median over all but the first
micro-batches. The page cache is warm: everything is read once before. After the timing the same input
goes through `lookup_join` as a batch query, and each row is compared with what its key says it must be.
Only the ratios mean something elsewhere.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from rich.console import Console
from rich.table import Table

import semistream as ss
from benchmarks.machine import machine
from semistream.spark.session import session
from semistream.stores.clustered_build import ClusteredWriter
from semistream.workloads.keys import key_of_rank

MEMORY = "64MiB"
CHUNK = 250_000
SEED = 11
TASKS = 2
# micro-batches of each size: (to warm up, to measure)
ROUNDS = {10_000: (15, 40), 200_000: (10, 16), 1_000_000: (3, 6)}
SLOW = {10_000: (1, 4), 200_000: (1, 4), 1_000_000: (1, 3)}  # of a way that takes seconds a batch
STREAM = "product_id long, quantity int"
MASTER = pa.schema(
    {
        "product_id": pa.int64(),
        "surrogate_key": pa.int64(),
        "name": pa.string(),
        "price": pa.float64(),
        "supplier_id": pa.int32(),
    }
)
Way = Callable[[DataFrame], DataFrame]


def master_rows(start: int, count: int) -> pa.RecordBatch:
    """120 bytes a row, each a function of the key. A third of the name doesn't compress, as text doesn't."""
    key = np.arange(start, start + count, dtype=np.int64)
    with duckdb.connect() as connection:
        hashes = f"SELECT md5(range::VARCHAR) AS name FROM range({start}, {start + count}) ORDER BY range"
        name = connection.sql(hashes).to_arrow_table()["name"].combine_chunks()
    return pa.record_batch(
        [
            pa.array(key),
            pa.array(key * 7 + 1),
            pc.utf8_lpad(name.cast(pa.string()), 84, "0"),
            pa.array(key * 0.25),
            pa.array(key % 997, pa.int32()),
        ],
        schema=MASTER,
    )


def write_master(folder: Path, rows: int) -> None:
    parquet = folder / "parquet"
    parquet.mkdir(parents=True)
    with ClusteredWriter(folder / "clustered", MASTER, "product_id") as writer:
        for number, start in enumerate(range(0, rows, CHUNK)):
            batch = master_rows(start, min(CHUNK, rows - start))
            writer.write(batch)
            pq.write_table(pa.Table.from_batches([batch]), parquet / f"{number:05d}.parquet")


def write_stream(folder: Path, keys: int, batch: int, batches: int) -> None:
    """A file for each task of each micro-batch, so that a micro-batch is `TASKS` files."""
    folder.mkdir(parents=True)
    random = np.random.default_rng(SEED)
    weights = np.cumsum(1.0 / np.arange(1, keys + 1))
    places = key_of_rank(keys, SEED)
    for number in range(batches * TASKS):
        ranks = np.searchsorted(weights, random.random(batch // TASKS) * weights[-1])
        key = places[ranks]
        table = pa.table({"product_id": key, "quantity": pa.array(key % 9, pa.int32())})
        pq.write_table(table, folder / f"{number:05d}.parquet")


def ceiling(stream: DataFrame) -> DataFrame:
    """Columns as wide as the master's, made of nothing."""
    schema = "product_id long, quantity int, surrogate_key long, name string, price double, supplier_id int"
    name = "x" * 84

    def constants(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        made: dict[int, list[pa.Array]] = {}
        for batch in batches:
            rows = batch.num_rows
            if rows not in made:
                made[rows] = [
                    pa.array(np.arange(rows)),
                    pa.array([name] * rows),
                    pa.array(np.zeros(rows)),
                    pa.array(np.zeros(rows, np.int32)),
                ]
            columns = [*batch.columns, *made[rows]]
            names = ["product_id", "quantity", "surrogate_key", "name", "price", "supplier_id"]
            yield pa.RecordBatch.from_arrays(columns, names)

    return stream.mapInArrow(constants, schema)


def seconds_a_batch(
    spark: SparkSession, way: Way, stream: Path, batch: int, warm_up: int, measured: int
) -> list[float]:
    """Run micro-batches over the stream's files; how long each took behind the warm-up."""
    source = spark.readStream.schema(STREAM).option("maxFilesPerTrigger", TASKS).parquet(str(stream))
    with tempfile.TemporaryDirectory() as checkpoint:
        spark.conf.set("spark.sql.streaming.numRecentProgressUpdates", "200")
        query = (
            way(source)
            .writeStream.format("noop")
            .option("checkpointLocation", checkpoint)
            .trigger(processingTime="0 seconds")
            .start()
        )
        try:
            while True:
                done = [p for p in query.recentProgress if p["numInputRows"]]
                if len(done) >= warm_up + measured:
                    break
                if query.exception() is not None:
                    raise RuntimeError(str(query.exception()))
                query.awaitTermination(1)
        finally:
            query.stop()
    assert all(p["numInputRows"] == batch for p in done)
    return [p["durationMs"]["triggerExecution"] / 1000 for p in done[warm_up : warm_up + measured]]


def check(spark: SparkSession, way: Way, stream: Path, rows: int) -> None:
    """Every output row is what its key says, and none is missing."""
    found = way(spark.read.schema(STREAM).parquet(str(stream)))
    key = F.col("product_id")
    wrong = found.filter(
        ~(
            F.col("surrogate_key").eqNullSafe(key * 7 + 1)
            & F.col("name").eqNullSafe(F.lpad(F.md5(key.cast("string")), 84, "0"))
            & F.col("price").eqNullSafe(key * 0.25)
            & F.col("supplier_id").eqNullSafe((key % 997).cast("int"))
            & F.col("quantity").eqNullSafe((key % 9).cast("int"))
        )
    )
    assert found.count() == rows
    assert wrong.count() == 0


def measure(spark: SparkSession, folder: Path, rows: int, batch: int, rounds: int) -> dict[str, Any]:
    warm_up, measured = ROUNDS[batch]
    stream = folder / f"stream-{batch}"
    write_stream(stream, rows, batch, warm_up + measured + 2)
    products = ss.master(str(folder / "clustered"), key="product_id")

    def lookup(df: DataFrame) -> DataFrame:
        return ss.lookup_join(df, products, on="product_id", memory=MEMORY)

    def spark_join(df: DataFrame) -> DataFrame:
        return df.join(spark.read.parquet(str(folder / "parquet")), "product_id")

    times: dict[str, list[float]] = {"lookup_join": [], "ceiling": [], "spark": []}
    for _ in range(rounds):
        times["ceiling"] += seconds_a_batch(spark, ceiling, stream, batch, warm_up, measured)
        times["lookup_join"] += seconds_a_batch(spark, lookup, stream, batch, warm_up, measured)
    times["spark"] += seconds_a_batch(spark, spark_join, stream, batch, *SLOW[batch])
    check(spark, lookup, stream, batch * (warm_up + measured + 2))
    shutil.rmtree(stream)
    rate = {way: batch / statistics.median(found) for way, found in times.items()}
    return {
        "master_rows": rows,
        "batch_rows": batch,
        "rows_per_second": rate,
        "share_of_ceiling": rate["lookup_join"] / rate["ceiling"],
        "times_spark": rate["lookup_join"] / rate["spark"],
        "seconds": times,
    }


def warm(folder: Path) -> None:
    """Read every file of the master once: what is measured is a warm page cache."""
    for file in sorted(folder.rglob("*")):
        if file.is_file():
            with open(file, "rb") as opened:
                while opened.read(1 << 24):
                    pass


def show(report: dict[str, Any]) -> None:
    table = Table(title=f"memory={MEMORY}, warm page cache, Zipf 1 scattered; every output row checked")
    for title in ("master rows", "batch", "lookup_join rows/s", "of the ceiling", "x Spark's own join"):
        table.add_column(title, justify="right")
    for row in report["results"]:
        table.add_row(
            f"{row['master_rows']:,}",
            f"{row['batch_rows']:,}",
            f"{row['rows_per_second']['lookup_join']:,.0f}",
            f"{row['share_of_ceiling']:.2f}",
            f"{row['times_spark']:.1f}",
        )
    Console().print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--masters", type=int, nargs="*", default=[2_000_000, 20_000_000])
    parser.add_argument("--batches", type=int, nargs="*", default=list(ROUNDS), choices=list(ROUNDS))
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--keep", type=Path, help="a folder for the masters, kept for the next run")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/spark.json"))
    options = parser.parse_args()
    spark = session("semistream-bench", master=f"local[{TASKS}]", config={"spark.driver.memory": "4g"})
    results = []
    with tempfile.TemporaryDirectory() as temporary:
        root = options.keep or Path(temporary)
        for rows in options.masters:
            folder = root / str(rows)
            if not (folder / "clustered" / "CURRENT").exists():
                write_master(folder, rows)
            warm(folder)
            for batch in options.batches:
                results.append(measure(spark, folder, rows, batch, options.rounds))
                print(json.dumps({k: v for k, v in results[-1].items() if k != "seconds"}), flush=True)
    report = {"machine": machine(), "memory": MEMORY, "io": "cached, warm", "results": results}
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(report, indent=1) + "\n")
    show(report)
    spark.stop()


if __name__ == "__main__":
    main()
