"""Where a pipeline's rows go: one file per kind of sink."""

from __future__ import annotations

from semistream.spark.pipeline.file import SinkTable
from semistream.spark.pipeline.sinks.base import BatchId, Sink
from semistream.spark.pipeline.sinks.delta import DeltaSink
from semistream.spark.pipeline.sinks.parquet import ParquetSink
from semistream.spark.pipeline.sinks.sql import SqlSink

__all__ = ["BatchId", "Sink", "make_sink"]


def make_sink(table: SinkTable) -> Sink:
    """The sink that a file asks for."""
    if table.format == "sql":
        return SqlSink(table.place, table.url, table.table, table.key, table.latest)
    if table.format == "delta":
        return DeltaSink(table.place, table.path)
    return ParquetSink(table.place, table.path)
