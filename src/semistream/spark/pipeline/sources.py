"""The sources of a pipeline, each brought to the one schema, and their rows together.

A row remembers which source it is from, and what the source couldn't read of it, in columns of our own.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructType

from semistream.spark.pipeline.analysis import SPARK_ERRORS, column, first_sentence, selected, told
from semistream.spark.pipeline.file import INTERNAL, Pipeline, Source
from semistream.spark.pipeline.secrets import resolved_options, without_values
from semistream.spark.source import register
from semistream.spark.source.reader import NAME as ZIPF

SOURCE = f"{INTERNAL}_source"  # the number of the source, from 0
CORRUPT = f"{INTERNAL}_corrupt"  # the record as it was read, where it couldn't be understood

_FILES = ("parquet", "orc", "json", "csv", "text", "xml", "avro")
_WITH_RECORDS = ("json", "csv")  # Spark can give back the records that it can't understand
_DEFAULTS = {"csv": {"header": "true"}}


def read_sources(spark: SparkSession, pipeline: Pipeline) -> DataFrame:
    """All sources as one stream with one schema."""
    quarantined = pipeline.quarantine is not None
    frames = [_one(spark, number, source, quarantined) for number, source in enumerate(pipeline.sources)]
    _check_same_schema(pipeline, frames)
    df = frames[0]
    for other in frames[1:]:
        df = df.unionByName(other, allowMissingColumns=True)
    return df


def user_columns(df: DataFrame) -> list[str]:
    """The columns that the file speaks of."""
    return [name for name in df.columns if not name.startswith(INTERNAL)]


def _one(spark: SparkSession, number: int, source: Source, quarantined: bool) -> DataFrame:
    records = quarantined and source.format in _WITH_RECORDS and "mode" not in source.options
    df = _loaded(spark, source, records)
    raw = column(CORRUPT) if records else F.lit(None).cast("string")
    kept = source.columns or {
        name: "`" + name.replace("`", "``") + "`" for name in df.columns if name != CORRUPT
    }
    for name in kept:
        if name.startswith(INTERNAL):
            raise source.place.error(
                name, f"names of columns that begin with {INTERNAL} are ours: take another"
            )
    own = [F.lit(number).cast("tinyint").alias(SOURCE)]
    own += [raw.alias(CORRUPT)] if quarantined else []
    checked = selected(source.place, df, kept)
    if not records:
        return df.select(*(F.expr(text).alias(name) for name, text in kept.items()), *own)
    # Spark keeps what it could read of a corrupt record; half of a row is none, and its time may be any.
    return df.select(
        *(
            F.when(raw.isNull(), F.expr(text)).otherwise(F.lit(None)).alias(field.name)
            for text, field in zip(kept.values(), checked.schema, strict=True)
        ),
        *own,
    )


def _loaded(spark: SparkSession, source: Source, records: bool) -> DataFrame:
    """What Spark's reader makes of the source."""
    place = source.place
    if source.format in _FILES and source.path is None:
        raise place.error("path", f"is missing: a source of format {source.format!r} reads a folder")
    if source.format == ZIPF:
        register(spark)
    options = {**_DEFAULTS.get(source.format, {}), **source.options}
    if source.format in _WITH_RECORDS and "mode" not in options:
        options["mode"] = "PERMISSIVE" if records else "FAILFAST"
    reader = spark.readStream.format(source.format).options(**resolved_options(options))
    written = [str(value) for value in source.options.values()]
    schema = _schema(spark, source)
    if schema is not None:
        if records:
            schema = StructType([*schema]).add(CORRUPT, StringType())
            reader = reader.option("columnNameOfCorruptRecord", CORRUPT)
        reader = reader.schema(schema)
    try:
        df = reader.load(source.path)
        df.schema  # noqa: B018  a Connect session asks its server only now
    except SPARK_ERRORS as error:
        said = first_sentence(error)
        raise place.error(_blamed(source, said), without_values(said, *written)) from error
    return df


def _schema(spark: SparkSession, source: Source) -> StructType | None:
    """The schema that the reader needs: Parquet and ORC files know theirs, other files don't."""
    place, text = source.place, source.schema
    if text is not None:
        return told(place, "schema", lambda: spark.createDataFrame([], text).schema)
    if source.format in ("parquet", "orc"):
        return told(place, "path", lambda: spark.read.format(source.format).load(source.path).schema)
    if source.format in _FILES and source.format != "text":
        raise place.error(
            "schema",
            f"is missing: {source.format} doesn't say its types; give them as in 'id long, name string'",
        )
    return None


def _blamed(source: Source, said: str) -> str:
    """The key that most likely is wrong when a source can't be loaded."""
    if "DATA_SOURCE_NOT_" in said:  # found, or enabled: a package is missing
        return "format"
    if source.format in _FILES:
        return "path"
    return "options" if source.options else "format"


def _check_same_schema(pipeline: Pipeline, frames: list[DataFrame]) -> None:
    """The sources have the same columns with the same types.

    The key columns of a lookup of one source are that source's own: the others may leave them out.
    """
    own: dict[str, set[str]] = {}
    for lookup in pipeline.lookups:
        for name in (*lookup.pairs, *lookup.replaces) if lookup.source is not None else ():
            own.setdefault(name, set()).add(str(lookup.source))
    schemas = [{field.name: field.dataType for field in df.schema} for df in frames]
    for name in dict.fromkeys(name for schema in schemas for name in schema):
        having = next(i for i, schema in enumerate(schemas) if name in schema)
        other = pipeline.sources[having].name
        for i, source in enumerate(pipeline.sources):
            place, schema = source.place, schemas[i]
            if name not in schema:
                if name in own and source.name not in own[name]:
                    continue
                raise place.error(
                    "columns",
                    f"{name!r} is missing, which source {other!r} has: the sources are brought to one "
                    "schema, so give an expression for it (null is one)",
                )
            if schema[name] != schemas[having][name] and not name.startswith(INTERNAL):
                raise place.error(
                    "columns",
                    f"{name!r} is {schema[name].simpleString()}, and in source {other!r} "
                    f"{schemas[having][name].simpleString()}: cast one of them",
                )
