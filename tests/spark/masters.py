"""A master on disk, and the same rows as a DataFrame for Spark's own join."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, Row, SparkSession

import semistream as ss
from semistream.stores.clustered_build import build

KEYS = 300


def rows(duplicates: int = 3) -> list[dict[str, Any]]:
    """Every third key is missing, some stand several times, and every payload type Spark has is there."""
    made = []
    for key in (k for k in range(KEYS) if k % 3):
        for copy in range(duplicates if key % 10 == 1 else 1):
            made.append(
                {
                    "id": key,
                    "name": None if key % 7 == 0 else f"name {key}",
                    "copy": copy,
                    "price": Decimal(key) / 4,
                    "seen": dt.datetime(2024, 1, 1, tzinfo=dt.UTC) + dt.timedelta(microseconds=key),
                    "day": dt.date(2024, 1, 1) + dt.timedelta(days=key),
                    "raw": bytes([key % 256]) * (key % 5),
                    "tags": None if key % 11 == 0 else [f"t{key}", None],
                    "place": {"x": float(key), "inner": [key, None]},
                }
            )
    return made


SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("name", pa.string()),
        ("copy", pa.int32()),
        ("price", pa.decimal128(12, 2)),
        ("seen", pa.timestamp("us", tz="UTC")),
        ("day", pa.date32()),
        ("raw", pa.binary()),
        ("tags", pa.list_(pa.string())),
        ("place", pa.struct([("x", pa.float64()), ("inner", pa.list_(pa.int64()))])),
    ]
)


def table(duplicates: int = 3) -> pa.Table:
    return pa.Table.from_pylist(rows(duplicates), schema=SCHEMA)


def on_disk(folder: Path, master: pa.Table) -> ss.Master:
    build(master, folder, "id", page_rows=8).close()
    return ss.master(str(folder), key="id")


def plain(found: list[Row]) -> list[tuple[object, ...]]:
    """Rows in an order of their own, to be compared as a multiset."""
    return sorted((tuple(row) for row in found), key=repr)


def frame(spark: SparkSession, master: pa.Table) -> DataFrame:
    return spark.createDataFrame(master)
