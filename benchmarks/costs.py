"""What every algorithm costs a row on this machine, measured and predicted.

    python -m benchmarks.costs [--rows 400000] [--repeats 5] [--calibration FILE] [--io direct|cached]
                               [--out results.json] [algorithm ...]

First the machine and the store are calibrated (`semistream.tuning`), or a file of `semistream calibrate
--json` is read. Then each algorithm joins Zipf keys (exponent 1, scattered) with a master on disk; after
a warm-up of 25 pending capacities the next 15 are timed, several times in a row. The corrected model
is told sizes and probabilities, and predicts the cost of a row; so does the paper's. Every output row is
compared with its key. INLJ runs on 2,000 rows without warm-up, scans warm up for two capacities.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.progress import track
from rich.table import Table

import semistream as ss
from benchmarks.engine import batches, check, master_table
from benchmarks.machine import machine
from semistream.costs import model
from semistream.costs.accounting import Account, counted
from semistream.costs.base import MEASURED, WARM_UP, Situation
from semistream.stats import Counters
from semistream.stores.clustered_build import build
from semistream.tuning.calibration import Calibration, calibrate, load_calibration
from semistream.tuning.estimates import median_of
from semistream.workloads.keys import key_shares, zipf_keys

PAGE_ROWS = 128
PENDING_SHARE, CACHED_SHARE = 0.02, 0.02  # of the master's rows
MEMORY = "256MiB"
INLJ_ROWS = 2000
SCAN_WARM_UP = 2
SEED = 7


def settings(name: str, rows: int) -> dict[str, Any]:
    """Every queue holds as many stream rows as every other, and every cache as many master rows."""
    found: dict[str, Any] = {"pending_rows": int(PENDING_SHARE * rows)}
    cached = int(CACHED_SHARE * rows)
    if name == "tuned_x_hybridjoin":
        found["pinned_partitions"] = cached // PAGE_ROWS
    elif name in ("ssij", "partitioned_join"):
        found["cache_partitions"] = cached // PAGE_ROWS
    elif "cachejoin" in name or name == "sscj":
        found["cache_rows"] = cached
    return found


def lengths(name: str, pending: int) -> tuple[int, int]:
    """Rows of warm-up, and rows of one repeat."""
    if name == "inlj":
        return 0, INLJ_ROWS
    return (SCAN_WARM_UP if "meshjoin" in name else WARM_UP) * pending, MEASURED * pending


def measure(name: str, path: str, options: argparse.Namespace, calibration: Calibration) -> dict[str, Any]:
    """One algorithm: seconds a row in each repeat, and what both models make of it."""
    own = settings(name, options.rows)
    warm_up, rows = lengths(name, own["pending_rows"])
    keys = zipf_keys(warm_up + options.repeats * rows, options.rows, 1.0, SEED, scatter=SEED)
    master = ss.master(path, key="product_id", io=options.io)
    repeats = []
    with ss.SemiStreamJoin(master, memory=MEMORY, algorithm=name, **own) as join:
        push(join, keys[:warm_up])
        for at in range(warm_up, len(keys), rows):
            before = join.stats.counters if at else Counters()
            seconds = push(join, keys[at : at + rows])
            counts = counted(before, join.stats.counters)
            repeats.append({"seconds_per_row": seconds / rows, "loads_per_row": counts.loads / rows})
        checked(join.drain())
        assert join.stats.rows_out == len(keys), "each key has one master row"
    found = median_of([repeat["seconds_per_row"] for repeat in repeats])
    situation = Situation(
        key_shares=key_shares(options.rows, 1.0, scatter=SEED),
        partition_rows=PAGE_ROWS,
        pending_rows=own["pending_rows"],
        cache_rows=own.get("cache_rows", 0),
        cached_partitions=own.get("pinned_partitions", own.get("cache_partitions", 0)),
        batch_rows=10_000,
        warm_up_rows=warm_up,
        measured_rows=options.repeats * rows,
        master_row_bytes=round(calibration.loads[0].bytes_read / calibration.loads[0].pages / PAGE_ROWS),
    )
    corrected = model(name).corrected(situation, calibration.units, calibration.device)
    printed = model(name).paper(situation, calibration.units, calibration.device)
    account: Account = model(name).ACCOUNT
    return {
        "algorithm": name,
        "phases": account.phases,
        "repeats": repeats,
        "measured": found.value,
        "low": found.low,
        "high": found.high,
        "loads_per_row": float(np.median([repeat["loads_per_row"] for repeat in repeats])),
        "predicted_loads_per_row": corrected.loads_per_row,
        "predicted": corrected.seconds,
        "printed": printed.seconds,
    }


def push(join: ss.SemiStreamJoin, keys: np.ndarray[tuple[int], np.dtype[np.int64]]) -> float:
    """Seconds to take these rows in; the output is looked at afterwards."""
    stream = list(batches(keys))
    kept: list[pa.RecordBatch] = []
    began = time.perf_counter()
    for batch in stream:
        kept.extend(join.push(batch))
    seconds = time.perf_counter() - began
    checked(kept)
    return seconds


def checked(out: Iterable[pa.RecordBatch]) -> None:
    for batch in out:
        check(batch)


def show(report: dict[str, Any]) -> None:
    table = Table(title=f"Microseconds a row, {report['workload']['rows']:,} master rows, io={report['io']}")
    for title in (
        "algorithm",
        "measured",
        "95 %",
        "predicted",
        "off by",
        "as printed",
        "loads/row",
        "predicted",
    ):
        table.add_column(title, justify="left" if title == "algorithm" else "right")
    for row in report["algorithms"]:
        table.add_row(
            row["algorithm"],
            f"{1e6 * row['measured']:.2f}",
            f"{1e6 * row['low']:.2f} to {1e6 * row['high']:.2f}",
            f"{1e6 * row['predicted']:.2f}",
            f"{row['predicted'] / row['measured'] - 1:+.0%}",
            f"{1e6 * row['printed']:.2f}",
            f"{row['loads_per_row']:.4f}",
            f"{row['predicted_loads_per_row']:.4f}",
        )
    Console().print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("algorithms", nargs="*", default=ss.algorithms())
    parser.add_argument("--rows", type=int, default=400_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--calibration", type=Path)
    parser.add_argument("--io", choices=("direct", "cached"), default="direct")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/costs.json"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "products")
        build(master_table(options.rows), path, "product_id", page_rows=PAGE_ROWS).close()
        if options.calibration is None:
            calibration = calibrate(ss.master(path, key="product_id", io=options.io), seed=SEED)
        else:
            calibration = load_calibration(options.calibration)
        found = [measure(name, path, options, calibration) for name in track(options.algorithms, "measuring")]
    report = {
        "machine": machine(),
        "io": options.io,
        "workload": {"rows": options.rows, "page_rows": PAGE_ROWS, "exponent": 1.0, "seed": SEED},
        "calibration": calibration.as_dict(),
        "algorithms": found,
    }
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(report, indent=1) + "\n")
    show(report)


if __name__ == "__main__":
    main()
