"""Where a pipeline's rows go: one file per kind of sink."""

from __future__ import annotations

from semistream.spark.pipeline.file import SinkTable
from semistream.spark.pipeline.sinks.base import BatchId, Sink
from semistream.spark.pipeline.sinks.parquet import ParquetSink

__all__ = ["BatchId", "Sink", "make_sink"]


def make_sink(table: SinkTable) -> Sink:
    """The sink that a file asks for."""
    return ParquetSink(table.place, table.path)
