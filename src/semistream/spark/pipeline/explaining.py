"""What a pipeline would do, in a few named lines; and the session that it runs in, where we create it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from semistream.budget import format_bytes, parse_memory
from semistream.spark.pipeline.building import Built
from semistream.spark.pipeline.file import AVAILABLE_NOW, LookupTable, Pipeline, SinkTable
from semistream.spark.pipeline.secrets import PLACEHOLDER

_REDACTED = "spark.sql.redaction.options.regex"


def explanation(built: Built) -> dict[str, str]:
    """The pipeline, part by part."""
    pipeline = built.pipeline
    parts = {"pipeline": f"{pipeline.name}, {_trigger(pipeline)}, checkpoint {pipeline.checkpoint}"}
    for source in pipeline.sources:
        parts[f"source {source.name}"] = f"{source.format}{f' {source.path}' if source.path else ''}"
    parts["stream"] = ", ".join(f"{name} {kind}" for name, kind in built.stream_types.items())
    if pipeline.dedupe is not None:
        dedupe = pipeline.dedupe
        parts["duplicates"] = f"by {', '.join(dedupe.columns)} within {dedupe.delay} of {dedupe.watermark}"
    for one in pipeline.lookups:
        parts[f"lookup {one.name}"] = _lookup(one)
    if pipeline.lookups:
        size = format_bytes(parse_memory(pipeline.memory))
        trips = "one trip" if built.trips == 1 else f"{built.trips} trips"
        parts["memory"] = f"{size} in each Python worker, {trips} through Python"
    if pipeline.new_rows is not None:
        new_rows = pipeline.new_rows
        parts["new rows"] = (
            f"{new_rows.column}: {', '.join(new_rows.key)} not in the warehouse before the batch"
        )
    parts["sink"] = _sink(pipeline.sink)
    parts["columns"] = built.schema.simpleString().removeprefix("struct<").removesuffix(">")
    if pipeline.quarantine is not None:
        parts["quarantine"] = pipeline.quarantine.path
    return parts


def session_settings(pipeline: Pipeline, given: Mapping[str, str]) -> dict[str, str]:
    """Settings for a session of our own: quiet, and without the secrets of sources in what Spark shows."""
    # Options of a source that hold a secret are hidden in plans, in the log and in the event log.
    secret = [
        re.escape(name)
        for source in pipeline.sources
        for name, value in source.options.items()
        if PLACEHOLDER.search(str(value))
    ]
    settings = {
        "spark.log.level": "FATAL",  # a failure is told once, by us
        "spark.sql.shuffle.partitions": str(os.cpu_count() or 1),  # 200, Spark's default, are for a cluster
        _REDACTED: "(?i)" + "|".join(["url", *secret]),
    }
    return {**settings, **given}


def _trigger(pipeline: Pipeline) -> str:
    if pipeline.trigger == AVAILABLE_NOW:
        return "what is there now"
    return "batch after batch" if pipeline.trigger is None else f"a batch every {pipeline.trigger}"


def _lookup(one: LookupTable) -> str:
    on = ", ".join(name if name == key else f"{name} = {key}" for name, key in one.pairs.items())
    parts = [f"{one.master} on {on}"]
    parts += [f"for source {one.source}"] if one.source is not None else []
    parts += [f"replaces {', '.join(one.replaces)}"] if one.replaces else []
    parts.append(one.how if one.how in ("left_semi", "left_anti") else f"unmatched: {one.unmatched}")
    return ", ".join(parts)


def _sink(sink: SinkTable) -> str:
    if sink.format != "sql":
        return f"{sink.format} {sink.path}"
    by = f", by {', '.join(sink.key)}" if sink.key else ""
    return f"table {sink.table} in {sink.url}{by}"
