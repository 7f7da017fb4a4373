"""TPC-H: Orders with Customer, made by tpchgen-cli at any scale factor; plain, or with Zipf's law put in.

150,000 customers and 1,500,000 orders for each unit of scale. The plain data has hardly any skew: customers
whose number 3 divides have no order, those of remainder 1 twice as many as those of remainder 2
(dbgen draws evenly, and gives what falls to a customer without orders to the next one), and that is all.
So `skewed` replaces each order's customer, and nothing else, by one drawn by Zipf's law out of all of them.

A table is made part by part, each in a temporary file that is removed once it is read: a scale of 100
needs no more room than one of 2.
"""

from __future__ import annotations

import math
import subprocess
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pyarrow as pa

from semistream.errors import ArgumentError, StoreError
from semistream.workloads.base import Side, Workload
from semistream.workloads.keys import KeyStream, Order
from semistream.workloads.packages import program
from semistream.workloads.parquet import read

PROGRAM = "tpchgen-cli"
CUSTOMERS, ORDERS = 150_000, 1_500_000  # for each unit of scale
PART_ROWS = 3_000_000
LEAST, MOST = 0.001, 100_000  # scales

CUSTOMER = pa.schema(
    [
        pa.field("c_custkey", pa.int64(), nullable=False),
        pa.field("c_name", pa.string(), nullable=False),
        pa.field("c_address", pa.string(), nullable=False),
        pa.field("c_nationkey", pa.int64(), nullable=False),
        pa.field("c_phone", pa.string(), nullable=False),
        pa.field("c_acctbal", pa.decimal128(15, 2), nullable=False),
        pa.field("c_mktsegment", pa.string(), nullable=False),
        pa.field("c_comment", pa.string(), nullable=False),
    ]
)
ORDER = pa.schema(
    [
        pa.field("o_orderkey", pa.int64(), nullable=False),
        pa.field("o_custkey", pa.int64(), nullable=False),
        pa.field("o_orderstatus", pa.string(), nullable=False),
        pa.field("o_totalprice", pa.decimal128(15, 2), nullable=False),
        pa.field("o_orderdate", pa.date32(), nullable=False),
        pa.field("o_orderpriority", pa.string(), nullable=False),
        pa.field("o_clerk", pa.string(), nullable=False),
        pa.field("o_shippriority", pa.int32(), nullable=False),
        pa.field("o_comment", pa.string(), nullable=False),
    ]
)


def uniform(*, scale: float = 1.0, stream_rows: int | None = None) -> Workload:
    """TPC-H orders with their customers, who order almost evenly."""
    return _orders_with_customers(scale, _table("orders", scale), stream_rows)


def skewed(
    *,
    scale: float = 1.0,
    exponent: float = 1.0,
    key_order: Order = "scattered",
    seed: int = 0,
    stream_rows: int | None = None,
) -> Workload:
    """TPC-H orders with their customers, who order by Zipf's law here.

    exponent, key_order, seed: see `KeyStream`; its key k is customer k + 1.
    """
    keys = KeyStream(_rows(CUSTOMERS, scale), exponent, order=key_order, seed=seed)
    orders = _table("orders", scale)
    remapped = Side(ORDER, lambda batch_rows: _with_keys(orders.batches(batch_rows), keys))
    return _orders_with_customers(scale, remapped, stream_rows)


def _orders_with_customers(scale: float, orders: Side, stream_rows: int | None) -> Workload:
    return Workload(
        _table("customer", scale),
        orders.first(stream_rows),
        {"o_custkey": "c_custkey"},
        in_key_order=True,
    )


def _with_keys(orders: Iterator[pa.RecordBatch], keys: KeyStream) -> Iterator[pa.RecordBatch]:
    row = 0
    at = ORDER.get_field_index("o_custkey")
    for batch in orders:
        drawn = pa.array(keys.values(row, batch.num_rows) + 1)
        yield batch.set_column(at, ORDER.field(at), drawn)
        row += batch.num_rows


def _table(table: str, scale: float) -> Side:
    schema, rows = (CUSTOMER, CUSTOMERS) if table == "customer" else (ORDER, ORDERS)
    parts = math.ceil(_rows(rows, scale) / PART_ROWS)
    return Side(schema, partial(_parts, program(PROGRAM), table, schema, scale, parts))


def _rows(for_one: int, scale: float) -> int:
    if not LEAST <= scale <= MOST:
        raise ArgumentError(f"scale={scale} is no scale factor of TPC-H: give {LEAST} to {MOST:,}")
    return int(for_one * scale)


def _parts(
    made_by: Path, table: str, schema: pa.Schema, scale: float, parts: int, batch_rows: int
) -> Iterator[pa.RecordBatch]:
    for part in range(1, parts + 1):
        with tempfile.TemporaryDirectory(prefix="semistream-tpch-") as folder:
            _make(made_by, table, scale, parts, part, folder)
            yield from read(Path(folder, table, f"{table}.{part}.parquet"), schema, batch_rows)


def _make(made_by: Path, table: str, scale: float, parts: int, part: int, folder: str) -> None:
    split = ["--parts", str(parts), "--part", str(part)]
    made = ["--scale-factor", str(scale), "--tables", table, *split, "--output-dir", folder, "--quiet"]
    done = subprocess.run([made_by, "parquet", *made], capture_output=True, text=True, check=False)
    if done.returncode:
        said = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise StoreError(f"{PROGRAM} couldn't make part {part} of {table} at scale {scale}: {said[0]}")
