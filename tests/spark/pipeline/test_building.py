"""What only Spark and the masters can know to be wrong: found before the start, and nothing is written."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from semistream.errors import PipelineError
from semistream.spark.pipeline import build_pipeline, read_pipeline
from semistream.spark.pipeline.explaining import explanation
from semistream.stores.clustered_build import build
from tests.spark.pipeline.world import World

pytestmark = pytest.mark.xdist_group("spark")

SINK = 'format = "parquet"\npath = "warehouse/sales"'
WEB = 'path = "web"\nschema = "sale long, product long, at timestamp, quantity int"'
MISTAKES = {
    "unknown format": ('format = "json"', 'format = "jsonl"', '[[source]] 1 "web", format: ', "jsonl"),
    "no such folder": ('path = "web"', 'path = "wep"', '[[source]] 1 "web", path: ', "/wep"),
    "path missing": ('path = "web"\n', "", '[[source]] 1 "web", path: is missing'),
    "schema missing": (WEB, 'path = "web"', '[[source]] 1 "web", schema: is missing'),
    "unknown option of a generator": (
        f'"json"\n{WEB}\noptions = {{ maxFilesPerTrigger = 1 }}',
        '"semistream-zipf"\noptions = { kees = 10 }',
        '[[source]] 1 "web", options: ',
        "'kees'",
    ),
    "a format that needs a package": ('format = "json"', 'format = "kafka"', '[[source]] 1 "web", format: '),
    "no schema": ("sale long,", "sale lang,", '[[source]] 1 "web", schema: ', "LANG"),
    "unknown column in a source": (
        'quantity = "quantity"',
        'quantity = "quantty"',
        '[[source]] 1 "web", quantity: ',
        "`quantty`",
        "Did you mean",
    ),
    "no expression": ('quantity = "pieces"', 'quantity = "pieces +"', '[[source]] 2 "shop", quantity: '),
    "aggregate": ('quantity = "pieces"', 'quantity = "sum(pieces)"', '[[source]] 2 "shop", quantity: '),
    "a column missing in one source": (
        'quantity = "pieces"\n',
        "",
        "[[source]] 2 \"shop\", columns: 'quantity' is missing, which source 'web' has",
    ),
    "types that differ": (
        'quantity = "pieces"',
        'quantity = "cast(pieces as string)"',
        "[[source]] 2 \"shop\", columns: 'quantity' is string, and in source 'web' int",
    ),
    "our names": ('quantity = "pieces"', 'quantity = "pieces"\n__semistream_x = "1"', "are ours"),
    "unknown watermark": ('column = "sold_at"', 'column = "soldat"', "[dedupe], watermark: ", "`soldat`"),
    "no delay": ('delay = "1 hour"', 'delay = "a while"', "[dedupe], watermark: ", "a while"),
    "watermark that is no time": ('column = "sold_at"', 'column = "quantity"', "[dedupe], watermark: "),
    "unknown dedupe column": ('columns = ["sale_id"]', 'columns = ["sale"]', "[dedupe], columns: ", "`sale`"),
    "key not in the stream": (
        'on = "product"',
        'on = "article"',
        "[[lookup]] 1 \"web products\", on: 'article' is no column of the stream here",
    ),
    "replaced column not in the stream": (
        'replaces = "code"',
        'replaces = "article"',
        "[[lookup]] 2 \"shop products\", replaces: 'article' is no column",
    ),
    "no such key in the master": (
        'key = "number"',
        'key = "no"',
        '[[lookup]] 1 "web products", master: ',
        "'no'",
    ),
    "key types": (
        'code = "code"',
        'code = "length(code)"',
        '[[lookup]] 2 "shop products", on: ',
        "string",
        "int",
    ),
    "no such master": (
        "masters/shop",
        "masters/shops",
        '[[lookup]] 2 "shop products", master: there is nothing at',
    ),
    "a master of another kind": (
        'master = "masters/shop"',
        'master = "mysql://localhost/db"',
        '[[lookup]] 2 "shop products", master: ',
    ),
    "unknown option of a master": (
        'replaces = "code"',
        'replaces = "code"\noptions = { speed = "fast" }',
        "master: 'speed' isn't an option",
    ),
    "unknown column of a master": (
        'key = "supplier_id"',
        'key = "supplier_id"\ncolumns = ["name"]',
        '[[lookup]] 3 "suppliers", master: ',
        "name",
    ),
    "columns that clash": (
        'replaces = "product"',
        'replaces = "product"\n\n[[lookup]]\nname = "again"\nmaster = "masters/web"\nkey = "number"\n'
        'on = "product"',
        "[[lookup]] 2 \"again\", columns: 'product_key' is in the stream and in the master",
        "suffix",
    ),
    "status taken": ('replaces = "code"', 'status = "quantity"', "status: 'quantity' is a column already"),
    "memory too small": (
        'memory = "8MiB"',
        'memory = "20KiB"',
        '[[lookup]] 1 "web products", on: ',
        "at least",
    ),
    "unknown column in a derived one": (
        "quantity * price",
        "quantity * prize",
        "[columns], total: ",
        "`prize`",
        "pipeline.toml",
    ),
    "a replaced column in a derived one": ("quantity * price", "quantity * product", "[columns], total: "),
    "unknown column of the sink": (
        SINK,
        f'{SINK}\ncolumns = ["amount"]',
        "[sink], columns: 'amount' is no column",
    ),
    "unknown key of the sink": (
        SINK,
        'format = "sql"\nurl = "sqlite:///w.db"\ntable = "t"\nkey = "product"',
        "[sink], key: 'product' is no column of the output",
    ),
    "a sink of another kind": (
        SINK,
        'format = "sql"\nurl = "oracle://localhost/w"\ntable = "t"',
        "[sink], url: names no database",
    ),
    "unknown column that says which row wins": (
        SINK,
        'format = "sql"\nurl = "sqlite:///w.db"\ntable = "t"\nkey = "sale_id"\nlatest = "soldat"',
        "[sink], latest: 'soldat' is no column of the output",
    ),
    "a secret that nobody gave": (
        SINK,
        'format = "sql"\nurl = "postgresql://me:${NOBODY_GAVE_THIS}@127.0.0.1/w"\ntable = "t"',
        "[sink], url: ${NOBODY_GAVE_THIS} isn't set in the environment",
    ),
    "a database that isn't there": (
        SINK,
        'format = "sql"\nurl = "postgresql://me@127.0.0.1:1/w"\ntable = "t"',
        "[sink], url: PostgreSQL: ",
    ),
    "a sink that is a file": (
        SINK,
        'format = "parquet"\npath = "pipeline.toml"',
        "[sink], path: ",
        "is a file",
    ),
    "a sink below a file": (
        SINK,
        'format = "delta"\npath = "pipeline.toml/x"',
        "[sink], path: ",
        "is a file",
    ),
    "a database below a file": (
        SINK,
        'format = "sql"\nurl = "sqlite:///pipeline.toml/w.db"\ntable = "t"',
        "[sink], url: ",
        "is a file",
    ),
    "a sink that is a url": (
        SINK,
        'format = "parquet"\npath = "s3a://w/t"',
        "[sink], path: s3a://w/t is a URL",
    ),
    "a sink that is something else": (
        SINK,
        'format = "parquet"\npath = "masters/web"',
        "[sink], path: ",
        "holds",
    ),
    "a table that is none": (
        SINK,
        'format = "delta"\npath = "masters/web"',
        "[sink], path: ",
        "holds something that is no Delta table",
    ),
    "a column that the sink calls its own": (
        "[columns]",
        '[columns]\nsemistream_batch = "1"',
        "[sink], path: column 'semistream_batch' is the name under which batches lie",
    ),
    "a derived column of ours": (
        "[columns]",
        '[columns]\n__semistream_x = "1"',
        "[columns], __semistream_x: names that begin with",
    ),
    "a type that the sink hasn't": (
        'total = "cast(quantity * price as double)"\n\n[sink]\n' + SINK,
        'parts = "array(quantity)"\n\n[sink]\nformat = "sql"\nurl = "sqlite:///w.db"\ntable = "t"',
        "[sink], url: column 'parts' is list",
        "to_json",
    ),
    "quarantine in the sink": (
        'path = "state/quarantine"',
        'path = "warehouse/sales"',
        "[quarantine], path: ",
    ),
    "checkpoint is a file": ('checkpoint = "state/checkpoint"', 'checkpoint = "pipeline.toml"', "is a file"),
    "key of new rows": (
        "[columns]",
        '[new_rows]\nkey = "product"\n[columns]',
        "[new_rows], key: 'product' doesn't go from the lookups to the sink",
    ),
    "key of new rows that is changed": (
        "[columns]",
        '[new_rows]\nkey = "quantity"\n[columns]\nquantity = "quantity + 1"',
        "[new_rows], key: 'quantity' is changed by [columns]",
    ),
    "column of new rows": (
        "[columns]",
        '[new_rows]\nkey = "sale_id"\ncolumn = "total"\n[columns]',
        "[new_rows], column: 'total' is a column already",
    ),
}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Nothing is written, so that all mistakes may share a world."""
    return World(tmp_path_factory.mktemp("world"))


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_named(spark: SparkSession, shared: World, mistake: str) -> None:
    text = shared.file.read_text()
    old, new, *said = MISTAKES[mistake]
    try:
        shared.edit((old, new))
        with pytest.raises(PipelineError) as raised:
            build_pipeline(spark, read_pipeline(shared.file))
    finally:
        shared.write(text)
    for part in said:
        assert part in str(raised.value)
    assert str(shared.file) in str(raised.value)
    assert len(str(raised.value).splitlines()) == 1
    assert {path.name for path in shared.folder.iterdir()} == {"masters", "web", "shop", "pipeline.toml"}


