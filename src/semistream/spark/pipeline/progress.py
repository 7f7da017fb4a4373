"""What a batch of a pipeline did, from Spark's progress: a plain record for people and for programs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from semistream.spark.metrics import plain_progress, records

OUT = "pipeline"  # the observation of what goes to the warehouse


@dataclass(frozen=True, slots=True)
class BatchRecord:
    """One batch. `late` are rows that the watermark dropped, `behind` is what the sources have beyond it."""

    batch: int
    seconds: float
    rows_in: int
    rows_out: int
    quarantined: int
    late: int
    rows_per_second: float
    cache_hits: int
    cache_misses: int
    loads: int
    bytes_read: int
    held_bytes: int
    behind: str | None

    @property
    def hit_ratio(self) -> float:
        """Of the rows that have a key, those answered without a load."""
        return self.cache_hits / max(1, self.cache_hits + self.cache_misses)

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "hit_ratio": round(self.hit_ratio, 4)}


def batch_record(progress: Any) -> BatchRecord:
    """The record of a progress: a `StreamingQueryProgress`, or what `lastProgress` gives."""
    told = plain_progress(progress)
    found = records(progress)
    out = told["observedMetrics"].get(OUT) or {}
    return BatchRecord(
        batch=int(told["batchId"]),
        seconds=float(told.get("batchDuration") or 0) / 1000,
        rows_in=int(told.get("numInputRows") or 0),
        rows_out=int(out.get("rows_out") or 0),
        quarantined=int(out.get("quarantined") or 0),
        late=sum(int(one.get("numRowsDroppedByWatermark") or 0) for one in told.get("stateOperators") or ()),
        rows_per_second=float(told.get("processedRowsPerSecond") or 0),
        cache_hits=sum(one.cache_hits for one in found),
        cache_misses=sum(one.cache_misses for one in found),
        loads=sum(one.loads for one in found),
        bytes_read=sum(one.bytes_read for one in found),
        held_bytes=max((one.held_bytes for one in found), default=0),
        behind=_behind(told.get("sources") or ()),
    )


def _behind(sources: Any) -> str | None:
    """How far the query is behind its sources, as each of them says it: in rows or in files."""
    amounts: dict[str, int] = {}
    for source in sources:
        for unit, amount in _of_source(source).items():
            amounts[unit] = amounts.get(unit, 0) + amount
    return ", ".join(f"{amount:,} {unit}" for unit, amount in amounts.items()) or None


def _of_source(source: Mapping[str, Any]) -> dict[str, int]:
    metrics = source.get("metrics") or {}
    if "numFilesOutstanding" in metrics:
        return {"files": int(float(metrics["numFilesOutstanding"]))}
    ends = _offset(source.get("endOffset")), _offset(source.get("latestOffset"))
    if all(isinstance(end, dict) and "row" in end for end in ends):
        return {"rows": max(0, ends[1]["row"] - ends[0]["row"])}
    topics = [_partitions(end) for end in ends]
    if topics[0] and topics[1]:
        return {"rows": sum(max(0, last - topics[0].get(part, 0)) for part, last in topics[1].items())}
    return {}


def _offset(value: Any) -> Any:
    if isinstance(value, str):
        try:
            return json.loads(value)
        except ValueError:
            return None
    return value


def _partitions(offset: Any) -> dict[tuple[str, str], int]:
    """Kafka's offsets: topic, partition, number of the record."""
    if not isinstance(offset, dict):
        return {}
    found = {}
    for topic, partitions in offset.items():
        if not isinstance(partitions, dict):
            return {}
        for part, last in partitions.items():
            if not isinstance(last, int):
                return {}
            found[topic, part] = last
    return found
