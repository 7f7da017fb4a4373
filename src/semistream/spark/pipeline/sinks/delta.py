"""A Delta table, written by `deltalake`: no JVM package is needed, and any reader of Delta can read it.

The workers write Parquet files into the table's folder; then the driver commits them all, with (query, batch)
as the application's transaction. Files that no commit names are nobody's rows; `vacuum` removes them.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from semistream.errors import MissingDependencyError
from semistream.spark.pipeline.places import Place
from semistream.spark.pipeline.sinks.base import BatchId, refusals
from semistream.spark.pipeline.sinks.parquet import check_folder, having

if TYPE_CHECKING:
    from deltalake import DeltaTable

# What a table may ask of its writers beyond adding files.
_UNDERSTOOD = {"timestampNtz", "appendOnly", "v2Checkpoint"}
_GROUP_BYTES = 32 * 2**20  # Arrow bytes of a row group
_WRITTEN = "name string, bytes long, rows long"


@dataclass(frozen=True)
class DeltaSink:
    """A table on a file system that the driver and all executors share."""

    place: Place
    path: str

    def check(self, spark: SparkSession, schema: StructType) -> None:
        check_folder(self.place, self.path)
        expected = self._delta_schema(schema)
        table = self._table()
        if table is None:
            folder = Path(self.path)
            if folder.is_dir() and any(folder.iterdir()):
                raise self.place.error("path", f"{folder} holds something that is no Delta table")
            return
        self._check_table(table, expected)

    def resume(self, spark: SparkSession, batch: BatchId) -> bool:
        table = self._table()
        last = None if table is None else table.transaction_version(batch.query)
        if last is not None and last >= batch.number:
            return True
        for left in Path(self.path).glob(f"{batch.label}-*.parquet"):
            left.unlink(missing_ok=True)
        return False

    def write(self, df: DataFrame, batch: BatchId) -> None:
        from deltalake import CommitProperties, DeltaTable, Transaction
        from deltalake.exceptions import DeltaError
        from deltalake.transaction import AddAction, RemoveAction

        table = self._table()
        if table is None:
            schema = self._delta_schema(df.schema)
            with refusals(self.path, DeltaError):
                table = DeltaTable.create(self.path, schema, mode="ignore")
        written = df.mapInArrow(_writing(self.path, batch.label), _WRITTEN).collect()
        now = time.time_ns() // 1_000_000
        files: list[AddAction | RemoveAction] = [
            AddAction(row["name"], row["bytes"], {}, now, True, json.dumps({"numRecords": row["rows"]}))
            for row in written
        ]
        if files:
            once = CommitProperties(app_transactions=[Transaction(batch.query, batch.number)])
            with refusals(self.path, DeltaError):
                table.create_write_transaction(files, "append", table.schema(), commit_properties=once)

    def known(self, asked: DataFrame) -> DataFrame | None:
        table = self._table()
        files = [] if table is None else table.file_uris()
        if not files:
            return None
        reader = asked.sparkSession.read.schema(asked.schema)
        return having(reader.parquet(*(f"file://{file}" for file in files)), asked)

    def _table(self) -> DeltaTable | None:
        try:
            from deltalake import DeltaTable
            from deltalake.exceptions import DeltaError
        except ImportError as error:
            raise MissingDependencyError(
                "a delta sink needs deltalake, which isn't installed: pip install 'semistream[delta]'"
            ) from error
        with refusals(self.path, DeltaError):
            return DeltaTable(self.path) if DeltaTable.is_deltatable(self.path) else None

    def _delta_schema(self, schema: StructType) -> Any:
        from deltalake import Schema

        try:
            return Schema.from_arrow(to_arrow_schema(schema, timezone="UTC"))
        except Exception as error:  # whatever deltalake has against a type
            raise self.place.error("format", f"Delta can't hold these columns: {error}") from error

    def _check_table(self, table: DeltaTable, expected: Any) -> None:
        asked = set(table.protocol().writer_features or ()) - _UNDERSTOOD
        settings = table.metadata().configuration
        asked |= {
            name for name in settings if name.startswith(("delta.constraints.", "delta.columnMapping."))
        }
        asked |= {"partitions"} if table.metadata().partition_columns else set()
        if asked:
            raise self.place.error(
                "path",
                f"the table has {', '.join(sorted(asked))}, which this sink can't write: give another one",
            )
        there = {field.name: field.type for field in table.schema().fields}
        ours = {field.name: field.type for field in expected.fields}
        for name in dict.fromkeys([*ours, *there]):
            if there.get(name) != ours.get(name):
                raise self.place.error(
                    "path",
                    f"column {name!r} is {_shown(ours.get(name))} here, and {_shown(there.get(name))} in the "
                    "table: cast it in [columns], choose with columns = [...], or give another table",
                )


def _writing(path: str, label: str) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """What a task does: its rows become a file, and the file's description its only output."""

    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        part = 0 if context is None else context.partitionId()
        name = f"{label}-{part:05d}-{uuid4().hex[:8]}.parquet"
        rows, writer = 0, None
        group: list[pa.RecordBatch] = []
        try:
            for batch in batches:
                if batch.num_rows == 0:
                    continue
                if writer is None:
                    with refusals(path):
                        writer = pq.ParquetWriter(os.path.join(path, name), batch.schema, compression="zstd")
                group.append(batch)
                rows += batch.num_rows
                if sum(held.nbytes for held in group) >= _GROUP_BYTES:
                    with refusals(path):
                        writer.write_table(pa.Table.from_batches(group))
                    group = []
            if writer is not None and group:
                with refusals(path):
                    writer.write_table(pa.Table.from_batches(group))
        finally:
            if writer is not None:
                writer.close()
        if rows:
            size = os.path.getsize(os.path.join(path, name))
            yield pa.record_batch({"name": [name], "bytes": [size], "rows": [rows]})

    return write


def _shown(kind: Any) -> str:
    if kind is None:
        return "missing"
    return str(getattr(kind, "type", kind))
