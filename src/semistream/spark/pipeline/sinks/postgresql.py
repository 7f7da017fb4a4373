"""A table in PostgreSQL, through ADBC: rows come by COPY to a temporary table, and go on in one statement."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from semistream.errors import MissingDependencyError, StoreError
from semistream.spark.pipeline.secrets import resolved, without_values
from semistream.spark.pipeline.sinks.base import BatchId
from semistream.spark.pipeline.sinks.database import (
    Target,
    check_columns,
    checked_rows,
    one_line,
    quoted,
)

_ARRIVED = "semistream_arrived"
_WAIT_SECONDS = 60  # for another connection's transaction
_UNIQUE = """
SELECT i.indexrelid::bigint, a.attname::text FROM pg_index i
JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY(i.indkey)
WHERE i.indrelid = to_regclass($1) AND i.indisunique AND i.indpred IS NULL AND i.indexprs IS NULL
"""


class PostgresqlDatabase:
    """One connection, which begins a transaction with its first statement."""

    def __init__(self, url: str) -> None:
        try:
            from adbc_driver_postgresql import dbapi
        except ImportError as error:
            raise MissingDependencyError(
                "a sink in PostgreSQL needs ADBC, which isn't installed: pip install 'semistream[postgres]'"
            ) from error
        self._url = url
        with self._told():
            self._connection = dbapi.connect(resolved(url))
        with self._cursor() as cursor:
            cursor.execute(f"SET lock_timeout = '{_WAIT_SECONDS}s'")

    def check(self, target: Target) -> None:
        for field in target.schema:
            _kind(field)
        with self._cursor() as cursor:
            columns = _columns(cursor, target.quoted)
            if columns:
                cursor.execute(_UNIQUE, (target.quoted,))
                indexes: dict[int, list[str]] = {}
                for index, name in cursor.fetchall():
                    indexes.setdefault(index, []).append(name)
                check_columns(target, columns, indexes.values())

    def last_batch(self, target: Target, query: str) -> int | None:
        with self._cursor() as cursor:
            if not _columns(cursor, target.notes):
                return None
            cursor.execute(f"SELECT batch FROM {target.notes} WHERE query = $1", (query,))
            found = cursor.fetchone()
            return None if found is None else int(found[0])

    def write(self, target: Target, batch: BatchId, rows: Iterable[pa.RecordBatch]) -> None:
        with self._cursor() as cursor:
            if not _columns(cursor, target.notes):
                cursor.execute(f"CREATE TABLE {target.notes} (query text PRIMARY KEY, batch bigint NOT NULL)")
            note = f"INSERT INTO {target.notes} AS n VALUES ($1, $2) ON CONFLICT (query) DO UPDATE "
            note += "SET batch = excluded.batch WHERE n.batch < excluded.batch RETURNING batch"
            # The note comes first: it locks out a task of a driver that was killed.
            cursor.execute(note, (batch.query, batch.number))
            if cursor.fetchone() is None:
                return
            if not _columns(cursor, target.quoted):
                cursor.execute(_create(target))
            self._move(cursor, target, checked_rows(target, rows))
            self._connection.commit()

    def known(self, target: Target, keys: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with self._cursor() as cursor:
            if not _columns(cursor, target.quoted):
                return
            for batch in keys:
                if batch.num_rows == 0:
                    continue
                _arrive(cursor, iter([batch]))
                names = [quoted(name) for name in batch.schema.names]
                same = " AND ".join(f"t.{name} = a.{name}" for name in names)
                cursor.execute(
                    f"SELECT {', '.join(f'a.{name}' for name in names)} FROM {_ARRIVED} a "
                    f"WHERE EXISTS (SELECT 1 FROM {target.quoted} t WHERE {same})"
                )
                found = cursor.fetch_arrow_table()
                yield from found.rename_columns(batch.schema.names).cast(batch.schema).to_batches()

    def close(self) -> None:
        with self._told():
            self._connection.close()

    def _move(self, cursor: Any, target: Target, rows: Iterator[pa.RecordBatch]) -> None:
        """Rows arrive, and each key's best one goes on to the table."""
        if not _arrive(cursor, rows):
            return
        key = ", ".join(quoted(name) for name in target.key)
        order = f" ORDER BY {key}" if key else ""
        if target.latest is not None:
            order += f", {quoted(target.latest)} DESC NULLS LAST"
        distinct = f"DISTINCT ON ({key}) " if key else ""
        cursor.execute(
            f"INSERT INTO {target.quoted} AS there ({target.columns}) "
            f"SELECT {distinct}{target.columns} FROM {_ARRIVED}{order}{target.on_conflict('there')}"
        )

    @contextmanager
    def _cursor(self) -> Iterator[Any]:
        with self._told(), self._connection.cursor() as cursor:
            yield cursor

    @contextmanager
    def _told(self) -> Iterator[None]:
        from adbc_driver_manager import Error

        try:
            yield
        except Error as error:
            raise StoreError(f"PostgreSQL: {without_values(one_line(error), self._url)}") from None


def _arrive(cursor: Any, rows: Iterator[pa.RecordBatch]) -> bool:
    """Rows into the temporary table; False where there are none."""
    first = next(rows, None)
    if first is None:
        return False

    def all_rows() -> Iterator[pa.RecordBatch]:
        yield first
        yield from rows

    cursor.execute(f"DROP TABLE IF EXISTS pg_temp.{_ARRIVED}")
    reader = pa.RecordBatchReader.from_batches(first.schema, all_rows())
    cursor.adbc_ingest(_ARRIVED, reader, mode="create", temporary=True)
    return True


def _columns(cursor: Any, table: str) -> list[str]:
    """The table's columns; none where there is no table."""
    cursor.execute(
        "SELECT attname::text FROM pg_attribute "
        "WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped",
        (table,),
    )
    return [row[0] for row in cursor.fetchall()]


def _create(target: Target) -> str:
    columns = [f"{quoted(field.name)} {_kind(field)}" for field in target.schema]
    if target.key:
        columns.append(f"PRIMARY KEY ({', '.join(quoted(name) for name in target.key)})")
    return f"CREATE TABLE {target.quoted} ({', '.join(columns)})"


_KINDS = {
    pa.bool_(): "boolean",
    pa.int8(): "smallint",
    pa.int16(): "smallint",
    pa.int32(): "integer",
    pa.int64(): "bigint",
    pa.float32(): "real",
    pa.float64(): "double precision",
    pa.string(): "text",
    pa.large_string(): "text",
    pa.binary(): "bytea",
    pa.large_binary(): "bytea",
    pa.date32(): "date",
}


def _kind(field: pa.Field) -> str:
    if field.type in _KINDS:
        return _KINDS[field.type]
    if pa.types.is_timestamp(field.type):
        return "timestamptz" if field.type.tz else "timestamp"
    if pa.types.is_decimal(field.type):
        return f"numeric({field.type.precision}, {field.type.scale})"
    raise StoreError(
        f"column {field.name!r} is {field.type}, for which this sink has no type: use to_json in [columns]"
    )
