"""A small world for pipelines: sales of a web shop and of a shop, products under each one's keys, suppliers.

The oracle is DuckDB over the same files.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from semistream.spark.pipeline import Summary, build_pipeline, read_pipeline, run_pipeline
from semistream.stores.clustered_build import build

PRODUCTS = 400
SALES = 600  # of each source, before duplicates
FILES = 2

PIPELINE = """
[pipeline]
name = "sales"
checkpoint = "state/checkpoint"
trigger = "available_now"
memory = "8MiB"

[[source]]
name = "web"
format = "json"
path = "web"
schema = "sale long, product long, at timestamp, quantity int"
options = { maxFilesPerTrigger = 1 }
[source.columns]
sale_id = "sale"
product = "product"
sold_at = "at"
quantity = "quantity"

[[source]]
name = "shop"
format = "csv"
path = "shop"
schema = "ticket long, code string, at timestamp, pieces int"
options = { maxFilesPerTrigger = 1 }
[source.columns]
sale_id = "ticket + 1000000"
code = "code"
sold_at = "at"
quantity = "pieces"

[dedupe]
columns = ["sale_id"]
watermark = { column = "sold_at", delay = "1 hour" }

[[lookup]]
name = "web products"
source = "web"
master = "masters/web"
key = "number"
on = "product"
replaces = "product"
unmatched = "quarantine"

[[lookup]]
name = "shop products"
source = "shop"
master = "masters/shop"
key = "code"
replaces = "code"
unmatched = "drop"

[[lookup]]
name = "suppliers"
master = "masters/suppliers"
key = "supplier_id"

[columns]
total = "cast(quantity * price as double)"

[sink]
format = "parquet"
path = "warehouse/sales"

[quarantine]
path = "state/quarantine"
"""

SALES_SQL = """
WITH sales AS (
  SELECT DISTINCT * FROM (
    SELECT sale AS sale_id, product AS number, NULL AS code, "at"::timestamptz AS sold_at,
      quantity::int AS quantity
    FROM web
    UNION ALL
    SELECT ticket + 1000000, NULL, code, "at"::timestamptz, pieces::int FROM shop)),
products AS (
  SELECT s.*, coalesce(w.product_key, p.product_key) AS product_key, coalesce(w.price, p.price) AS price,
    coalesce(w.supplier_id, p.supplier_id) AS supplier_id
  FROM sales s LEFT JOIN web_products w USING (number) LEFT JOIN shop_products p ON s.code = p.code)
"""
WAREHOUSE_SQL = (
    SALES_SQL
    + """SELECT sale_id, sold_at, quantity, product_key, price, supplier_id, supplier_name,
  quantity * price AS total FROM products LEFT JOIN suppliers USING (supplier_id)
WHERE product_key IS NOT NULL ORDER BY ALL"""
)
QUARANTINE_SQL = (
    SALES_SQL
    + """SELECT sale_id, number AS product, sold_at, quantity, 'web' AS quarantine_source,
  'web products: ' || if(number IS NULL, 'null_key', 'unmatched') AS quarantine_reason
FROM products WHERE product_key IS NULL AND sale_id < 1000000 ORDER BY ALL"""
)


class World:
    """A folder with sources, masters and a pipeline file."""

    def __init__(self, folder: Path, sales: int = SALES, files: int = FILES) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)
        self.file = folder / "pipeline.toml"
        self.write(PIPELINE)
        self._tables = masters()
        for name, (key, table) in self._tables.items():
            build(table, folder / "masters" / name, key, page_rows=16).close()
        self.web = [web_sale(number) for number in range(sales)]
        self.shop = [shop_sale(number) for number in range(sales)]
        for part in range(files):
            self.write_part(part, files)

    def write_part(self, part: int, files: int) -> None:
        """A file of each source."""
        write_json(self.folder / "web" / f"{part}.json", twice(self.web[part::files]))
        write_csv(self.folder / "shop" / f"{part}.csv", twice(self.shop[part::files]))

    def write(self, text: str) -> None:
        self.file.write_text(text)

    def edit(self, *edits: tuple[str, str]) -> None:
        text = self.file.read_text()
        for old, new in edits:
            assert old in text, old
            text = text.replace(old, new, 1)
        self.write(text)

    def run(self, spark: SparkSession) -> Summary:
        return run_pipeline(spark, build_pipeline(spark, read_pipeline(self.file)), lambda record: None)

    def parquet(self, path: str) -> str:
        """For DuckDB's FROM."""
        return f"read_parquet('{self.folder / path}/*/*.parquet', hive_partitioning = false)"

    def ask(self, sql: str) -> list[tuple[Any, ...]]:
        """DuckDB's answer over the sources and masters, each under its name."""
        with duckdb.connect() as connection:
            connection.execute("SET TimeZone = 'UTC'")
            sources = {"web": pa.Table.from_pylist(self.web), "shop": pa.Table.from_pylist(self.shop)}
            named = {"web_products": "web", "shop_products": "shop", "suppliers": "suppliers"}
            for name, table in sources.items():
                connection.register(name, table)
            for name, called in named.items():
                connection.register(name, self._tables[called][1])
            return connection.execute(sql).fetchall()

    def warehouse(self) -> list[tuple[Any, ...]]:
        return self.ask(f"SELECT * FROM {self.parquet('warehouse/sales')} ORDER BY ALL")


def masters() -> dict[str, tuple[str, pa.Table]]:
    """Every seventh product and every fifth supplier are unknown."""
    products = [number for number in range(PRODUCTS) if number % 7]
    rest = {
        "product_key": [number * 10 for number in products],
        "price": [number / 4 for number in products],
        "supplier_id": [number % 20 for number in products],
    }
    suppliers = [number for number in range(20) if number % 5]
    names = {"supplier_id": suppliers, "supplier_name": [f"supplier {number}" for number in suppliers]}
    return {
        "web": ("number", pa.table({"number": products, **rest})),
        "shop": ("code", pa.table({"code": [f"c{number}" for number in products], **rest})),
        "suppliers": ("supplier_id", pa.table(names)),
    }


def web_sale(number: int) -> dict[str, Any]:
    """Some products are null."""
    product = None if number % 41 == 0 else number * 37 % PRODUCTS
    return {"sale": number, "product": product, "at": moment(number), "quantity": number % 5 + 1}


def shop_sale(number: int) -> dict[str, Any]:
    return {
        "ticket": number,
        "code": f"c{number * 53 % PRODUCTS}",
        "at": moment(number),
        "pieces": number % 3 + 1,
    }


def moment(number: int) -> str:
    """A sale every second, so that no row is later than the watermark allows."""
    return f"2024-01-01T12:{number // 60:02d}:{number % 60:02d}.000000Z"


def twice(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Every third row is there twice."""
    return rows + rows[::3]


def write_json(path: Path, rows: list[dict[str, Any]], raw: tuple[str, ...] = ()) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in [*(json.dumps(row) for row in rows), *raw]))


def write_csv(path: Path, rows: list[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)]
    path.write_text("".join(f"{line}\n" for line in lines))


def rows_of(path: Path) -> list[Mapping[str, Any]]:
    """All rows of a Parquet folder, as Arrow's own reader sees it."""
    found: list[Mapping[str, Any]] = pq.read_table(path).to_pylist()
    return found
