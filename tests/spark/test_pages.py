"""The documentation's examples that need Spark run, and write what they say."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from semistream.errors import PipelineError
from semistream.spark.pipeline import read_pipeline
from semistream.spark.pipeline.file import SINKS
from tests.pages import ROOT, blocks, pages, run_page
from tests.spark.shop import SALES, known, price, product, quantity, surrogate, write_shop

pytestmark = pytest.mark.xdist_group("spark")

README = ROOT / "README.md"
ON_SPARK = ROOT / "docs" / "guide" / "spark.md"
PIPELINES = ROOT / "docs" / "guide" / "pipeline.md"
TABLES = ("pipeline", "source", "dedupe", "lookup", "new_rows", "sink", "quarantine")


@pytest.fixture
def folder(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The current folder, for this process and for Java, which a reader starts there."""
    monkeypatch.chdir(tmp_path)
    write_shop(tmp_path)
    java: Any = spark.sparkContext._jvm
    before = java.System.getProperty("user.dir")
    work_in(java, str(tmp_path))
    yield tmp_path
    work_in(java, before)


def work_in(java: Any, folder: str) -> None:
    """Both what Hadoop opens from now on and what it has open resolves paths here."""
    java.System.setProperty("user.dir", folder)
    files = java.org.apache.hadoop.fs.FileSystem.get(java.org.apache.hadoop.conf.Configuration())
    files.setWorkingDirectory(java.org.apache.hadoop.fs.Path(folder))


def run(spark: SparkSession, page: Path) -> None:
    """Also what its queries still have to do."""
    try:
        run_page(page, {"__name__": "__main__", "spark": spark})
        for query in spark.streams.active:
            query.processAllAvailable()
    finally:
        for query in spark.streams.active:
            query.stop()


def test_pages_on_spark_are_these() -> None:
    assert set(pages(on_spark=True)) == {README, ON_SPARK, PIPELINES}


def test_readme(spark: SparkSession, folder: Path) -> None:
    run(spark, README)
    rows = pq.read_table(folder / "warehouse" / "sales").sort_by("product_id").to_pylist()
    expected = sorted((product(n), quantity(n)) for n in range(SALES))
    assert sorted((row["product_id"], row["quantity"]) for row in rows) == expected
    assert {row["product_name"] for row in rows} == {
        f"product {product(n)}" if known(n) else None for n in range(SALES)
    }
    with sqlite3.connect(folder / "warehouse.db") as connection:
        found = connection.execute("SELECT sale_id, total FROM sales ORDER BY sale_id").fetchall()
    assert found == [(n, quantity(n) * price(product(n))) for n in range(SALES) if known(n)]
    unknown = pq.read_table(folder / "unknown products")
    assert sorted(unknown["sale_id"].to_pylist()) == [n for n in range(SALES) if not known(n)]


def test_on_spark(spark: SparkSession, folder: Path) -> None:
    run(spark, ON_SPARK)
    rows = pq.read_table(folder / "warehouse" / "sales").sort_by("sale_id").to_pylist()
    assert [(row["sale_id"], row["total"], row["region"]) for row in rows] == [
        (n, quantity(n) * price(product(n)), f"region {n % 60 % 4}" if n % 60 < 50 else None)
        for n in range(SALES)
        if known(n)
    ]


def test_pipeline_with_everything(spark: SparkSession, folder: Path) -> None:
    run(spark, PIPELINES)
    with sqlite3.connect(folder / "warehouse.db") as connection:
        found = connection.execute(
            "SELECT sale_id, surrogate_key, supplier_name, total, first_sale FROM sales ORDER BY sale_id"
        ).fetchall()
    expected = [
        (
            f"{source} {n}",
            surrogate(product(n)),
            f"supplier {product(n) % 20}",
            round(quantity(n) * price(product(n)), 2),
            1,  # there was one batch
        )
        for source in ("shops", "web")
        for n in range(SALES)
        if known(n)
    ]
    assert found == sorted(expected)
    unknown = pq.read_table(folder / "state" / "quarantine").to_pylist()
    assert sorted(row["sale_id"] for row in unknown) == sorted(
        f"{source} {n}" for source in ("shops", "web") for n in range(SALES) if not known(n)
    )
    assert {row["quarantine_reason"] for row in unknown} == {
        "web products: unmatched",
        "shop products: unmatched",
    }


@pytest.mark.parametrize("table", TABLES)
def test_every_key_is_in_the_guide_and_in_its_example(table: str, tmp_path: Path) -> None:
    """The keys that the reader knows, as its error on an unknown one lists them."""
    page = PIPELINES.read_text()
    (example,) = [block.code for block in blocks(page) if block.file]
    header = re.compile(rf"^(\[\[?{table}\]\]?)", re.MULTILINE)
    file = tmp_path / "sales.toml"
    file.write_text(header.sub(r"\1\nunheard = 1", example, count=1))
    with pytest.raises(PipelineError, match="unheard: isn't known here: known are ") as raised:
        read_pipeline(file)
    keys = set(re.findall(r"'(\w+)'", str(raised.value).partition("known are ")[2]))
    if table == "sink":  # which knows the keys of its format only
        keys |= {key for each in SINKS.values() for key in each}
    (section,) = re.findall(rf"^### \[+{table}\]+\n(.*?)(?=^###|\Z)", page, re.MULTILINE | re.DOTALL)
    assert set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)) == keys
    parts = re.findall(rf"^\[\[?{table}(?:\.\w+)?\]\]?.*?(?=^\[\[?(?!{table})|\Z)", example, re.M | re.DOTALL)
    used = set(re.findall(r"^(?:\[\w+\.)?(\w+)(?: =|\])", "".join(parts), re.MULTILINE))
    assert keys - used <= {"path"} if table == "sink" else keys <= used
