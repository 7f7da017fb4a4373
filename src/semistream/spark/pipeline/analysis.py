"""Spark's opinion of a part of a pipeline file, told with the file, the table and the key."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TypeVar

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from semistream.errors import SemiStreamError
from semistream.spark.index import raised_by_worker
from semistream.spark.pipeline.places import Place
from semistream.spark.pipeline.secrets import without_values

try:
    from py4j.protocol import Py4JError

    SPARK_ERRORS: tuple[type[Exception], ...] = (PySparkException, Py4JError)
except ImportError:  # a client of Spark Connect alone
    SPARK_ERRORS = (PySparkException,)

T = TypeVar("T")


def told(place: Place, key: str, work: Callable[[], T], *written: str) -> T:
    """What `work` gives; what Spark or this package has against it becomes an error of the file.

    `written` are the texts whose `${NAME}`s may have found their way into a message.
    """
    try:
        return work()
    except SPARK_ERRORS as error:
        raise place.error(key, without_values(first_sentence(error), *written)) from error
    except SemiStreamError as error:
        raise place.error(key, without_values(str(error), *written)) from error


def first_sentence(error: Exception) -> str:
    """What Spark says without its plan, its stack and its state code; our own error where one of our parts
    raised it in a worker."""
    ours = raised_by_worker(error)
    if ours is not None:
        return str(ours)
    text = str(error)
    found = re.search(r"\[[A-Z][A-Z0-9_.]+\] [^\n]+", text)
    line = text.strip().partition("\n")[0] if found is None else found[0]
    return re.split(r" SQLSTATE: |; line \d+ pos \d+", line)[0] or type(error).__name__


def column(name: str) -> Column:
    """A column by its whole name, dots and all."""
    return F.col("`" + name.replace("`", "``") + "`")


def selected(place: Place, df: DataFrame, expressions: Mapping[str, str]) -> DataFrame:
    """The columns with these names and expressions."""
    for name, text in expressions.items():
        check_expression(place, df, name, text)
    return df.select(*(F.expr(text).alias(name) for name, text in expressions.items()))


def with_columns(place: Place, df: DataFrame, expressions: Mapping[str, str]) -> DataFrame:
    """These columns added, one after the other, so that a later one may use an earlier one."""
    for name, text in expressions.items():
        check_expression(place, df, name, text)
        df = df.withColumn(name, F.expr(text))
    return df


def check_expression(place: Place, df: DataFrame, name: str, text: str) -> None:
    """An error where it is no expression, or none of a single row: beside `*` an aggregate can't stand."""
    told(place, name, lambda: df.select("*", F.expr(text).alias(name)).schema)
