"""A table in SQLite, for one machine: the file is seen by every worker there.

SQLite has few types: decimals, dates and times become texts, which sort as they should but for decimals.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from semistream.errors import StoreError
from semistream.spark.pipeline.sinks.base import BatchId
from semistream.spark.pipeline.sinks.database import (
    Target,
    check_columns,
    checked_rows,
    one_line,
    quoted,
)

_WAIT_SECONDS = 60.0  # for another connection's transaction
_UTC = pa.timestamp("us", tz="UTC")


class SqliteDatabase:
    """The file is made by the first write, not by looking."""

    def __init__(self, path: str) -> None:
        self._path = Path(path)
        self._connection: sqlite3.Connection | None = None

    def check(self, target: Target) -> None:
        for field in target.schema:
            kind = _kind(field)
            if field.name == target.latest and kind == "TEXT" and pa.types.is_decimal(field.type):
                raise StoreError(
                    f"latest = {field.name!r} is a decimal, which SQLite compares as a text: cast it"
                )
        there = self._path
        if there.is_dir():
            raise StoreError(f"{there} is a folder: give the path of a file")
        if not there.exists():
            while not there.exists():
                there = there.parent
            if not there.is_dir():
                raise StoreError(f"{there} is a file, and {self._path} can't be below it")
            return
        with self._cursor() as cursor:
            columns = [row[1] for row in cursor.execute(f"PRAGMA table_info({target.quoted})").fetchall()]
            if columns:
                check_columns(target, columns, _unique(cursor, target))

    def last_batch(self, target: Target, query: str) -> int | None:
        if not self._path.exists():
            return None
        with self._cursor() as cursor:
            return _noted(cursor, target, query)

    def write(self, target: Target, batch: BatchId, rows: Iterable[pa.RecordBatch]) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._cursor() as cursor:
            cursor.execute("BEGIN IMMEDIATE")
            last = _noted(cursor, target, batch.query)
            if last is not None and last >= batch.number:
                return  # and the transaction ends with the connection
            cursor.execute(_create(target))
            marks = ", ".join("?" * len(target.schema))
            insert = f"INSERT INTO {target.quoted} ({target.columns}) VALUES ({marks})"
            insert += target.on_conflict(target.quoted)
            for found in checked_rows(target, rows):
                cursor.executemany(insert, zip(*(_values(column) for column in found.columns), strict=True))
            cursor.execute(
                f"CREATE TABLE IF NOT EXISTS {target.notes} (query TEXT PRIMARY KEY, batch INTEGER)"
            )
            cursor.execute(
                f"INSERT INTO {target.notes} VALUES (?, ?) ON CONFLICT DO UPDATE SET batch = excluded.batch",
                (batch.query, batch.number),
            )
            cursor.execute("COMMIT")

    def known(self, target: Target, keys: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        if not self._path.exists():
            return
        with self._cursor() as cursor:
            if not cursor.execute(f"PRAGMA table_info({target.quoted})").fetchall():
                return
            for batch in keys:
                names = batch.schema.names
                same = " AND ".join(f"{quoted(name)} = ?" for name in names)
                find = f"SELECT EXISTS (SELECT 1 FROM {target.quoted} WHERE {same})"
                values = zip(*(_values(column) for column in batch.columns), strict=True)
                found = [bool(cursor.execute(find, row).fetchone()[0]) for row in values]
                yield batch.filter(pa.array(found, pa.bool_()))

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()

    @contextmanager
    def _cursor(self) -> Iterator[sqlite3.Cursor]:
        try:
            if self._connection is None:
                self._connection = sqlite3.connect(self._path, timeout=_WAIT_SECONDS, isolation_level=None)
            yield self._connection.cursor()
        except sqlite3.Error as error:
            raise StoreError(f"SQLite at {self._path}: {one_line(error)}") from None


def _noted(cursor: sqlite3.Cursor, target: Target, query: str) -> int | None:
    if not cursor.execute(f"PRAGMA table_info({target.notes})").fetchall():
        return None
    found = cursor.execute(f"SELECT batch FROM {target.notes} WHERE query = ?", (query,)).fetchone()
    return None if found is None else int(found[0])


def _unique(cursor: sqlite3.Cursor, target: Target) -> list[list[str]]:
    """The sets of columns that are unique in the table."""
    info = cursor.execute(f"PRAGMA table_info({target.quoted})").fetchall()
    found = [[row[1] for row in info if row[5]]]
    for index in cursor.execute(f"PRAGMA index_list({target.quoted})").fetchall():
        if index[2] and not index[4]:  # unique, and of all rows
            found.append(
                [row[2] for row in cursor.execute(f"PRAGMA index_info({quoted(index[1])})").fetchall()]
            )
    return found


def _create(target: Target) -> str:
    columns = [
        f"{quoted(field.name)} {_kind(field)}{' NOT NULL' if field.name in target.key else ''}"
        for field in target.schema
    ]
    if target.key:
        columns.append(f"PRIMARY KEY ({', '.join(quoted(name) for name in target.key)})")
    return f"CREATE TABLE IF NOT EXISTS {target.quoted} ({', '.join(columns)})"


def _kind(field: pa.Field) -> str:
    t = pa.types
    if t.is_integer(field.type) or t.is_boolean(field.type):
        return "INTEGER"
    if t.is_floating(field.type):
        return "REAL"
    if t.is_binary(field.type) or t.is_large_binary(field.type):
        return "BLOB"
    texts = (t.is_string, t.is_large_string, t.is_decimal, t.is_date, t.is_timestamp, t.is_null)
    if any(is_text(field.type) for is_text in texts):
        return "TEXT"
    raise StoreError(
        f"column {field.name!r} is {field.type}, for which SQLite has no type: use to_json in [columns]"
    )


def _values(column: pa.Array) -> list[object]:
    """A column as SQLite takes it."""
    t = pa.types
    if t.is_timestamp(column.type):
        column = column.cast(_UTC if column.type.tz else pa.timestamp("us")).cast(pa.string())
    elif t.is_decimal(column.type) or t.is_date(column.type):
        column = column.cast(pa.string())
    values: list[object] = column.to_pylist()
    return values
