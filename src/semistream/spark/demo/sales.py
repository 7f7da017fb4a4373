"""The world of the demo: products on disk, sales that come in bursts, and the pipeline between them.

Each column of a product is a function of its key, so that every row of the warehouse can be checked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from semistream.spark.index import IndexReport, build_index
from semistream.spark.pipeline import read_pipeline
from semistream.spark.pipeline.secrets import resolved_options
from semistream.spark.source.options import SourceOptions
from semistream.workloads.streams import Stream

MEMORY = "64MiB"
LOOKED_UP = ("surrogate_key", "supplier_id", "sale_price")
TASKS = 2

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Scale:
    """How much of everything there is."""

    products: int
    sales: int
    per_second: int  # sales, on average
    compared_rows: int  # of each batch that both joins get
    lookup_batches: tuple[int, int]  # of those: to warm up, and to measure
    spark_batches: tuple[int, int]  # each takes its time


@dataclass(frozen=True, slots=True)
class Shop:
    """A folder with a demo in it."""

    folder: Path
    scale: Scale

    @property
    def file(self) -> Path:
        """The pipeline file; everything that it names lies beside it."""
        return self.folder / "pipeline.toml"

    @property
    def products(self) -> Path:
        """The master: a clustered copy."""
        return self.folder / "products"

    @property
    def parquet(self) -> Path:
        """What the copy is made of, and what Spark's own join reads."""
        return self.folder / "products.parquet"

    @property
    def warehouse(self) -> Path:
        return self.folder / "warehouse" / "sales"

    @property
    def quarantine(self) -> Path:
        return self.folder / "quarantine"


FULL = Scale(2_000_000, 1_000_000, 40_000, 20_000, (3, 9), (1, 5))
QUICK = Scale(50_000, 30_000, 20_000, 2_000, (1, 3), (1, 3))

_PIPELINE = """\
[pipeline]
name = "inventory sales"
checkpoint = "checkpoint"
trigger = "1 second"
memory = "{memory}"  # of each Python worker

[[source]]  # in bursts, by Zipf's law; one in 200 has an unknown product
name = "shops"
format = "semistream-zipf"
[source.options]
keys = {products}
rows = {sales}
rows_per_second = {per_second}
arrivals = "bursty"
rows_per_batch = {most}
unmatched = 0.005
partitions = {tasks}
seed = 20
[source.columns]
sale_id = "sequence"
product_id = "key"
quantity = "cast(1 + sequence % 7 as int)"
date = "event_time"

[[lookup]]  # the product's surrogate key takes the place of product_id
name = "products"
master = "{master}"
key = "product_id"
columns = [{columns}]
replaces = "product_id"
unmatched = "quarantine"

[columns]
total = "quantity * sale_price"

[sink]
format = "parquet"
path = "{warehouse}"
columns = [
    "sale_id", "surrogate_key", "supplier_id", "quantity", "date", "total"
]

[quarantine]
path = "{quarantine}"
"""


def write_pipeline(shop: Shop) -> None:
    scale, folder = shop.scale, shop.folder
    shop.file.write_text(
        _PIPELINE.format(
            memory=MEMORY,
            products=scale.products,
            sales=scale.sales,
            per_second=scale.per_second,
            most=4 * scale.per_second,  # so that a slow start is caught up with in batches of some seconds
            tasks=TASKS,
            master=shop.products.relative_to(folder),
            columns=", ".join(f'"{name}"' for name in LOOKED_UP),
            warehouse=shop.warehouse.relative_to(folder),
            quarantine=shop.quarantine.relative_to(folder),
        )
    )


def stream_of(shop: Shop) -> Stream:
    """The sales as the pipeline's source makes them, here."""
    return SourceOptions.parsed(resolved_options(read_pipeline(shop.file).sources[0].options)).stream()


def write_products(spark: SparkSession, shop: Shop, tell: Tell) -> IndexReport:
    """The products as Parquet, and clustered by `product_id` as `semistream index` does it."""
    key = F.col("id")
    name = F.rpad(F.concat(F.lit("Product "), key.cast("string"), F.lit(" ")), 72, ".")
    tell(f"Writing {shop.scale.products:,} products as Parquet ...")
    spark.range(shop.scale.products).select(
        key.alias("product_id"),
        (key * 13 + 5).alias("surrogate_key"),
        name.alias("product_name"),
        (key % 5000 / 100 + 0.99).alias("sale_price"),
        (key % 1009).cast("int").alias("supplier_id"),
    ).write.parquet(f"file://{shop.parquet}")
    tell(f"semistream index {shop.parquet.name} {shop.products.name} --key product_id ...")
    return build_index(spark.read.parquet(f"file://{shop.parquet}"), shop.products, "product_id")
