"""A query's counters, once they have come through `observe`: plain records, for logs or for Prometheus.

    records(query.lastProgress)          a record for each lookup of a batch
    LookupListener(print)                the same for every batch of every query, as they come

Names are those of Flink's lookup cache in our spelling, where it has one.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from typing import Any

from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)

from semistream.spark.counters import MOSTS, OBSERVED, SUMS

PREFIX = "semistream"
_LOG = logging.getLogger(PREFIX)


@dataclass(frozen=True, slots=True)
class LookupRecord:
    """What one lookup, or several in one trip, did in a batch; `held_bytes` is of the fullest worker."""

    query: str  # the query's name, or its id
    lookup: str  # the `name` that `lookup_join` was given
    batch_id: int
    batch_seconds: float
    rows_in: int
    rows_out: int
    matched: int
    unmatched: int
    null_keys: int
    cache_hits: int
    cache_misses: int
    loads: int
    reads: int
    bytes_read: int
    promotions: int
    evictions: int
    held_bytes: int
    cached_rows: int
    master_version: str

    @property
    def hit_ratio(self) -> float:
        """Of the rows that have a key, those answered without a load."""
        return self.cache_hits / max(1, self.cache_hits + self.cache_misses)

    def as_json(self) -> str:
        """One line of a log."""
        return json.dumps(asdict(self))


def plain_progress(progress: Any) -> dict[str, Any]:
    """A progress as plain values, alike for classic Spark and Connect.

    Connect tells an observed row as its values beside their schema, and leaves out what sources add up to.
    """
    told = json.loads(progress.json) if hasattr(progress, "json") else dict(progress)
    observed = told.get("observedMetrics") or {}
    told["observedMetrics"] = {name: _by_name(row) for name, row in observed.items()}
    for total in ("numInputRows", "inputRowsPerSecond", "processedRowsPerSecond"):
        if told.get(total) is None:
            told[total] = sum(source.get(total) or 0 for source in told.get("sources") or ())
    return told


def records(progress: Any) -> list[LookupRecord]:
    """The lookups in a progress: a `StreamingQueryProgress`, or what `lastProgress` gives.

    Other observations of the query are left alone.
    """
    if progress is None:
        return []
    told = plain_progress(progress)
    found = []
    for name, observed in told["observedMetrics"].items():
        values = observed.get(OBSERVED)
        if not isinstance(values, dict) or not set(SUMS) <= set(values):
            continue
        counted = {name: int(values.get(name) or 0) for name in (*SUMS, *MOSTS)}
        found.append(
            LookupRecord(
                query=str(told.get("name") or told.get("id")),
                lookup=name,
                batch_id=int(told.get("batchId", 0)),
                batch_seconds=float(told.get("batchDuration") or 0) / 1000,
                master_version=str(values.get("master_version") or ""),
                **counted,
            )
        )
    return found


def prometheus(found: list[LookupRecord]) -> str:
    """The records in Prometheus' text format: what the last batch of each lookup did.

    >>> prometheus([])
    ''
    """
    lines = []
    for item in fields(LookupRecord):
        if item.name in ("query", "lookup", "master_version"):
            continue
        lines += [f"# TYPE {PREFIX}_{item.name} gauge"] if found else []
        for record in found:
            labels = ",".join(
                f'{label}="{_escaped(getattr(record, label))}"'
                for label in ("query", "lookup", "master_version")
            )
            lines.append(f"{PREFIX}_{item.name}{{{labels}}} {getattr(record, item.name)}")
    return "\n".join(lines) + "\n" if lines else ""


class LookupListener(StreamingQueryListener):
    """Hands every batch's records to `sink`; None: to the logger `semistream`, one JSON line each.

    What a sink raises is logged and goes no further: a metric never stops a query.
    """

    def __init__(self, sink: Callable[[LookupRecord], object] | None = None) -> None:
        self._sink = sink or (lambda record: _LOG.info(record.as_json()))
        self.latest: dict[tuple[str, str], LookupRecord] = {}

    def onQueryStarted(self, event: QueryStartedEvent) -> None: ...

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        for record in records(event.progress):
            self.latest[record.query, record.lookup] = record
            try:
                self._sink(record)
            except Exception:
                _LOG.exception("the sink of a LookupListener failed")

    def onQueryIdle(self, event: QueryIdleEvent) -> None: ...

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        gone = str(event.id)
        self.latest = {key: value for key, value in self.latest.items() if key[0] != gone}

    def prometheus(self) -> str:
        """The last batch of every lookup, in Prometheus' text format."""
        return prometheus(list(self.latest.values()))


def _by_name(row: Any, schema: Any = None) -> Any:
    """A row, and the rows in it, as dictionaries."""
    if hasattr(row, "asDict"):
        return row.asDict(recursive=True)
    if isinstance(row, dict) and set(row) == {"values", "schema"}:
        return _by_name(row["values"], row["schema"])
    if schema is None or not isinstance(row, list):
        return row
    return {
        field["name"]: _by_name(value, field["type"] if isinstance(field["type"], dict) else None)
        for field, value in zip(schema["fields"], row, strict=True)
    }


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
