"""Keys out of data sets: TPC-H's customers and orders, and weather reports by longitude (S4).

Only keys matter for counts: rows are charged the papers' bytes whatever they hold.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from semistream.errors import ArgumentError
from semistream.experiments.cells import Cell, Order
from semistream.workloads import tpch
from semistream.workloads.weather import STREAM_ROWS, Reports

Int64s = NDArray[np.int64]
BATCH_ROWS = 1 << 16
TPCH_MASTER, WEATHER_MASTER = 15_000_000, 20_000_000  # rows at full size: TPC-H's scale is 100 then


def found_keys(cell: Cell) -> tuple[Int64s, Int64s]:
    """The master's keys in its order, and the stream's."""
    if cell.workload == "weather":
        return _weather(cell.master_rows, cell.seed)
    if cell.workload in ("tpch", "tpch-zipf"):
        exponent = cell.exponent if cell.workload == "tpch-zipf" else None
        return _tpch(cell.master_rows, exponent, cell.order == "frequency", cell.seed)
    raise ArgumentError(f"the keys of {cell.workload} are in no data set")


@cache
def _tpch(customers: int, exponent: float | None, by_frequency: bool, seed: int) -> tuple[Int64s, Int64s]:
    scale = customers / tpch.CUSTOMERS
    made = tpch.uniform(scale=scale)
    if exponent is not None:
        order: Order = "frequency" if by_frequency else "scattered"
        made = tpch.skewed(scale=scale, exponent=exponent, key_order=order, seed=seed)
    keys = [batch.column("o_custkey").to_numpy() for batch in made.stream.batches(BATCH_ROWS)]
    return np.arange(1, customers + 1), np.concatenate(keys)


@cache
def _weather(rows: int, seed: int) -> tuple[Int64s, Int64s]:
    arrivals = round(rows / WEATHER_MASTER * STREAM_ROWS)
    reports = Reports(rows, arrivals, seed)
    made = []
    for side, count in ((reports.master, rows), (reports.stream, arrivals)):
        starts = range(0, count, BATCH_ROWS)
        parts = [side(start, min(BATCH_ROWS, count - start)).column("longitude") for start in starts]
        made.append(np.concatenate([part.to_numpy() for part in parts]).astype(np.int64))
    return made[0], made[1]
