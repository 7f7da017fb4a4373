"""Payload of every type that Spark can carry comes through untouched; and masters and streams of no rows."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from functools import reduce
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import semistream as ss
from semistream.columns import HOWS
from semistream.errors import SchemaError
from semistream.spark.types import spark_arrow_type
from tests.spark.masters import plain

pytestmark = pytest.mark.xdist_group("spark")

KEYS = 40
MOMENT = dt.datetime(2024, 2, 29, 12, 0, 0, 123456)

# An Arrow type, the value of each key, and whether Spark's own type differs.
PAYLOAD: dict[str, tuple[pa.DataType, Any]] = {
    "bool": (pa.bool_(), lambda n: n % 2 == 0),
    "int8": (pa.int8(), lambda n: n - 20),
    "int64": (pa.int64(), lambda n: n * 2**50),
    "uint8": (pa.uint8(), lambda n: 255 - n),
    "uint16": (pa.uint16(), lambda n: 65535 - n),
    "uint32": (pa.uint32(), lambda n: 2**32 - 1 - n),
    "uint64": (pa.uint64(), lambda n: 2**64 - 1 - n),
    "float32": (pa.float32(), lambda n: (float("inf"), -0.0, n / 8)[n % 3]),
    "float64": (pa.float64(), lambda n: (float("-inf"), 0.1, n / 7)[n % 3]),
    "decimal": (pa.decimal128(38, 10), lambda n: Decimal(n) / 8 - 2),
    "string": (pa.string(), lambda n: "ü€🙂\0"[: n % 5] * (n % 40)),
    "large_string": (pa.large_string(), lambda n: f"value {n}"),
    "string_view": (pa.string_view(), lambda n: "a long string in a view " * (n % 3)),
    "dictionary": (pa.dictionary(pa.int8(), pa.string()), lambda n: ("red", "green", "")[n % 3]),
    "binary": (pa.binary(), lambda n: b"\0\xff" * (n % 4)),
    "fixed_binary": (pa.binary(3), lambda n: bytes([n, 0, 255])),
    "date": (pa.date32(), lambda n: dt.date(1, 1, 1) + dt.timedelta(days=n * 10_000)),
    "timestamp": (pa.timestamp("us", "Asia/Tokyo"), lambda n: MOMENT.replace(tzinfo=dt.UTC)),
    "timestamp_ns": (pa.timestamp("ns", "UTC"), lambda n: MOMENT.replace(tzinfo=dt.UTC)),
    "timestamp_ntz": (pa.timestamp("ms"), lambda n: MOMENT.replace(microsecond=5000)),
    "duration": (pa.duration("us"), lambda n: dt.timedelta(days=-n, microseconds=n)),
    "list": (pa.list_(pa.string()), lambda n: [None if i % 3 == 2 else f"i{i}" for i in range(n % 6)]),
    "large_list": (pa.large_list(pa.int16()), lambda n: list(range(n % 4))),
    "pair": (pa.list_(pa.float64(), 2), lambda n: [float(n), None]),
    "struct": (
        pa.struct([("x", pa.int64()), ("inner", pa.struct([("y", pa.list_(pa.date32()))]))]),
        lambda n: {"x": n or None, "inner": {"y": [dt.date(2024, 1, 1), None]} if n % 2 else None},
    ),
    "map": (
        pa.map_(pa.string(), pa.int32()),
        lambda n: [(f"k{i}", None if i % 2 else n) for i in range(n % 4)],
    ),
    "deep": (
        pa.list_(pa.struct([("m", pa.map_(pa.int8(), pa.list_(pa.decimal128(5, 2))))])),
        lambda n: [{"m": [(n % 100, [Decimal("1.25"), None])]}, None] * (n % 3),
    ),
}


def master() -> pa.Table:
    columns: dict[str, pa.Array] = {"id": pa.array(range(KEYS), pa.int64())}
    for name, (data_type, value) in PAYLOAD.items():
        values = [None if n % 9 == 4 else value(n) for n in range(KEYS)]
        if pa.types.is_dictionary(data_type):
            columns[name] = pa.array(values, data_type.value_type).dictionary_encode().cast(data_type)
        else:
            columns[name] = pa.array(values, data_type)
    return pa.table(columns)


def as_spark_has_it(table: pa.Table) -> pa.Table:
    fields = [field.with_type(spark_arrow_type(field.type, field.name)) for field in table.schema]
    columns = [_cast(table.column(f.name), f.type) for f in fields]
    return pa.table(columns, schema=pa.schema(fields))


def _cast(column: pa.ChunkedArray, data_type: pa.DataType) -> pa.ChunkedArray:
    if pa.types.is_fixed_size_binary(column.type):
        return pa.chunked_array([pa.array(column.to_pylist(), data_type)])
    return column.cast(data_type)


def events(spark: SparkSession) -> DataFrame:
    return spark.range(100).select((F.col("id") * 7 % (KEYS + 5)).alias("id"), F.col("id").alias("event"))


def test_in_a_batch_query(spark: SparkSession) -> None:
    table = master()
    found = ss.lookup_join(events(spark), ss.master(table, key="id", page_rows=7), how="left", memory="4MiB")
    expected = events(spark).join(spark.createDataFrame(as_spark_has_it(table)), "id", "left")
    types = {f.name: f.dataType for f in found.schema}
    assert types.pop("timestamp_ntz").simpleString() == "timestamp_ntz"  # createDataFrame gives it a zone
    assert types == {f.name: f.dataType for f in expected.drop("timestamp_ntz").schema}
    assert plain(found.collect()) == plain(expected.collect())


def test_in_a_streaming_query_through_a_copy_on_disk(spark: SparkSession, tmp_path: Path) -> None:
    from semistream.stores.clustered_build import build

    table = master()
    build(table, tmp_path / "master", "id", page_rows=7).close()
    events(spark).coalesce(1).write.parquet(str(tmp_path / "stream"))
    stream = spark.readStream.schema("id long, event long").parquet(str(tmp_path / "stream"))
    copy = ss.master(str(tmp_path / "master"), key="id")
    query = (
        ss.lookup_join(stream, copy, how="left", memory="4MiB")
        .writeStream.format("memory")
        .queryName("payload")
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    expected = events(spark).join(spark.createDataFrame(as_spark_has_it(table)), "id", "left")
    assert plain(spark.table("payload").collect()) == plain(expected.collect())


def answers(keys: list[int | None], there: bool, how: str) -> list[tuple[int | None, str | None]]:
    """What a join with a master that has key 3 only, or no row at all, gives."""
    matched = [key for key in keys if there and key == 3]
    others = [key for key in keys if not (there and key == 3)]
    if how in ("inner", "left"):
        return [(k, "three") for k in matched] + [(k, None) for k in others if how == "left"]
    return [(k, None) for k in (matched if how == "left_semi" else others)]


def test_no_rows_on_either_side(spark: SparkSession) -> None:
    """An empty master, one of a single row, an empty stream, a stream of nulls; all in one job."""
    table = pa.table({"id": pa.array([3], pa.int64()), "name": ["three"]})
    streams: dict[str, list[int | None]] = {"some": [1, 2, 3, None, 3], "none": [], "nulls": [None, None]}
    found, expected = [], []
    for there in (False, True):
        master = ss.master(table if there else table.slice(0, 0), key="id")
        for kind, keys in streams.items():
            stream = spark.createDataFrame([(key,) for key in keys], "id long").coalesce(1)
            for how in HOWS:
                case = f"{there} {kind} {how}"
                name = (F.col("name") if how in ("inner", "left") else F.lit(None)).alias("name")
                joined = ss.lookup_join(stream, master, how=how, memory="1MiB")
                found.append(joined.select(F.lit(case).alias("case"), "id", name))
                expected += [(case, *row) for row in answers(keys, there, how)]
    assert plain(reduce(DataFrame.union, found).collect()) == sorted(expected, key=repr)


@pytest.mark.parametrize("how", ["left", "left_anti"])
def test_a_stream_of_empty_batches(spark: SparkSession, tmp_path: Path, how: str) -> None:
    empty = spark.range(0).select("id")
    for _ in range(2):
        empty.write.mode("append").parquet(str(tmp_path / "stream"))
    stream = spark.readStream.schema("id long").parquet(str(tmp_path / "stream"))
    rows = pa.table({"id": [1], "name": ["one"]})
    query = (
        ss.lookup_join(stream, ss.master(rows, key="id"), how=how, name="lookup")
        .writeStream.format("memory")
        .queryName(f"empty_{how}")
        .option("maxFilesPerTrigger", 1)
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    assert spark.table(f"empty_{how}").count() == 0
    told = [p["observedMetrics"]["lookup"]["counters"] for p in query.recentProgress if p["observedMetrics"]]
    assert all(metrics["rows_in"] in (0, None) for metrics in told)


def test_types_that_spark_lacks_are_refused_by_name(spark: SparkSession) -> None:
    for data_type in (pa.decimal256(60, 0), pa.month_day_nano_interval(), pa.list_(pa.decimal256(50, 1))):
        table = pa.table({"id": [1], "amount": pa.array([None], data_type)})
        with pytest.raises(SchemaError, match="amount"):
            ss.lookup_join(spark.range(2), ss.master(table, key="id"), how="left")
        kept = ss.lookup_join(spark.range(2), ss.master(table, key="id"), how="left", columns=[])
        assert kept.columns == ["id"]
