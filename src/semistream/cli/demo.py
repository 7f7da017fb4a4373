"""`semistream demo`: sales meet products, from a master on disk that is larger than the memory given.

The inventory example of paper S2 (Fig. 1): each sale gets its product's surrogate key and supplier,
and a total from its price. The master's columns are functions of its key, so every row that comes
out is checked.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

import semistream as ss
from semistream.budget import format_bytes
from semistream.cli.output import Output, Scalar
from semistream.stats import Stats
from semistream.stores.clustered_build import ClusteredWriter
from semistream.workloads.keys import zipf_keys

PRODUCTS = 2_000_000
SALES = 3_000_000
BATCH = 50_000
CHUNK = 100_000
MEMORY = "64MiB"
UNKNOWN_EVERY = 200  # one sale in so many names a product that the master doesn't have
SEED = 20

SCHEMA = pa.schema(
    {
        "product_id": pa.int64(),
        "surrogate_key": pa.int64(),
        "product_name": pa.string(),
        "sale_price": pa.float64(),
        "supplier_id": pa.int32(),
    }
)

Int64s = NDArray[np.int64]


def run(output: Output) -> None:
    """Write the master, join the stream, say what happened."""
    with tempfile.TemporaryDirectory(prefix="semistream-demo-") as folder:
        path = Path(folder) / "products"
        output.note(f"Writing a master of {PRODUCTS:,} products to disk, sorted by product_id ...")
        size = write_products(path)
        output.note(f"  {format_bytes(size)}; the join gets {MEMORY}.")
        output.note(f"Joining {SALES:,} sales with it, keys by Zipf's law, {BATCH:,} rows a batch ...")
        began = time.perf_counter()
        stats, sample = join_sales(path, output)
        seconds = time.perf_counter() - began
    output.facts(summary(stats, size, seconds))
    for row in sample.to_pylist():
        output.note(f"  {row}")
    output.note("Every row was compared with what its key says it must be: all are right.")
    output.note("Next: `semistream algorithms` lists the family; README.md shows the six lines of code.")


def write_products(path: Path) -> int:
    with ClusteredWriter(path, SCHEMA, "product_id") as writer:
        for start in range(0, PRODUCTS, CHUNK):
            writer.write(products_of(np.arange(start, start + CHUNK)))
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())


def products_of(keys: Int64s) -> pa.RecordBatch:
    """The master's rows of these keys."""
    names = pc.utf8_lpad(pa.array(keys).cast(pa.string()), 72, "·")
    columns = [pa.array(keys), pa.array(keys * 13 + 5), names, pa.array(price_of(keys)), suppliers_of(keys)]
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


def price_of(keys: Int64s) -> NDArray[np.float64]:
    return (keys % 5000) / 100 + 0.99


def suppliers_of(keys: Int64s) -> pa.Array:
    return pa.array((keys % 1009).astype(np.int32))


def sales() -> Iterator[pa.RecordBatch]:
    keys = zipf_keys(SALES, PRODUCTS, 1.0, SEED, scatter=SEED)
    keys[::UNKNOWN_EVERY] += PRODUCTS
    for start in range(0, SALES, BATCH):
        part = keys[start : start + BATCH]
        yield pa.record_batch({"product_id": part, "quantity": (part % 7 + 1).astype(np.int32)})


def join_sales(path: Path, output: Output) -> tuple[Stats, pa.Table]:
    """Push every batch, check every answer; the first few rows come back as a sample."""
    columns = ["surrogate_key", "supplier_id", "sale_price"]
    sample: list[pa.Table] = []
    products = ss.master(str(path), key="product_id")
    with ss.SemiStreamJoin(products, how="left", columns=columns, memory=MEMORY) as join:
        began = time.perf_counter()
        for number, batch in enumerate(sales(), start=1):
            for answers in join.push(batch):
                sample.append(with_total(answers).slice(0, 1))
            if number % 10 == 0:
                output.note(progress(join.stats, time.perf_counter() - began))
        for answers in join.drain():
            sample.append(with_total(answers).slice(0, 1))
        stats = join.stats
    return stats, pa.concat_tables(sample[::40][:5])


def with_total(answers: pa.RecordBatch) -> pa.Table:
    """Check answers against their keys, and derive the warehouse's total."""
    keys = answers.column("product_id").to_numpy()
    known = keys < PRODUCTS
    if not np.array_equal(answers.column("surrogate_key").is_valid().to_numpy(zero_copy_only=False), known):
        raise AssertionError("a sale has no product although the master has it, or the other way round")
    found = answers.filter(pa.array(known))
    expected = products_of(keys[known])
    for name in ("surrogate_key", "supplier_id", "sale_price"):
        if not found.column(name).equals(expected.column(name)):
            raise AssertionError(f"column {name} isn't that of the sale's product")
    table = pa.Table.from_batches([answers])
    return table.append_column("total", pc.multiply(table["quantity"], table["sale_price"]))


def progress(stats: Stats, seconds: float) -> str:
    return (
        f"  {stats.rows_in:>9,} sales  {stats.rows_in / seconds:>9,.0f} rows/s  "
        f"hits {stats.cache_hits / max(1, stats.rows_in):.0%}  loads {stats.loads:,}  "
        f"waiting {stats.pending_rows:,}  held {format_bytes(stats.held_total)}"
    )


def summary(stats: Stats, size: int, seconds: float) -> dict[str, Scalar]:
    by_row = size / PRODUCTS
    return {
        "sales": stats.rows_in,
        "rows out": stats.rows_out,
        "without a product": stats.unmatched,
        "rows/s": round(stats.rows_in / seconds),
        "answered from the cache": f"{stats.cache_hits / stats.rows_in:.1%}",
        "page loads": stats.loads,
        "sales answered per load": round(stats.rows_in / max(1, stats.loads), 1),
        "read from the master": format_bytes(stats.bytes_read),
        "a full scan per batch would read": format_bytes(by_row * PRODUCTS * (SALES // BATCH)),
        "memory given": format_bytes(stats.memory_limit),
        "memory held at most": format_bytes(stats.peak_bytes),
    }
