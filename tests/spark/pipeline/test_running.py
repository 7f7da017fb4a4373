"""Pipelines that fail, are stopped, and go on: the cause is named, and the next run ends as it should."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import threading
import time

import pytest
from click.testing import CliRunner, Result
from pyspark.sql import SparkSession

from semistream.cli import main
from semistream.errors import SemiStreamError
from semistream.spark.pipeline import BatchRecord, Stopping, build_pipeline, read_pipeline, run_pipeline
from tests.spark.pipeline.world import SALES_SQL, WAREHOUSE_SQL, World, rows_of, write_json

pytestmark = pytest.mark.xdist_group("spark")

QUARANTINE = '[quarantine]\npath = "state/quarantine"\n'
UNMATCHED = 'unmatched = "quarantine"'


def command(world: World, *arguments: str) -> Result:
    return CliRunner().invoke(main, ["run", str(world.file), *arguments])


def test_a_run_for_people(spark: SparkSession, world: World) -> None:
    checked = command(world, "--check")
    assert checked.exit_code == 0, checked.stderr
    assert "lookup web products" in checked.stdout
    assert {path.name for path in world.folder.iterdir()} == {"masters", "web", "shop", "pipeline.toml"}
    done = command(world)
    assert done.exit_code == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if line.startswith("batch ")]
    assert lines[0].startswith("batch 0  800 rows in, ")
    assert all(" rows/s  hits " in line and "  loads " in line for line in lines)
    assert "rows in                  1,600" in done.stdout
    assert world.warehouse() == world.ask(WAREHOUSE_SQL)


def test_a_run_for_programs(spark: SparkSession, world: World) -> None:
    done = command(world, "--json")
    assert done.exit_code == 0, done.stderr
    *batches, whole = [json.loads(line) for line in done.stdout.splitlines()]
    assert [batch["batch"] for batch in batches] == list(range(len(batches)))
    assert sum(batch["rows_in"] for batch in batches) == whole["rows_in"] == 1600
    assert sum(batch["rows_out"] for batch in batches) == whole["rows_out"] == len(world.warehouse())
    assert whole["loads"] > 0
    asked = SALES_SQL + "SELECT count(number) + count(code) + count(supplier_id) FROM products"
    assert whole["cache_hits"] + whole["cache_misses"] == world.ask(asked)[0][0]
    assert whole["stopped"] is False


def test_a_mistake_ends_it_with_one(spark: SparkSession, world: World) -> None:
    world.edit(("[dedupe]", "[dedup]"))
    done = command(world)
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr == (
        f"PipelineError: {world.file}, the file, dedup: isn't known here: known are 'pipeline', 'source', "
        "'dedupe', 'lookup', 'new_rows', 'columns', 'sink', 'quarantine'; did you mean 'dedupe'?\n"
    )


def test_a_signal_stops_it_behind_the_batch(spark: SparkSession, world: World) -> None:
    """A stream without an end; the second run goes on, and all rows of the first batches are there once."""
    endless(world)
    result: list[Result] = []

    def stop() -> None:
        """Once a batch is in the warehouse."""
        end = time.monotonic() + 120
        while time.monotonic() < end and not list((world.folder / "out").glob("semistream_batch=*")):
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGTERM)

    thread = threading.Thread(target=stop)
    thread.start()
    result.append(command(world, "--json"))
    thread.join()
    assert result[0].exit_code == 0, result[0].stderr
    *batches, whole = [json.loads(line) for line in result[0].stdout.splitlines()]
    assert whole["stopped"] is True
    assert len(batches) >= 1
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    # A batch that had only begun is replayed, and then the run goes on.
    stopping = Stopping()
    seen: list[BatchRecord] = []

    def tell(record: BatchRecord) -> None:
        seen.append(record)
        stopping.ask()

    run_pipeline(spark, build_pipeline(spark, read_pipeline(world.file)), tell, stopping)
    assert seen[0].batch == batches[-1]["batch"] + 1
    sequences = sorted(row["sequence"] for row in rows_of(world.folder / "out"))
    assert sequences == list(range(len(sequences)))
    assert len(sequences) >= 1000 * (seen[-1].batch + 1)


def test_asked_twice_it_stops_at_once(spark: SparkSession, world: World) -> None:
    endless(world)
    stopping = Stopping(asked=2)
    summary = run_pipeline(
        spark, build_pipeline(spark, read_pipeline(world.file)), lambda record: None, stopping
    )
    assert summary.stopped


def endless(world: World) -> None:
    world.write(
        """
        [pipeline]
        name = "endless"
        checkpoint = "state/checkpoint"
        [[source]]
        name = "zipf"
        format = "semistream-zipf"
        options = { keys = 100, rows_per_batch = 1000 }
        [sink]
        format = "parquet"
        path = "out"
        """
    )


def test_a_corrupt_record_ends_the_run(spark: SparkSession, world: World) -> None:
    world.edit((QUARANTINE, ""), (UNMATCHED, 'unmatched = "drop"'))
    write_json(world.folder / "web" / "9.json", [], raw=('{"sale": 1, "product": "x', "nonsense"))
    message = failed(spark, world)
    assert "web/9.json" in message
    assert "Malformed record" in message
    (world.folder / "web" / "9.json").write_text("")
    world.run(spark)
    assert world.warehouse() == world.ask(WAREHOUSE_SQL)


def test_corrupt_records_go_to_the_quarantine(spark: SparkSession, world: World) -> None:
    """Also two that are alike, and one whose time was read as long ago."""
    raw = ("nonsense", "nonsense", '{"sale": "x", "at": 5}')
    write_json(world.folder / "web" / "9.json", [], raw=raw)
    (world.folder / "shop" / "9.csv").write_text("ticket,code,at,pieces\n1,c1,yesterday,2\n")
    world.run(spark)
    assert world.warehouse() == world.ask(WAREHOUSE_SQL)
    found = [
        (row["quarantine_source"], row["quarantine_record"], row["sale_id"])
        for row in rows_of(world.folder / "state" / "quarantine")
        if row["quarantine_reason"] == "corrupt record"
    ]
    expected = [*(("web", record, None) for record in raw), ("shop", "1,c1,yesterday,2", None)]
    assert sorted(found) == sorted(expected)


def test_a_sink_that_refuses(spark: SparkSession, world: World) -> None:
    """A row breaks a rule of the table; what was written stays, and the next run goes on without the rule."""
    sink = 'format = "sql"\nurl = "sqlite:///w.db"\ntable = "sales"\nkey = "sale_id"'
    world.edit(('format = "parquet"\npath = "warehouse/sales"', sink))
    columns = "sale_id, sold_at, quantity, product_key, price, supplier_id, supplier_name, total"
    create = f"CREATE TABLE sales ({columns}, PRIMARY KEY (sale_id)"
    database = world.folder / "w.db"
    with sqlite3.connect(database) as connection:
        connection.execute(f"{create}, CHECK (supplier_name <> 'supplier 7'))")
    message = failed(spark, world)
    assert "CHECK constraint failed" in message
    assert str(database) in message
    with sqlite3.connect(database) as connection:
        connection.execute("ALTER TABLE sales RENAME TO strict")
        connection.execute(f"{create})")
        connection.execute("INSERT INTO sales SELECT * FROM strict")
    world.run(spark)
    with sqlite3.connect(database) as connection:
        found = connection.execute("SELECT sale_id FROM sales ORDER BY sale_id").fetchall()
    assert found == [(row[0],) for row in world.ask(WAREHOUSE_SQL)]


def failed(spark: SparkSession, world: World) -> str:
    """The message of a run that fails."""
    with pytest.raises(SemiStreamError) as raised:
        world.run(spark)
    message = str(raised.value)
    print(message)
    assert len(message.splitlines()) == 1
    assert (world.folder / "state" / "checkpoint" / "metadata").exists()
    return message
