"""A pipeline while it runs: started, followed batch by batch, stopped when asked to."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import SparkSession

from semistream.errors import QueryError
from semistream.spark.pipeline.analysis import SPARK_ERRORS, first_sentence
from semistream.spark.pipeline.building import Built
from semistream.spark.pipeline.failures import failure
from semistream.spark.pipeline.file import AVAILABLE_NOW
from semistream.spark.pipeline.progress import BatchRecord, batch_record

Tell = Callable[[BatchRecord], None]

_POLL_SECONDS = 0.1
_ENDINGS: tuple[type[Exception], ...] = (*SPARK_ERRORS, ConnectionRefusedError)


@dataclass
class Stopping:
    """Whether somebody wants a run to end. Asked once: after the current batch; twice: at once."""

    asked: int = 0

    def ask(self) -> None:
        self.asked += 1


@dataclass
class Summary:
    """A run as a whole."""

    batches: int = 0
    rows_in: int = 0
    rows_out: int = 0
    quarantined: int = 0
    late: int = 0
    cache_hits: int = 0
    cache_misses: int = 0
    loads: int = 0
    bytes_read: int = 0
    seconds: float = 0.0
    stopped: bool = False
    _began: float = field(default_factory=time.monotonic, repr=False)

    def add(self, record: BatchRecord) -> None:
        self.batches += 1
        for name in ("rows_in", "rows_out", "quarantined", "late", *_COUNTED):
            setattr(self, name, getattr(self, name) + getattr(record, name))

    def as_dict(self) -> dict[str, Any]:
        found = {name: value for name, value in vars(self).items() if not name.startswith("_")}
        found["seconds"] = round(self.seconds, 3)
        found["hit_ratio"] = round(self.cache_hits / max(1, self.cache_hits + self.cache_misses), 4)
        return found

    def end(self, stopped: bool) -> Summary:
        self.seconds, self.stopped = time.monotonic() - self._began, stopped
        return self


_COUNTED = ("cache_hits", "cache_misses", "loads", "bytes_read")


def run_pipeline(spark: SparkSession, built: Built, tell: Tell, stopping: Stopping | None = None) -> Summary:
    """Run until the sources end, somebody asks to stop, or something fails, which is raised. A later run goes
    on from the checkpoint."""
    stopping = stopping or Stopping()
    try:
        query = _start(spark, built)
    except SPARK_ERRORS as error:
        raise QueryError(f"{built.pipeline.file}: Spark can't start it: {first_sentence(error)}") from error
    summary = Summary()
    seen = -1
    until: int | None = None  # a stop was asked for: the batch that may still end
    stopped = False
    try:
        while True:
            active = query.isActive
            seen = _tell_new(query, seen, summary, tell)
            if not active:
                break
            if stopping.asked and until is None:
                until = seen + 1
            idle = stopping.asked and not query.status["isTriggerActive"]
            if stopping.asked > 1 or idle or (until is not None and seen >= until):
                stopped = True
                query.stop()
                break
            time.sleep(_POLL_SECONDS)
        if not stopped:
            # Raises what the query ended with.
            query.awaitTermination()
    except _ENDINGS as error:
        raise failure(error, built.pipeline) from error
    finally:
        with suppress(*_ENDINGS):  # of a Spark that is gone, there is nothing to stop
            if query.isActive:
                query.stop()
    _tell_new(query, seen, summary, tell)
    return summary.end(stopped)


def _start(spark: SparkSession, built: Built) -> Any:
    pipeline, writer = built.pipeline, built.writer
    writer.session = spark
    stream = built.stream.writeStream.queryName(pipeline.name).option(
        "checkpointLocation", pipeline.checkpoint
    )
    if pipeline.trigger == AVAILABLE_NOW:
        stream = stream.trigger(availableNow=True)
    elif pipeline.trigger is not None:
        stream = stream.trigger(processingTime=pipeline.trigger)
    return stream.foreachBatch(writer).start()


def _tell_new(query: Any, seen: int, summary: Summary, tell: Tell) -> int:
    """Tell of the batches that have ended since, each once."""
    for progress in query.recentProgress:
        record = batch_record(progress)
        # A query that waits for data reports the batch to come, without a duration of its own.
        if record.batch <= seen or not _ran(progress):
            continue
        seen = record.batch
        summary.add(record)
        tell(record)
    return seen


def _ran(progress: Any) -> bool:
    return "addBatch" in progress["durationMs"]