def test_a_column_that_the_quarantine_has(spark: SparkSession, tmp_path: Path) -> None:
    world = World(tmp_path)
    world.edit(
        ('quantity = "quantity"', 'quarantine_reason = "quantity"'),
        ('quantity = "pieces"', 'quarantine_reason = "pieces"'),
        ("quantity * price", "quarantine_reason * price"),
    )
    with pytest.raises(PipelineError, match=r"\[quarantine\], path: a column is called 'quarantine_reason'"):
        build_pipeline(spark, read_pipeline(world.file))


def test_a_master_with_duplicates_that_may_have_none(spark: SparkSession, tmp_path: Path) -> None:
    world = World(tmp_path)
    twice = pa.table({"supplier_id": [1, 2, 2], "supplier_name": ["a", "b", "c"]})
    build(twice, tmp_path / "masters" / "suppliers", "supplier_id").close()
    world.edit(('key = "supplier_id"', 'key = "supplier_id"\nvalidate = "m:1"'))
    with pytest.raises(PipelineError, match=r"\[\[lookup\]\] 3 \"suppliers\", on: .*\b2\b"):
        build_pipeline(spark, read_pipeline(world.file))


def test_a_table_that_does_not_fit(spark: SparkSession, tmp_path: Path) -> None:
    from deltalake import DeltaTable, Field, Schema
    from deltalake.schema import PrimitiveType

    world = World(tmp_path)
    DeltaTable.create(tmp_path / "delta", Schema([Field("sale_id", PrimitiveType("string"))]))
    with sqlite3.connect(tmp_path / "w.db") as connection:
        connection.execute("CREATE TABLE sales (sale_id INTEGER)")
    sinks = {
        'format = "delta"\npath = "delta"': r"\[sink\], path: column 'sale_id' is long here, and string",
        'format = "sql"\nurl = "sqlite:///w.db"\ntable = "sales"': r"\[sink\], table: .* no column 'sold_at'",
    }
    text = world.file.read_text()
    for sink, said in sinks.items():
        world.write(text.replace(SINK, sink))
        with pytest.raises(PipelineError, match=said):
            build_pipeline(spark, read_pipeline(world.file))


