"""`explain` says what is; and it says it before anything runs."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from pyspark.sql import SparkSession
from pyspark.sql.types import LongType, StringType, StructField, StructType

import semistream as ss
from semistream.cli import main
from semistream.errors import ArgumentError, BudgetError, ColumnError, KeyTypeError, StoreError
from semistream.stores.clustered_build import build

ROWS = 20_000
STREAM = pa.schema([("article", pa.int32()), ("quantity", pa.int64())])


@pytest.fixture(scope="module")
def master(tmp_path_factory: pytest.TempPathFactory) -> ss.Master:
    path = tmp_path_factory.mktemp("explain") / "products"
    table = pa.table({"id": range(ROWS), "name": [f"name {i}" for i in range(ROWS)], "price": range(ROWS)})
    build(table, path, "id", page_rows=100).close()
    return ss.master(str(path), key="id")


def test_from_a_schema(master: ss.Master) -> None:
    told = ss.explain(
        STREAM, master, on={"article": "id"}, how="left", memory="4MiB", columns=["name"], trigger_seconds=300
    )
    (plan,) = told.lookups
    assert (plan.store, plan.rows, plan.pages, plan.unique) == ("clustered", ROWS, 200, True)
    assert plan.version == master.open().version().token
    assert str(plan.keys[0]) == "article: int32 = id: int64"
    assert told.output_schema.names == ["article", "quantity", "name"]
    assert sum(plan.memory_parts.values()) == plan.memory == told.memory == 4 << 20
    assert min(plan.memory_parts.values()) >= 0
    assert plan.bytes_per_load > 1000
    assert 0 < plan.loads <= plan.loads_cold
    assert (told.executors, told.total_bytes, told.base_measured) == (None, None, False)
    text = str(told)
    for part in (
        "article: int32 = id: int64",
        "how        left",
        "20,000 rows",
        "cachejoin_pq: the default",
        "4.0 MiB",
    ):
        assert part in text, text
    assert "with a trigger of 300 s every batch starts cold" in text
    assert json.loads(json.dumps(told.as_dict()))["lookups"][0]["rows"] == ROWS


def test_from_a_spark_schema(master: ss.Master) -> None:
    schema = StructType([StructField("id", LongType()), StructField("note", StringType())])
    dictionary = ss.master(
        pa.table(
            {"id": [1], "kind": pa.array(["a"]).dictionary_encode(), "small": pa.array([1], pa.uint8())}
        ),
        key="id",
    )
    told = ss.explain(schema, [ss.lookup(master), ss.lookup(dictionary, how="left")], memory="8MiB")
    assert [plan.memory for plan in told.lookups] == [4 << 20, 4 << 20]
    types = {field.name: field.type for field in told.output_schema}
    assert (types["kind"], types["small"]) == (pa.string(), pa.int16())
    assert told.lookups[1].store == "memory"


def test_what_lookup_join_refuses_explain_refuses(master: ss.Master, tmp_path: Path) -> None:
    with pytest.raises(ColumnError, match="'id'"):
        ss.explain(STREAM, master)
    with pytest.raises(KeyTypeError, match=r"article.*string"):
        ss.explain(pa.schema([("article", pa.string())]), master, on={"article": "id"})
    with pytest.raises(BudgetError, match="at least"):
        ss.explain(STREAM, master, on={"article": "id"}, memory="10KiB")
    with pytest.raises(StoreError, match="nowhere"):
        ss.explain(STREAM, ss.master(tmp_path / "nowhere", key="id"), on={"article": "id"})
    with pytest.raises(ArgumentError, match="at least one row"):
        ss.explain(STREAM, master, on={"article": "id"}, batch_rows=0)
    with pytest.raises(ArgumentError, match="list"):
        ss.explain([], master)
    with pytest.raises(ArgumentError, match="no lookup"):
        ss.explain(STREAM, [])


@pytest.mark.parametrize("exponent", [0.0, 1.0])
def test_predicted_loads_are_those_of_a_cold_join(master: ss.Master, exponent: float) -> None:
    rng = np.random.default_rng(1)
    weights = np.arange(1, ROWS + 1) ** -exponent
    keys = rng.permutation(ROWS)[rng.choice(ROWS, 300, p=weights / weights.sum())]
    told = ss.explain(STREAM, master, on={"article": "id"}, memory="4MiB", batch_rows=300, exponent=exponent)
    with ss.SemiStreamJoin(master, on={"article": "id"}, memory="4MiB") as join:
        batch = pa.record_batch([pa.array(keys, pa.int32()), pa.array(keys, pa.int64())], schema=STREAM)
        for _ in [*join.push(batch), *join.drain()]:
            pass
        assert told.lookups[0].loads_cold == pytest.approx(join.stats.loads, rel=0.1)
        # The split that was told is the one that is made, where a sample's rows are rounded up to a byte.
        assert told.lookups[0].waiting_rows == pytest.approx(join.stats.pending_capacity, rel=0.1)


@pytest.mark.xdist_group("spark")
def test_from_a_data_frame(spark: SparkSession, master: ss.Master) -> None:
    df = spark.range(5).withColumnRenamed("id", "ID")
    told = ss.explain(df, master, memory="64MiB", on="id", python_operators=3)
    assert (told.executors, told.slots, told.workers_an_executor, told.tasks) == (1, 2, 6, 2)
    assert told.base_measured
    assert told.total_bytes == told.executor_bytes == 6 * (told.base_bytes + (64 << 20))
    assert 150 << 20 < told.base_bytes < 600 << 20
    assert "1 executor, 2 tasks at a time on each, 3 Python processes a task: 6 workers" in str(told)


def test_the_command(master: ss.Master, tmp_path: Path) -> None:
    pq.write_table(STREAM.empty_table(), tmp_path / "stream.parquet")
    command = ["explain", str(master.source), "--key", "id", "--on", "article=id", "--how", "left"]
    stream = ["--stream", str(tmp_path / "stream.parquet"), "--memory", "4MiB"]
    people = CliRunner().invoke(main, [*command, *stream])
    assert people.exit_code == 0, people.output
    assert "article: int32 = id: int64" in people.stdout
    programs = CliRunner().invoke(main, [*command, *stream, "--columns", "price", "--json"])
    assert programs.exit_code == 0, programs.output
    assert json.loads(programs.stdout)["output_schema"]["price"] == "int64"
    neither = CliRunner().invoke(main, command)
    assert neither.exit_code == 1
    assert "--schema" in neither.stderr
