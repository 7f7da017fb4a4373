"""A stream and a master for every type of key that Spark can carry."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

import semistream as ss
from semistream.spark.types import spark_arrow_type

NUMBERS = 30
EVENTS = 120


@dataclass(frozen=True)
class KeyCase:
    """One or several key columns: their types on both sides, and the value of each number."""

    stream: tuple[pa.DataType, ...]
    master: tuple[pa.DataType, ...]
    value: Callable[[int], tuple[Any, ...]]

    def stream_names(self, case: str) -> list[str]:
        return [f"{case} {part}" for part in range(len(self.stream))]


def one(stream: pa.DataType, master: pa.DataType, value: Callable[[int], Any]) -> KeyCase:
    return KeyCase((stream,), (master,), lambda n: (value(n),))


def _same(n: int) -> int:
    return n - 5


def _positive(n: int) -> int:
    return n * 7


def _day(n: int) -> dt.date:
    return dt.date(1969, 12, 20) + dt.timedelta(days=n)


def _instant(n: int) -> dt.datetime:
    return dt.datetime(1969, 12, 31, 23, 59, 50, tzinfo=dt.UTC) + dt.timedelta(seconds=n)


def _local(n: int) -> dt.datetime:
    return _instant(n).replace(tzinfo=None)


def _text(n: int) -> str:
    return ("", "ü€🙂", "a", "A", "a ", "\0", "long " * 20)[n % 7] + (str(n // 7) if n >= 7 else "")


def _raw(n: int) -> bytes:
    return b"\xff\0" * (n % 3) + bytes([n])


def _four(n: int) -> bytes:
    return n.to_bytes(4, "big")


ZONED, LOCAL = pa.timestamp("us", "UTC"), pa.timestamp("us")

CASES: dict[str, KeyCase] = {
    "byte": one(pa.int8(), pa.int8(), _same),
    "byte long": one(pa.int8(), pa.int64(), _same),
    "short": one(pa.int16(), pa.int32(), _same),
    "int": one(pa.int32(), pa.int32(), _same),
    "long": one(pa.int64(), pa.int64(), lambda n: _same(n) * 2**40),
    "long byte": one(pa.int64(), pa.int8(), _same),
    "int unsigned": one(pa.int32(), pa.uint8(), _positive),
    "long unsigned": one(pa.int64(), pa.uint64(), _positive),
    "bool": one(pa.bool_(), pa.bool_(), lambda n: n % 3 == 1),
    "date": one(pa.date32(), pa.date32(), _day),
    "date date64": one(pa.date32(), pa.date64(), _day),
    "timestamp": one(ZONED, pa.timestamp("us", "Europe/Berlin"), _instant),
    "timestamp ns": one(ZONED, pa.timestamp("ns", "UTC"), _instant),
    "timestamp_ntz": one(LOCAL, LOCAL, _local),
    "timestamp_ntz s": one(LOCAL, pa.timestamp("s"), _local),
    "decimal": one(pa.decimal128(12, 2), pa.decimal128(12, 2), lambda n: Decimal(_same(n)) / 4),
    "decimal wide": one(pa.decimal128(10, 1), pa.decimal128(38, 6), lambda n: Decimal(_same(n)) / 2),
    "string": one(pa.string(), pa.string(), _text),
    "string large": one(pa.string(), pa.large_string(), _text),
    "string dictionary": one(pa.string(), pa.dictionary(pa.int16(), pa.string()), _text),
    "binary": one(pa.binary(), pa.binary(), _raw),
    "binary fixed": one(pa.binary(), pa.binary(4), _four),
    "int and string": KeyCase(
        (pa.int32(), pa.string()), (pa.int64(), pa.string()), lambda n: (n % 4, _text(n))
    ),
    "three parts": KeyCase(
        (pa.string(), pa.date32(), pa.decimal128(5, 1)),
        (pa.string(), pa.date32(), pa.decimal128(7, 2)),
        lambda n: (_text(n % 5), _day(n % 3), Decimal(n)),
    ),
}


def master_table(case: str) -> pa.Table:
    """Every third number is missing, some stand twice, and one row has no key."""
    kind = CASES[case]
    numbers = [n for n in range(NUMBERS) if n % 3 for _ in range(2 if n % 5 == 1 else 1)]
    values = [kind.value(n) for n in numbers] + [(None,) * len(kind.master)]
    columns = {
        f"k{part}": _array([value[part] for value in values], data_type)
        for part, data_type in enumerate(kind.master)
    }
    labels = [f"{case} {at}" for at in range(len(values))]
    return pa.table({**columns, "label": labels})


def stream_table() -> pa.Table:
    """A key column for each part of each case; every seventh key is null, in composites one part of it."""
    columns: dict[str, pa.Array] = {"event": pa.array(range(EVENTS), pa.int64())}
    for case, kind in CASES.items():
        values = [list(kind.value(n * 11 % NUMBERS)) for n in range(EVENTS)]
        for event in range(0, EVENTS, 7):
            values[event][event % len(kind.stream)] = None
        for part, name in enumerate(kind.stream_names(case)):
            columns[name] = _array([value[part] for value in values], kind.stream[part])
    return pa.table(columns)


def joined(df: DataFrame, case: str, how: str) -> DataFrame:
    """What semistream makes of a case."""
    kind = CASES[case]
    names = kind.stream_names(case)
    master = ss.master(master_table(case), key=[f"k{part}" for part in range(len(names))], page_rows=5)
    on = {name: f"k{part}" for part, name in enumerate(names)}
    stream = df.select("event", *(F.col(f"`{name}`") for name in names))
    return _alike(ss.lookup_join(stream, master, on=on, how=how, memory="4MiB"), case)


def expected(spark: SparkSession, df: DataFrame, case: str, how: str) -> DataFrame:
    """What Spark makes of it."""
    names = CASES[case].stream_names(case)
    table = master_table(case)
    plain = [field.with_type(spark_arrow_type(field.type, field.name)) for field in table.schema]
    master = spark.createDataFrame(table.cast(pa.schema(plain)))
    match: Sequence[Column] = [df[f"`{name}`"] == master[f"k{part}"] for part, name in enumerate(names)]
    # One partition each, merged: 24 joins in one job, without a broadcast for each.
    return _alike(df.join(master.coalesce(1).hint("merge"), on=list(match), how=how), case)


def _alike(df: DataFrame, case: str) -> DataFrame:
    """One shape for all, so that many cases go through Spark in one job."""
    label = F.col("label") if "label" in df.columns else F.lit(None).cast("string")
    return df.select(F.lit(case).alias("case"), F.col("event"), label.alias("label"))


def _array(values: list[Any], data_type: pa.DataType) -> pa.Array:
    if pa.types.is_dictionary(data_type):
        return pa.array(values, data_type.value_type).dictionary_encode().cast(data_type)
    return pa.array(values, data_type)