def test_the_whole_is_explained(spark: SparkSession, shared: World) -> None:
    built = build_pipeline(spark, read_pipeline(shared.file))
    told = explanation(built)
    assert told["lookup web products"].endswith(
        "web on product = number, for source web, replaces product, unmatched: quarantine"
    )
    assert told["memory"] == "8.0 MiB in each Python worker, 2 trips through Python"
    assert told["columns"].startswith("sale_id:bigint,sold_at:timestamp,quantity:int,product_key:bigint")
    assert {path.name for path in shared.folder.iterdir()} == {"masters", "web", "shop", "pipeline.toml"}


def test_a_master_with_duplicates_and_a_suffix(spark: SparkSession, shared: World, tmp_path: Path) -> None:
    """A later lookup meets columns of an earlier one: a suffix keeps both, and one trip is enough."""
    file = tmp_path / "pipeline.toml"
    file.write_text(
        f"""
        [pipeline]
        checkpoint = "checkpoint"
        [[source]]
        name = "web"
        format = "json"
        path = "{shared.folder}/web"
        schema = "sale long, product long"
        [[lookup]]
        name = "products"
        master = "{shared.folder}/masters/web"
        key = "number"
        on = {{ product = "number" }}
        columns = ["supplier_id", "price"]
        status = "found"
        [[lookup]]
        name = "again"
        master = "{shared.folder}/masters/web"
        key = "number"
        on = {{ supplier_id = "number" }}
        columns = ["price"]
        suffix = "_of_supplier"
        [sink]
        format = "parquet"
        path = "out"
        """
    )
    built = build_pipeline(spark, read_pipeline(file))
    assert built.schema.names == ["sale", "product", "supplier_id", "price", "price_of_supplier", "found"]
    assert built.trips == 1
