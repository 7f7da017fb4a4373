"""Keys a second, on one core, of each kind of key stream; and their share of a bare uniform draw's rate.

    python -m benchmarks.workloads [--out results.json]

Batches of 65,536 keys out of 8 million, as the data source makes them. Every timed stream's keys are
compared with the law in ten classes of rank, and with the same rows made in one piece. Keys/s are this
machine's and mean nothing elsewhere; compare them within one run. A bare uniform draw is what no generator
by number can be faster than.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from benchmarks.machine import machine
from semistream.workloads.draws import purpose_key, uniform_at
from semistream.workloads.keys import KeyStream, zipf_keys
from semistream.workloads.streams import BATCH_ROWS

KEYS = 8_000_000
BATCHES = 64
REPEATS = 7
CHECKED_ROWS = 1 << 20
FARTHEST = 5.0  # deviations: a fair generator is beyond it once in a million checks

STREAMS = {
    "exact, in frequency order": KeyStream(KEYS, order="frequency"),
    "exact, scattered": KeyStream(KEYS),
    "exact, exponent 0, scattered": KeyStream(KEYS, 0.0),
    "exact, exponent 0.5, scattered": KeyStream(KEYS, 0.5),
    "exact, exponent 1.5, scattered": KeyStream(KEYS, 1.5),
    "the papers' law, scattered": KeyStream(KEYS, law="continuous"),
    "exact, scattered, drift": KeyStream(KEYS, drift_every=100_000),
    "exact, scattered, drift, unmatched, nulls": KeyStream(
        KEYS, drift_every=100_000, unmatched=0.05, nulls=0.01
    ),
}


def check(stream: KeyStream) -> None:
    """The law holds in classes of rank, and a part is that part of the whole."""
    ranks = stream.ranks(0, CHECKED_ROWS)
    edges = np.unique(np.geomspace(1, KEYS + 1, 11).astype(np.int64)) - 1
    drawn = np.histogram(ranks, edges)[0]
    expected = CHECKED_ROWS * np.add.reduceat(stream.rank_shares(), edges[:-1])
    deviations = (drawn - expected) / np.sqrt(expected)
    assert np.abs(deviations[expected > 20]).max() < FARTHEST, deviations
    whole = stream.array(0, 3 * BATCH_ROWS)
    assert stream.array(BATCH_ROWS, BATCH_ROWS).equals(whole.slice(BATCH_ROWS, BATCH_ROWS))


def keys_per_second(make: Callable[[int], object]) -> float:
    """The median of several runs over batches that follow each other."""
    make(0)
    rates = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        for batch in range(BATCHES):
            make(batch * BATCH_ROWS)
        rates.append(BATCHES * BATCH_ROWS / (time.perf_counter() - began))
    return statistics.median(rates)


def uniform() -> float:
    key = purpose_key(0, 0)
    out: NDArray[np.float64] = np.empty(BATCH_ROWS)
    return keys_per_second(lambda first: uniform_at(key, first, out))


def by_table() -> float:
    """`zipf_keys`, which builds its table of all keys anew in each call: one call with all rows."""
    rows = BATCHES * BATCH_ROWS
    began = time.perf_counter()
    zipf_keys(rows, KEYS, 1.0, scatter=1)
    return rows / (time.perf_counter() - began)


def show(report: dict[str, Any]) -> None:
    table = Table(title=f"{KEYS:,} keys, batches of {BATCH_ROWS:,}, one core")
    for title in ("stream", "M keys/s", "of a uniform draw"):
        table.add_column(title, justify="left" if title == "stream" else "right")
    for row in report["streams"]:
        table.add_row(
            row["stream"], f"{row['keys_per_second'] / 1e6:,.1f}", f"{row['share_of_uniform_draw']:.3f}"
        )
    Console().print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/workloads.json"))
    options = parser.parse_args()
    for stream in STREAMS.values():
        check(stream)
    rates = {"a bare uniform draw": uniform()}
    for name, stream in STREAMS.items():
        rates[name] = keys_per_second(lambda first, stream=stream: stream.array(first, BATCH_ROWS))  # type: ignore[misc]
    rates["zipf_keys (a table of all keys)"] = by_table()
    bare = rates["a bare uniform draw"]
    report = {
        "machine": machine(),
        "workload": {"keys": KEYS, "batch_rows": BATCH_ROWS, "batches": BATCHES, "repeats": REPEATS},
        "streams": [
            {"stream": name, "keys_per_second": rate, "share_of_uniform_draw": rate / bare}
            for name, rate in rates.items()
        ],
    }
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(report, indent=1) + "\n")
    show(report)


if __name__ == "__main__":
    main()
