"""A Parquet file of somebody else's as a side of a workload."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from semistream.workloads.base import Side


def side_of(path: Path, columns: list[str] | None = None) -> Side:
    """The rows of a file in its order, in plain types."""
    schema = plain(pq.read_schema(path))
    if columns is not None:
        schema = pa.schema([schema.field(name) for name in columns])
    return Side(schema, lambda batch_rows: read(path, schema, batch_rows))


def read(path: Path, schema: pa.Schema, batch_rows: int) -> Iterator[pa.RecordBatch]:
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(batch_rows, columns=schema.names):
            columns = [batch[field.name].cast(field.type) for field in schema]
            yield pa.RecordBatch.from_arrays(columns, schema=schema)


def plain(schema: pa.Schema) -> pa.Schema:
    """The types that any reader has: times in microseconds (Spark has no finer ones), text as strings."""
    return pa.schema([pa.field(field.name, _plain(field.type), field.nullable) for field in schema])


def _plain(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", tz=kind.tz)
    return pa.string() if kind == pa.string_view() else kind
