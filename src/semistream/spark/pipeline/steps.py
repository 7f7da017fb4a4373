"""Duplicates dropped, new rows told apart, columns derived."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from semistream.spark.pipeline.analysis import column, told
from semistream.spark.pipeline.file import INTERNAL, Dedupe
from semistream.spark.pipeline.sources import CORRUPT

_ONE_OF_A_KIND = f"{INTERNAL}_one_of_a_kind"


def without_duplicates(df: DataFrame, dedupe: Dedupe) -> DataFrame:
    """The first row of each key within the watermark. Corrupt records have no key, and all stay."""
    marked = told(dedupe.place, "watermark", lambda: _watermarked(df, dedupe))
    keys = list(dedupe.columns)
    if CORRUPT in df.columns:
        unique = F.when(column(CORRUPT).isNotNull(), F.expr("uuid()"))
        marked = marked.withColumn(_ONE_OF_A_KIND, unique)
        keys.append(_ONE_OF_A_KIND)
    told(dedupe.place, "columns", lambda: marked.select(*(column(name) for name in dedupe.columns)).schema)
    return marked.dropDuplicatesWithinWatermark(keys).drop(_ONE_OF_A_KIND)


def _watermarked(df: DataFrame, dedupe: Dedupe) -> DataFrame:
    marked = df.withWatermark(dedupe.watermark, dedupe.delay)
    marked.schema  # noqa: B018  a Connect session asks its server only now
    return marked
