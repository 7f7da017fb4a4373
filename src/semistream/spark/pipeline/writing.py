"""A micro-batch on its way to the warehouse and to the quarantine: both, or neither.

The quarantine is written first, and the sink's own commit is what counts: a batch that the sink has was
written as a whole, and a replay leaves it alone. One that it lacks is written anew, quarantine and all.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from semistream.errors import QueryError
from semistream.spark.pipeline.output import Output, quarantined
from semistream.spark.pipeline.sinks import BatchId, Sink
from semistream.spark.pipeline.sinks.parquet import ParquetSink


@dataclass
class BatchWriter:
    """What `foreachBatch` calls. It may be pickled, and called in another process (Spark Connect)."""

    name: str  # of the query
    output: Output
    sink: Sink
    quarantine: ParquetSink | None
    stream: tuple[str, ...]  # the columns of the stream
    sources: tuple[str, ...]
    session: SparkSession | None = (
        None  # the one that knows the query; a batch's own doesn't, in classic Spark
    )
    _query: str = field(default="", init=False)

    def __call__(self, batch: DataFrame, number: int) -> None:
        spark = batch.sparkSession
        first = not self._query
        if first:
            self._query = _query_id(self.session or spark, self.name)
        written = BatchId(self._query, number)
        # Only the first batch of a run can have been written before.
        if first and self.sink.resume(spark, written):
            # State and watermark are part of the batch, and move on only when it runs.
            batch.write.format("noop").mode("overwrite").save()
            return
        twice = self.quarantine is not None or self.output.new_rows is not None
        rows = batch.persist() if twice else batch
        try:
            if self.quarantine is not None:
                if first:
                    self.quarantine.resume(spark, written)
                self.quarantine.write(quarantined(rows, self.stream, self.sources), written)
            self.sink.write(self.output.rows(rows, self.sink), written)
        finally:
            if twice:
                rows.unpersist()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "session": None, "_query": ""}


def _query_id(spark: SparkSession, name: str) -> str:
    """The id in the checkpoint: a query keeps it from one start to the next."""
    for query in spark.streams.active:
        if query.name == name:
            return str(query.id)
    raise QueryError(f"Spark runs a batch of query {name!r}, but doesn't list it as active: start it again")
