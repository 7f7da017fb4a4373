"""Every algorithm on one workload: rows/s, loads per row, bytes per row; and the all-hit path.

    python -m benchmarks.engine [--io direct|cached] [--out results.json] [algorithm ...]

A master on disk several times larger than the memory, keys by Zipf's law (exponent 1) scattered over
it, 25 pending capacities of warm-up, then as many rows measured. Every output row of the measured part
is compared with the oracle (its payload is a function of its key). Rows/s are this machine's and mean
nothing elsewhere; compare them within one run. INLJ runs on 20,000 rows without warm-up.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track
from rich.table import Table

import semistream as ss
from benchmarks.machine import machine
from semistream.stats import Stats
from semistream.stores.clustered_build import build
from semistream.workloads.keys import zipf_keys

MASTER_ROWS = 200_000
PAGE_ROWS = 128
MEMORY = "4MiB"
BATCH = 10_000
WARM_UP = 25  # pending capacities
INLJ_ROWS = 20_000
TAKE_REPEATS = 15
SEED = 7

Int64s = NDArray[np.int64]


def master_table(rows: int) -> pa.Table:
    """120 bytes a row, each a function of the key."""
    key = np.arange(rows, dtype=np.int64)
    return pa.table(
        {
            "product_id": key,
            "surrogate_key": key * 7 + 1,
            "name": names_of(key),
            "price": key * 0.25,
            "supplier_id": (key % 997).astype(np.int32),
        }
    )


def names_of(keys: Int64s) -> pa.Array:
    return pc.utf8_lpad(pa.array(keys).cast(pa.string()), 84, ".")


def check(out: pa.RecordBatch) -> int:
    """Compare an output batch with what its keys say it must be."""
    keys = out.column("product_id").to_numpy()
    assert np.array_equal(out.column("surrogate_key").to_numpy(), keys * 7 + 1)
    assert np.array_equal(out.column("price").to_numpy(), keys * 0.25)
    assert np.array_equal(out.column("supplier_id").to_numpy(), keys % 997)
    sample = slice(0, 200)
    assert out.column("name").slice(0, 200).equals(names_of(keys[sample]))
    return int(out.num_rows)


def batches(keys: Int64s) -> Iterator[pa.RecordBatch]:
    for start in range(0, len(keys), BATCH):
        part = keys[start : start + BATCH]
        yield pa.record_batch({"product_id": part, "quantity": (part % 9).astype(np.int32)})


def measure(name: str, path: str, io: str) -> dict[str, Any]:
    """One algorithm: what it did between the end of warm-up and the end of the stream."""
    with ss.SemiStreamJoin(ss.master(path, key="product_id", io=io), memory=MEMORY, algorithm=name) as join:
        for batch in batches(zipf_keys(BATCH, MASTER_ROWS, 1.0, SEED, scatter=SEED)):
            drop(join.push(batch))
        capacity = join.stats.pending_capacity
        rows = INLJ_ROWS if name == "inlj" else max(WARM_UP * capacity, 100_000)
        if name != "inlj":
            for batch in batches(zipf_keys(rows, MASTER_ROWS, 1.0, SEED + 1, scatter=SEED)):
                drop(join.push(batch))
        stream = list(batches(zipf_keys(rows, MASTER_ROWS, 1.0, SEED + 2, scatter=SEED)))
        before = join.stats
        kept: list[pa.RecordBatch] = []
        began = time.perf_counter()
        for batch in stream:
            kept.extend(join.push(batch))
        seconds = time.perf_counter() - began
        after = join.stats
        for batch in kept:
            check(batch)
        assert after.peak_bytes <= after.memory_limit
        drop(join.drain())
        # Every key has one master row: each row pushed comes out exactly once.
        assert join.stats.rows_out == join.stats.rows_in, join.stats
    return {
        "algorithm": name,
        "rows": rows,
        "rows_per_second": rows / seconds,
        **per_row(before, after, rows),
        "pending_capacity": capacity,
        "peak_bytes": after.peak_bytes,
        "paper_bytes": after.paper_bytes,
    }


def per_row(before: Stats, after: Stats, rows: int) -> dict[str, float]:
    return {
        "loads_per_row": (after.loads - before.loads) / rows,
        "bytes_per_row": (after.bytes_read - before.bytes_read) / rows,
        "reads_per_row": (after.reads - before.reads) / rows,
        "hit_ratio": (after.cache_hits - before.cache_hits) / max(1, after.rows_in - before.rows_in),
    }


def drop(out: Iterator[pa.RecordBatch]) -> None:
    for _ in out:
        pass


def all_hits(table: pa.Table) -> dict[str, float]:
    """The front holds everything: the join against a bare `take` of the same columns and rows.

    Both put out one batch: rows of a smaller one meet fewer cache lines again, in a `take` as well.
    """
    random = np.random.default_rng(SEED)
    rows = table.num_rows
    whole = table.combine_chunks().to_batches()[0]
    payload = [name for name in table.column_names if name != "product_id"]
    settings = {"promote_above": 0.5, "cache_rows": rows, "output_rows": rows}
    join = ss.SemiStreamJoin(
        ss.master(table, key="product_id"), memory="1GiB", algorithm="cachejoin", **settings
    )
    for _ in range(3):
        for batch in batches(np.arange(rows)):
            drop(join.push(batch))
        drop(join.drain())
    keys = random.integers(0, rows, 200_000)
    stream = pa.record_batch({"product_id": keys, "quantity": (keys % 9).astype(np.int32)})
    joined, taken = [], []
    for _ in range(TAKE_REPEATS):
        before = join.stats
        joined.append(seconds_of(lambda: drop(join.push(stream))))
        after = join.stats
        assert after.cache_hits - before.cache_hits == len(keys), "the front doesn't hold everything"
        taken.append(seconds_of(lambda: [whole.column(name).take(pa.array(keys)) for name in payload]))
    assert sum(check(batch) for batch in join.push(stream)) == len(keys)
    join.close()
    ratios = [take / push for take, push in zip(taken, joined, strict=True)]
    return {"share_of_bare_take": statistics.median(ratios), "least": min(ratios), "most": max(ratios)}


def seconds_of(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def show(report: dict[str, Any]) -> None:
    slowest = min(row["rows_per_second"] for row in report["algorithms"])
    table = Table(title=f"{MASTER_ROWS:,} master rows, memory={MEMORY}, io={report['io']}, Zipf 1 scattered")
    for title in ("algorithm", "rows/s", "x slowest", "loads/row", "bytes/row", "hits", "output"):
        table.add_column(title, justify="left" if title in ("algorithm", "output") else "right")
    for row in report["algorithms"]:
        table.add_row(
            row["algorithm"],
            f"{row['rows_per_second']:,.0f}",
            f"{row['rows_per_second'] / slowest:.1f}",
            f"{row['loads_per_row']:.4f}",
            f"{row['bytes_per_row']:,.0f}",
            f"{row['hit_ratio']:.2f}",
            "equals the oracle's",
        )
    console = Console()
    console.print(table)
    console.print(
        f"all-hit path: {report['all_hits']['share_of_bare_take']:.2f} of a bare pyarrow take "
        f"({report['all_hits']['least']:.2f} to {report['all_hits']['most']:.2f})"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("algorithms", nargs="*", default=ss.algorithms())
    parser.add_argument("--io", choices=("direct", "cached"), default="direct")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/engine.json"))
    options = parser.parse_args()
    table = master_table(MASTER_ROWS)
    hits = all_hits(table)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "products")
        build(table, path, "product_id", page_rows=PAGE_ROWS).close()
        rows = [measure(name, path, options.io) for name in track(options.algorithms, "measuring")]
    report = {
        "machine": machine(),
        "io": options.io,
        "workload": {"master_rows": MASTER_ROWS, "page_rows": PAGE_ROWS, "memory": MEMORY, "seed": SEED},
        "algorithms": rows,
        "all_hits": hits,
    }
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(report, indent=1) + "\n")
    show(report)


if __name__ == "__main__":
    main()
