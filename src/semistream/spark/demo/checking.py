"""Is the warehouse right? Every row of it, not a sample.

The stream is made once more from its options, and each row's columns from its key, here with NumPy and
without Spark. Memory: about 20 bytes a sale, and one file of the warehouse at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from semistream.spark.demo.sales import Scale, Shop, stream_of
from semistream.workloads.streams import Stream

Int64s = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class _Sales:
    """The stream as it was: a sale's number is its place."""

    product: Int64s
    moment: Int64s  # microseconds
    products: int

    @staticmethod
    def made_again(stream: Stream, scale: Scale) -> _Sales:
        product, moment = np.empty(scale.sales, np.int64), np.empty(scale.sales, np.int64)
        for batch in stream.batches(stream.begin(), scale.sales):
            rows = batch["sequence"].to_numpy()
            product[rows] = batch["key"].to_numpy()
            moment[rows] = batch["event_time"].cast(pa.int64()).to_numpy()
        return _Sales(product, moment, scale.products)

    def expected(self, sale: Int64s) -> dict[str, pa.Array]:
        """What the warehouse must have of these sales."""
        key, quantity = self.product[sale], 1 + sale % 7
        price = key % 5000 / 100 + 0.99
        return {
            "surrogate_key": pa.array(key * 13 + 5),
            "supplier_id": pa.array(key % 1009, pa.int32()),
            "quantity": pa.array(quantity, pa.int32()),
            "date": pa.array(self.moment[sale]).cast(pa.timestamp("us", tz="UTC")),
            "total": pa.array(quantity * price),
        }

    def rejected(self, sale: Int64s) -> dict[str, pa.Array]:
        """And the quarantine, of those whose product nobody knows."""
        return {
            "product_id": pa.array(self.product[sale]),
            "quarantine_reason": pa.array(["products: unmatched"] * len(sale), pa.string()),
        }


def check_warehouse(shop: Shop) -> int:
    """How many rows were compared; an `AssertionError` unless each sale is there once, and right."""
    scale = shop.scale
    sales = _Sales.made_again(stream_of(shop), scale)
    seen = np.zeros(scale.sales, np.int64)
    for table in _tables(shop.warehouse):
        sale = _counted(table, seen)
        _check_side(sales.product[sale] < sales.products, "the warehouse", "whose product is unknown")
        _check_equal("the warehouse", table, sales.expected(sale))
    for table in _tables(shop.quarantine):
        sale = _counted(table, seen)
        _check_side(sales.product[sale] >= sales.products, "the quarantine", "whose product is known")
        _check_equal("the quarantine", table, sales.rejected(sale))
    missing, twice = int((seen == 0).sum()), int((seen > 1).sum())
    if missing or twice:
        raise AssertionError(f"of {scale.sales:,} sales {missing:,} are missing, and {twice:,} there twice")
    return scale.sales


def some_rows(shop: Shop, count: int) -> list[dict[str, Any]]:
    """The first sales in one of the warehouse's files."""
    first = next(_tables(shop.warehouse)).sort_by("sale_id").slice(0, count)
    rows: list[dict[str, Any]] = first.to_pylist()
    return rows


def _tables(folder: Path) -> Iterator[pa.Table]:
    for file in sorted(folder.rglob("*.parquet")):
        yield pq.ParquetFile(file).read()


def _counted(table: pa.Table, seen: Int64s) -> Int64s:
    sale: Int64s = table["sale_id"].to_numpy()
    if len(sale) and not (sale.min() >= 0 and sale.max() < len(seen)):
        raise AssertionError(f"a sale outside of 0 to {len(seen) - 1:,} came out")
    np.add.at(seen, sale, 1)
    return sale


def _check_side(right: NDArray[np.bool_], where: str, kind: str) -> None:
    if not right.all():
        raise AssertionError(f"{where} has {int((~right).sum()):,} sales {kind}")


def _check_equal(where: str, table: pa.Table, expected: dict[str, pa.Array]) -> None:
    for name, values in expected.items():
        found = table[name].combine_chunks().cast(values.type)
        if not found.equals(values):
            raise AssertionError(f"{where}: column {name!r} isn't what the sales' keys say")
