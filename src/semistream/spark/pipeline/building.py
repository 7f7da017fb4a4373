"""A pipeline on Spark: everything that can be known to be wrong with it is found here, before it starts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from semistream.spark.pipeline.analysis import column
from semistream.spark.pipeline.file import Pipeline
from semistream.spark.pipeline.lookups import REASON, look_up
from semistream.spark.pipeline.output import Output, check_quarantine_names, quarantined
from semistream.spark.pipeline.progress import OUT
from semistream.spark.pipeline.sinks import make_sink
from semistream.spark.pipeline.sinks.parquet import ParquetSink
from semistream.spark.pipeline.sources import read_sources, user_columns
from semistream.spark.pipeline.steps import without_duplicates
from semistream.spark.pipeline.writing import BatchWriter


@dataclass(frozen=True)
class Built:
    """A pipeline that is ready to start."""

    pipeline: Pipeline
    stream: DataFrame
    writer: BatchWriter
    stream_types: dict[str, str]  # of the sources' one schema
    schema: StructType  # of the warehouse's rows
    trips: int


def build_pipeline(spark: SparkSession, pipeline: Pipeline) -> Built:
    """Check the whole pipeline, and put it together. Nothing is read but schemas, and nothing is written."""
    _check_checkpoint(pipeline)
    df = read_sources(spark, pipeline)
    stream = tuple(user_columns(df))
    types = {name: df.schema[name].dataType.simpleString() for name in stream}
    if pipeline.dedupe is not None:
        df = without_duplicates(df, pipeline.dedupe)
    found = look_up(df, pipeline)
    sink_table = pipeline.sink
    output = Output(
        found.columns,
        pipeline.new_rows,
        pipeline.columns,
        pipeline.place("[columns]"),
        sink_table.columns,
        sink_table.key,
    )
    empty = spark.createDataFrame([], found.df.schema)
    schema = output.checked(pipeline, empty).schema
    sink = make_sink(sink_table)
    sink.check(spark, schema)
    sources = tuple(source.name for source in pipeline.sources)
    quarantine = None
    if pipeline.quarantine is not None:
        quarantine = ParquetSink(pipeline.quarantine.place, pipeline.quarantine.path)
        check_quarantine_names(quarantine.place, stream)
        quarantine.check(spark, quarantined(empty, stream, sources).schema)
        if quarantine.path == sink_table.path:
            raise quarantine.place.error(
                "path", "is the sink's path: give the quarantine a folder of its own"
            )
    writer = BatchWriter(pipeline.name, output, sink, quarantine, stream, sources)
    return Built(pipeline, _observed(found.df), writer, types, schema, found.trips)


def _observed(df: DataFrame) -> DataFrame:
    """Count what goes to the warehouse, and what to the quarantine."""
    bad = column(REASON).isNotNull() if REASON in df.columns else F.lit(False)
    counts = [F.count_if(~bad).alias("rows_out"), F.count_if(bad).alias("quarantined")]
    return df.observe(OUT, *counts)


def _check_checkpoint(pipeline: Pipeline) -> None:
    if Path(pipeline.checkpoint).is_file():
        raise pipeline.place("[pipeline]").error(
            "checkpoint", f"{pipeline.checkpoint} is a file: give the path of a folder"
        )
