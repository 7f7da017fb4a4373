"""What a database is asked for, in one Spark task: the whole batch and the note of it, in one transaction.

The note is a row of the table `semistream_batches` beside the target: the last batch of each query.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

from semistream.errors import PipelineError, StoreError
from semistream.spark.pipeline.secrets import resolved
from semistream.spark.pipeline.sinks.base import BatchId

NOTES = "semistream_batches"


@dataclass(frozen=True, slots=True)
class Target:
    """A table, and what is written to it."""

    url: str  # as it was written, with ${NAME}
    table: str
    schema: pa.Schema
    key: tuple[str, ...]
    latest: str | None  # of two rows of a key, the one with the greater value here stays

    @property
    def quoted(self) -> str:
        return quoted(*self.table.split("."))

    @property
    def notes(self) -> str:
        """The table of notes, in the schema of the target."""
        return quoted(*self.table.split(".")[:-1], NOTES)

    @property
    def columns(self) -> str:
        return ", ".join(quoted(name) for name in self.schema.names)

    def on_conflict(self, there: str) -> str:
        """The end of an INSERT: what to do where the key is in the table, which is called `there`."""
        if not self.key:
            return ""
        rest = [name for name in self.schema.names if name not in self.key]
        clause = f" ON CONFLICT ({', '.join(quoted(name) for name in self.key)}) DO "
        if not rest:
            return clause + "NOTHING"
        clause += "UPDATE SET " + ", ".join(f"{quoted(name)} = excluded.{quoted(name)}" for name in rest)
        if self.latest is not None:
            by = quoted(self.latest)
            clause += f" WHERE {there}.{by} IS NULL OR excluded.{by} >= {there}.{by}"
        return clause


class Database(Protocol):
    """A connection. Errors are `StoreError`s whose text is one line without secrets."""

    def check(self, target: Target) -> None:
        """Raise where the table that is there can't take the rows."""

    def last_batch(self, target: Target, query: str) -> int | None:
        """The last batch of this query that was written."""

    def write(self, target: Target, batch: BatchId, rows: Iterable[pa.RecordBatch]) -> None:
        """All rows and the note, or nothing; nothing too where the note says that they are there."""

    def known(self, target: Target, keys: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The keys that are in the table."""

    def close(self) -> None: ...


def connect(url: str) -> Database:
    """A connection to the database of the URL, its `${NAME}`s taken from this process's environment."""
    scheme = url.partition(":")[0]
    if scheme == "sqlite":
        from semistream.spark.pipeline.sinks.sqlite import SqliteDatabase

        return SqliteDatabase(resolved(url).removeprefix("sqlite:///"))
    if scheme in ("postgresql", "postgres"):
        from semistream.spark.pipeline.sinks.postgresql import PostgresqlDatabase

        return PostgresqlDatabase(url)
    raise PipelineError(
        f"{scheme!r} is no database that a sink knows: give sqlite:///PATH or postgresql://USER:${{NAME}}@HOST/DB"
    )


def check_columns(target: Target, there: Iterable[str], unique: Iterable[Iterable[str]]) -> None:
    """A table that exists has the columns, and a unique constraint on the key."""
    names = set(there)
    missing = [name for name in target.schema.names if name not in names]
    if missing:
        raise StoreError(
            f"table {target.table} has no column {missing[0]!r}: add it, choose others with columns = [...], "
            "or name a table that isn't there yet"
        )
    if target.key and set(target.key) not in [set(columns) for columns in unique]:
        raise StoreError(
            f"table {target.table} has no unique constraint on {', '.join(target.key)}: an upsert by this "
            "key needs one, add it"
        )


def checked_rows(target: Target, rows: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The batches with rows, or an error where a key is null: it would never be found again."""
    for batch in rows:
        for name in target.key:
            nulls = batch.column(name).null_count
            if nulls:
                raise StoreError(
                    f"{nulls} rows have a null in {name!r}, which is part of the sink's key: give them a "
                    "value in [columns], or have a lookup drop or quarantine them"
                )
        if batch.num_rows:
            yield batch


def quoted(*names: str) -> str:
    """A name in SQL.

    >>> quoted("public", "sales")
    '"public"."sales"'
    """
    return ".".join('"' + name.replace('"', '""') + '"' for name in names)


def one_line(error: BaseException) -> str:
    return "; ".join(line.strip() for line in str(error).splitlines() if line.strip()) or type(error).__name__
