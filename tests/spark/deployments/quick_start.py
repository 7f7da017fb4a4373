"""A stream over a master to a sink, as a user of the installed package has it. Nothing of the tests is here.

Arguments: the folder that all machines share, and one for the executors.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

import semistream as ss
from semistream.spark.session import session


def place() -> dict[str, Any]:
    """Where this process is, and what it runs."""
    from semistream.keys.kernels import copy_rows  # by its name: a worker has its own

    return {
        "executable": sys.executable,
        "package": ss.__file__,
        "path": [os.path.abspath(entry) for entry in sys.path],
        "folder": os.getcwd(),
        "environment": dict(os.environ),
        "kernels": copy_rows.stats.cache_path,  # type: ignore[attr-defined]
    }


def places(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for _ in batches:
        pass
    yield pa.record_batch({"place": [json.dumps(place())]})


def main(shared: Path, executors: Path) -> None:
    elsewhere = {"HOME": executors / "home", "TMPDIR": executors / "temporary"}
    with session(
        "quick start",
        master="local-cluster[2,1,1024]",
        config={f"spark.executorEnv.{name}": str(folder) for name, folder in elsewhere.items()},
    ) as spark:
        products = ss.master(shared / "products", key="product_id")
        orders = spark.readStream.schema("product_id long, order_id long").parquet(str(shared / "orders"))
        enriched = ss.lookup_join(orders, products, on="product_id", how="left", memory="64MiB")
        query = (
            enriched.writeStream.format("parquet")
            .option("path", str(shared / "enriched"))
            .option("checkpointLocation", str(shared / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        workers = spark.range(0, 8, 1, 8).mapInArrow(places, "place string").collect()
    told = {"driver": place(), "workers": [json.loads(row["place"]) for row in workers]}
    (shared / "told.json").write_text(json.dumps(told))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
