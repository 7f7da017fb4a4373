"""What goes wrong while a run goes on: one line says what, and the next run goes on from there."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event, Thread
from urllib.parse import quote, unquote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from semistream.errors import SemiStreamError
from semistream.spark.pipeline import BatchRecord, Stopping, build_pipeline, read_pipeline, run_pipeline
from tests.servers.postgresql import USER, Server, postgresql
from tests.spark.pipeline.runs import busy
from tests.spark.pipeline.warehouses import Warehouse, WorldUnderFire, delta, in_postgresql, parquet
from tests.spark.pipeline.world import WAREHOUSE_SQL, World, rows_of
from tests.spark.process_tree import workers_below

pytestmark = pytest.mark.xdist_group("spark")

ENDS = 'trigger = "available_now"\n'


def interrupted(spark: SparkSession, world: World, meanwhile: Callable[[], object]) -> str | None:
    """Run the pipeline without an end. Behind its first batch something happens, and the second half of the
    rows comes. What the run fails with, or None where it goes on."""
    stopping = Stopping()
    later = [world.folder / "web" / "1.json", world.folder / "shop" / "1.csv"]
    for file in later:
        file.rename(world.folder / file.name)

    def tell(record: BatchRecord) -> None:
        if record.batch == 0:
            meanwhile()
            for file in later:
                (world.folder / file.name).rename(file)
        elif record.rows_in:
            stopping.ask()

    world.edit((ENDS, ""))
    try:
        run_pipeline(spark, build_pipeline(spark, read_pipeline(world.file)), tell, stopping)
    except SemiStreamError as error:
        message = str(error)
        print(message)
        assert len(message.splitlines()) == 1
        checkpoint = world.folder / "state" / "checkpoint"
        goes_on = (
            f"; once that is mended, start the pipeline again: it goes on from its checkpoint {checkpoint}"
        )
        assert message.endswith(goes_on)
        return message
    finally:
        world.edit(('checkpoint = "state/checkpoint"\n', f'checkpoint = "state/checkpoint"\n{ENDS}'))
    return None


@pytest.mark.parametrize("how", ["written over", "cut off"])
def test_a_master_turns_corrupt(spark: SparkSession, world: World, how: str) -> None:
    """Under workers that have it open, and that have verified its pages."""
    good = {file: file.read_bytes() for file in (world.folder / "masters" / "shop").rglob("pages-*.arrow")}
    assert good

    def corrupt() -> None:
        for file, content in good.items():
            middle = len(content) // 2
            if how == "cut off":
                os.truncate(file, middle)
                continue
            with file.open("r+b") as opened:
                opened.seek(middle - 200)
                opened.write(b"\xff" * 400)

    message = interrupted(spark, world, corrupt)
    assert message is not None
    assert "masters/shop" in message
    for file, content in good.items():
        file.write_bytes(content)
    world.run(spark)
    assert world.warehouse() == world.ask(WAREHOUSE_SQL)


def test_a_master_disappears(spark: SparkSession, world: World) -> None:
    """Workers that have it open would go on with it, so these end as idle ones do."""
    there, away = world.folder / "masters" / "suppliers", world.folder / "away"

    def disappear() -> None:
        there.rename(away)
        for worker in workers_below(os.getpid()):
            worker.kill()

    message = interrupted(spark, world, disappear)
    assert message is not None
    assert f"there is nothing at {there}" in message
    away.rename(there)
    world.run(spark)
    assert world.warehouse() == world.ask(WAREHOUSE_SQL)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with postgresql() as started:
        yield started


@pytest.mark.parametrize("sink", [parquet(), delta()], ids=lambda sink: sink.kind)
def test_a_folder_that_refuses(spark: SparkSession, tmp_path: Path, sink: Warehouse) -> None:
    world = WorldUnderFire(tmp_path, sink, sales=600, files=2)
    there, away = tmp_path / "warehouse" / "sales", tmp_path / "away"

    def refuse() -> None:
        there.rename(away)
        there.write_text("something else")

    message = interrupted(spark, world, refuse)
    assert message is not None
    assert str(there) in message
    there.unlink()
    away.rename(there)
    world.run(spark)
    assert world.differences() == []


def test_a_table_that_refuses(spark: SparkSession, tmp_path: Path, server: Server) -> None:
    # The session's workers have started: what they take from their environment can't be given any more.
    secret = tmp_path / "passwords"
    secret.write_text(f"*:*:*:*:{unquote(server.password)}")
    secret.chmod(0o600)
    url = f"postgresql://{USER}@127.0.0.1:{server.port}/postgres?passfile={quote(str(secret), safe='')}"
    world = WorldUnderFire(tmp_path, in_postgresql(server, "refusing", url), sales=600, files=2)
    rule = "CHECK (supplier_name <> 'supplier 7') NOT VALID"
    message = interrupted(spark, world, lambda: alter(server, f"ADD CONSTRAINT no_sevens {rule}"))
    assert message is not None
    assert "no_sevens" in message
    alter(server, "DROP CONSTRAINT no_sevens")
    world.run(spark)
    assert world.differences() == []


def alter(server: Server, change: str) -> None:
    from adbc_driver_postgresql import dbapi

    with dbapi.connect(server.url()) as connection, connection.cursor() as cursor:
        cursor.execute(f"ALTER TABLE refusing {change}")
        connection.commit()


def test_a_file_that_is_none(spark: SparkSession, world: World) -> None:
    """Where a source's files aren't texts, a corrupt record is a corrupt file."""
    world.write(
        """
        [pipeline]
        checkpoint = "state/checkpoint"
        trigger = "available_now"
        [[source]]
        name = "web"
        format = "parquet"
        path = "files"
        options = { maxFilesPerTrigger = 1 }
        [sink]
        format = "parquet"
        path = "out"
        """
    )
    folder = world.folder / "files"
    folder.mkdir()
    for part in range(3):
        pq.write_table(pa.table({"sale": [part]}), folder / f"{part}.parquet")
    good = (folder / "1.parquet").read_bytes()
    (folder / "1.parquet").write_bytes(good[:4] + b"\xff" * len(good[4:-4]) + good[-4:])
    for part in range(3):
        os.utime(folder / f"{part}.parquet", (part, part))  # the order in which they are read
    with pytest.raises(SemiStreamError) as raised:
        world.run(spark)
    assert "files/1.parquet" in str(raised.value)
    assert len(str(raised.value).splitlines()) == 1
    assert [row["sale"] for row in rows_of(world.folder / "out")] == [0]
    (folder / "1.parquet").write_bytes(good)
    world.run(spark)
    assert sorted(row["sale"] for row in rows_of(world.folder / "out")) == [0, 1, 2]


def test_a_worker_is_lost(spark: SparkSession, world: World) -> None:
    """On `local[2]` no task is tried again."""
    done = Event()

    def kill() -> None:
        """Each worker that is at work, until one ends the run."""
        while not done.is_set():
            for worker in busy(workers_below(os.getpid())):
                worker.kill()

    built = build_pipeline(spark, read_pipeline(world.file))
    thread = Thread(target=kill)
    thread.start()
    try:
        with pytest.raises(SemiStreamError) as raised:
            run_pipeline(spark, built, lambda record: None)
    finally:
        done.set()
        thread.join()
    checkpoint = world.folder / "state" / "checkpoint"
    assert str(raised.value) == (
        "a Python worker ended in the middle of a task (killed, out of memory or crashed: Spark's log may "
        f"say more); start the pipeline again: it goes on from its checkpoint {checkpoint}"
    )
    world.run(spark)
    assert world.warehouse() == world.ask(WAREHOUSE_SQL)
