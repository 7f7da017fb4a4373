"""Whole pipelines: from two sources with different keys to a warehouse that equals DuckDB's."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from tests.spark.pipeline.world import QUARANTINE_SQL, SALES, WAREHOUSE_SQL, World, rows_of

pytestmark = pytest.mark.xdist_group("spark")

QUARANTINE = '\n[quarantine]\npath = "state/quarantine"\n'


def test_two_sources_with_different_keys_become_one_table(spark: SparkSession, world: World) -> None:
    summary = world.run(spark)
    assert world.warehouse() == world.ask(WAREHOUSE_SQL)
    quarantined = "sale_id, product, sold_at, quantity, quarantine_source, quarantine_reason"
    found = world.ask(f"SELECT {quarantined} FROM {world.parquet('state/quarantine')} ORDER BY ALL")
    assert found == world.ask(QUARANTINE_SQL)
    assert len(found) == summary.quarantined > 0
    assert summary.rows_out == len(world.warehouse())
    assert summary.rows_in == 2 * (SALES + SALES // 3)
    assert summary.late == 0
    # Any reader sees one more column, and no file of another kind.
    columns = {
        "sale_id",
        "sold_at",
        "quantity",
        "product_key",
        "price",
        "supplier_id",
        "supplier_name",
        "total",
    }
    assert set(pq.read_table(world.folder / "warehouse" / "sales").column_names) == columns | {
        "semistream_batch"
    }
    files = [file.name for file in (world.folder / "warehouse").rglob("*") if file.is_file()]
    assert [name for name in files if not name.endswith(".parquet") or name.startswith((".", "_"))] == []


def test_a_run_goes_on_where_the_last_one_ended(spark: SparkSession, world: World) -> None:
    first = world.run(spark)
    again = world.run(spark)
    assert (first.batches > 0, again.rows_in, again.rows_out) == (True, 0, 0)
    assert world.warehouse() == world.ask(WAREHOUSE_SQL)


def test_a_batch_that_is_replayed_is_written_once(spark: SparkSession, world: World) -> None:
    """As if the driver had been killed behind the sink's commit, and before Spark's own."""
    world.run(spark)
    commits = sorted(
        (file for file in (world.folder / "state/checkpoint/commits").iterdir() if file.name.isdigit()),
        key=lambda file: int(file.name),
    )
    commits[-1].unlink()
    commits[-1].with_name(f".{commits[-1].name}.crc").unlink()
    world.run(spark)
    assert world.warehouse() == world.ask(WAREHOUSE_SQL)


def test_delta(spark: SparkSession, world: World) -> None:
    from deltalake import DeltaTable

    world.edit(('format = "parquet"\npath = "warehouse/sales"', 'format = "delta"\npath = "warehouse/sales"'))
    world.run(spark)
    table = DeltaTable(world.folder / "warehouse" / "sales")
    assert table.version() >= 2
    files = [str(path) for path in table.file_uris()]
    assert world.ask(f"SELECT * FROM read_parquet({files}) ORDER BY ALL") == world.ask(WAREHOUSE_SQL)
    orphans = {str(file) for file in (world.folder / "warehouse/sales").glob("*.parquet")} - set(files)
    assert orphans == set()
    world.run(spark)
    assert DeltaTable(world.folder / "warehouse" / "sales").version() == table.version()


def test_sqlite(spark: SparkSession, world: World) -> None:
    sql = (
        'format = "sql"\nurl = "sqlite:///warehouse.db"\ntable = "sales"\nkey = "sale_id"\nlatest = "sold_at"'
    )
    world.edit(('format = "parquet"\npath = "warehouse/sales"', sql))
    world.run(spark)
    with sqlite3.connect(world.folder / "warehouse.db") as connection:
        found = connection.execute("SELECT * FROM sales ORDER BY sale_id").fetchall()
    expected = world.ask(WAREHOUSE_SQL)
    assert [(row[0], *row[2:]) for row in found] == [(row[0], *row[2:]) for row in expected]
    assert found[0][1] == expected[0][1].strftime("%Y-%m-%d %H:%M:%S.%fZ")


@pytest.mark.parametrize("sink", ["parquet", "delta", "sqlite"])
def test_new_rows_are_told_apart(spark: SparkSession, world: World, sink: str) -> None:
    """The first batch of a product is new, and later ones aren't."""
    sinks = {
        "parquet": 'format = "parquet"\npath = "warehouse/sales"',
        "delta": 'format = "delta"\npath = "warehouse/sales"',
        "sqlite": 'format = "sql"\nurl = "sqlite:///warehouse.db"\ntable = "sales"',
    }
    world.write(
        f"""
        [pipeline]
        checkpoint = "state/checkpoint"
        trigger = "available_now"
        [[source]]
        name = "web"
        format = "json"
        path = "few"
        schema = "sale long, product long"
        options = {{ maxFilesPerTrigger = 1 }}
        [new_rows]
        key = "product"
        column = "first_sale"
        [columns]
        note = "if(first_sale, 'new', 'known')"
        [sink]
        {sinks[sink]}
        """
    )
    folder = world.folder / "few"
    folder.mkdir()
    (folder / "0.json").write_text('{"sale": 1, "product": 7}\n{"sale": 2, "product": 7}\n{"sale": 3}\n')
    world.run(spark)
    (folder / "1.json").write_text('{"sale": 4, "product": 7}\n{"sale": 5, "product": 8}\n{"sale": 6}\n')
    world.run(spark)
    expected = [(1, True), (2, True), (3, True), (4, False), (5, True), (6, True)]
    assert found_new(world.folder, sink) == [(sale, new, "new" if new else "known") for sale, new in expected]


def found_new(folder: Path, sink: str) -> list[tuple[int, bool, str]]:
    if sink == "sqlite":
        with sqlite3.connect(folder / "warehouse.db") as connection:
            rows = connection.execute("SELECT sale, first_sale, note FROM sales ORDER BY sale").fetchall()
        return [(sale, bool(new), note) for sale, new, note in rows]
    found: list[Any] = rows_of(folder / "warehouse/sales") if sink == "parquet" else delta_rows(folder)
    return sorted((row["sale"], row["first_sale"], row["note"]) for row in found)


def delta_rows(folder: Path) -> list[Any]:
    from deltalake import DeltaTable

    found: list[Any] = DeltaTable(folder / "warehouse" / "sales").to_pyarrow_table().to_pylist()
    return found
