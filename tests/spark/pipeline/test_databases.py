"""The databases behind the SQL sink, without Spark: one transaction for the rows and the note of them."""

from __future__ import annotations

import datetime as dt
import re
import sqlite3
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from semistream.errors import StoreError
from semistream.spark.pipeline.sinks.base import BatchId
from semistream.spark.pipeline.sinks.database import Database, Target, connect
from tests.servers.postgresql import Server, postgresql

SCHEMA = pa.schema(
    {
        "id": pa.int64(),
        "name": pa.string(),
        "at": pa.timestamp("us", tz="UTC"),
        "day": pa.date32(),
        "price": pa.decimal128(10, 2),
        "share": pa.float64(),
        "small": pa.int32(),
        "tiny": pa.int8(),
        "good": pa.bool_(),
        "raw": pa.binary(),
        "local": pa.timestamp("us"),
    }
)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with postgresql() as started:
        yield started


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'below' / 'warehouse.db'}"
    found: Server = request.getfixturevalue("server")
    return found.url()


@pytest.fixture
def table(request: pytest.FixtureRequest) -> str:
    """A name of the test's own: PostgreSQL serves the whole module."""
    return re.sub(r"\W", "_", request.node.name)[:60]


def row(number: int, name: str = "n", second: int = 0) -> dict[str, Any]:
    return {
        "id": number,
        "name": name,
        "at": dt.datetime(2024, 1, 1, 12, 0, second, 5, tzinfo=dt.UTC),
        "day": dt.date(2024, 1, 1),
        "price": Decimal("12.50"),
        "share": 0.25,
        "small": 7,
        "tiny": 3,
        "good": True,
        "raw": b"\x00\x01",
        "local": dt.datetime(2024, 1, 1, 12, 0, 0, 5),
    }


def batches(*rows: dict[str, Any]) -> list[pa.RecordBatch]:
    return [pa.RecordBatch.from_pylist([one], SCHEMA) for one in rows]


def target(url: str, table: str, latest: str | None = None, key: tuple[str, ...] = ("id",)) -> Target:
    return Target(url, table, SCHEMA, key, latest)


def write(to: Target, number: int, *rows: dict[str, Any]) -> None:
    database = connect(to.url)
    try:
        database.check(to)
        database.write(to, BatchId(to.table, number), batches(*rows))
    finally:
        database.close()


def ask(url: str, sql: str) -> list[tuple[Any, ...]]:
    if url.startswith("sqlite"):
        with sqlite3.connect(url.removeprefix("sqlite:///")) as connection:
            return connection.execute(sql).fetchall()
    from adbc_driver_postgresql import dbapi

    with dbapi.connect(url) as connection, connection.cursor() as cursor:
        cursor.execute(sql)
        found: list[tuple[Any, ...]] = cursor.fetchall()
        return found


def names(to: Target) -> dict[int, str]:
    return {found[0]: found[1] for found in ask(to.url, f'SELECT id, name FROM "{to.table}"')}


def test_a_key_is_written_once_and_then_replaced(url: str, table: str) -> None:
    to = target(url, table)
    write(to, 0, row(1, "a"), row(2, "b"))
    write(to, 1, row(2, "c"), row(3, "d"))
    assert names(to) == {1: "a", 2: "c", 3: "d"}


def test_a_batch_that_was_written_is_not_written_again(url: str, table: str) -> None:
    to = target(url, table, key=())
    write(to, 0, row(1), row(2))
    write(to, 0, row(1), row(2))
    assert ask(url, f'SELECT count(*) FROM "{table}"') == [(2,)]
    write(to, 1, row(1))
    assert ask(url, f'SELECT count(*) FROM "{table}"') == [(3,)]
    database = connect(url)
    assert database.last_batch(to, to.table) == 1
    assert database.last_batch(to, "another") is None
    database.close()


def test_a_failure_leaves_nothing(url: str, table: str) -> None:
    to = target(url, table)
    write(to, 0, row(1))

    def failing() -> Iterator[pa.RecordBatch]:
        yield from batches(row(2))
        raise RuntimeError("the stream broke")

    database = connect(url)
    with pytest.raises((RuntimeError, StoreError), match="the stream broke"):
        database.write(to, BatchId(to.table, 1), failing())
    database.close()
    assert names(to) == {1: "n"}
    write(to, 1, row(2))
    assert names(to) == {1: "n", 2: "n"}


def test_the_latest_row_stays(url: str, table: str) -> None:
    to = target(url, table, latest="at")
    write(to, 0, row(1, "new", second=30), row(1, "old", second=10), row(2, "old", second=1))
    write(to, 1, row(1, "older", second=5), row(2, "newer", second=2))
    assert names(to) == {1: "new", 2: "newer"}


def test_known_keys(url: str, table: str) -> None:
    to = target(url, table)
    asked = pa.RecordBatch.from_pydict({"id": pa.array([1, 2, 5, None], pa.int64())})
    assert _known(url, to, asked) == []
    write(to, 0, row(1), row(2))
    assert _known(url, to, asked) == [1, 2]


def _known(url: str, to: Target, asked: pa.RecordBatch) -> list[int]:
    database: Database = connect(url)
    found = [value for batch in database.known(to, [asked]) for value in batch.column("id").to_pylist()]
    database.close()
    return sorted(found)


def test_a_null_in_the_key_is_refused(url: str, table: str) -> None:
    with pytest.raises(StoreError, match=r"1 rows have a null in 'id'"):
        write(target(url, table), 0, row(1), {**row(2), "id": None})


def test_every_type_arrives(url: str, table: str) -> None:
    write(target(url, table), 0, row(1), {name: 2 if name == "id" else None for name in SCHEMA.names})
    columns = ", ".join(f'"{name}"' for name in SCHEMA.names)
    full, empty = ask(url, f'SELECT {columns} FROM "{table}" ORDER BY id')
    assert set(empty[1:]) == {None}
    if url.startswith("sqlite"):
        assert full == (
            *(1, "n", "2024-01-01 12:00:00.000005Z", "2024-01-01", "12.50", 0.25, 7, 3, 1, b"\x00\x01"),
            "2024-01-01 12:00:00.000005",
        )
    else:
        expected = row(1)
        found = dict(zip(SCHEMA.names, full, strict=True))
        assert Decimal(found.pop("price")) == expected.pop("price")
        assert found == expected


def test_a_table_that_is_there_must_fit(url: str, table: str) -> None:
    write(target(url, table, key=()), 0, row(1))
    database = connect(url)
    with pytest.raises(StoreError, match="no unique constraint on id"):
        database.check(target(url, table))
    more = Target(url, table, SCHEMA.append(pa.field("more", pa.int64())), (), None)
    with pytest.raises(StoreError, match="no column 'more'"):
        database.check(more)
    with pytest.raises(StoreError, match=r"'tags' is list.*to_json"):
        database.check(Target(url, "new", pa.schema({"tags": pa.list_(pa.int64())}), (), None))
    database.close()


def test_looking_makes_no_file(tmp_path: Path) -> None:
    to = target(f"sqlite:///{tmp_path / 'warehouse.db'}", "sales")
    database = connect(to.url)
    database.check(to)
    assert database.last_batch(to, to.table) is None
    database.close()
    assert list(tmp_path.iterdir()) == []


def test_errors_hold_no_password(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAREHOUSE_PASSWORD", "not%20the%20word")
    with pytest.raises(StoreError, match="PostgreSQL: ") as raised:
        connect(server.url("${WAREHOUSE_PASSWORD}"))
    assert "word of" not in str(raised.value)
    assert "not%20the" not in str(raised.value)
