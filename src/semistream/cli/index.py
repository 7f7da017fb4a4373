"""`semistream index`: a clustered copy of whatever Spark reads."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from semistream.budget import parse_memory
from semistream.cli import command
from semistream.cli.output import Output
from semistream.errors import ArgumentError, StoreError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_DEFAULTS: dict[str, dict[str, str]] = {"csv": {"header": "true"}}


@command
@click.argument("source")
@click.argument("path", type=click.Path(file_okay=False))
@click.option("--key", multiple=True, required=True, help="A key column; repeat it for a composite key.")
@click.option("--format", "source_format", default="parquet", show_default=True, help="What SOURCE is.")
@click.option("--option", multiple=True, metavar="NAME=VALUE", help="An option of Spark's reader.")
@click.option("--schema", help="The source's columns, as in 'id long, name string'.")
@click.option("--columns", help="The columns to keep, with commas between; the key is always kept.")
@click.option(
    "--order",
    type=click.Choice(["key", "frequency"]),
    default="key",
    show_default=True,
    help="Rows by key, or those asked for most first (for X-HYBRIDJOIN).",
)
@click.option("--sample", help="A part of the stream, to count how often each key is asked for.")
@click.option("--sample-format", default="parquet", show_default=True, help="What the sample is.")
@click.option(
    "--sample-option", multiple=True, metavar="NAME=VALUE", help="An option of the sample's reader."
)
@click.option("--sample-key", multiple=True, help="The stream's key columns, where they have other names.")
@click.option("--page-bytes", default="64KiB", show_default=True, help="The size of a page.")
@click.option("--partitions", type=click.IntRange(min=1), help="Ranges written side by side.")
@click.option("--master", help="Spark's master, such as local[2], or an sc:// address.")
@click.option("--conf", multiple=True, metavar="NAME=VALUE", help="A setting of the Spark session.")
def index(
    output: Output,
    source: str,
    path: str,
    key: tuple[str, ...],
    source_format: str,
    option: tuple[str, ...],
    schema: str | None,
    columns: str | None,
    order: str,
    sample: str | None,
    sample_format: str,
    sample_option: tuple[str, ...],
    sample_key: tuple[str, ...],
    page_bytes: str,
    partitions: int | None,
    master: str | None,
    conf: tuple[str, ...],
) -> None:
    """Cluster a master with Spark: read SOURCE, sort it by its key, and publish it at PATH.

    SOURCE is what Spark loads: files, or the name of a table for jdbc. A running query keeps reading
    the copy that it has open. Values of the form ${NAME} come from the environment, so that no
    password has to stand in a command.
    """
    from semistream.spark.index import build_index
    from semistream.spark.pipeline.analysis import SPARK_ERRORS
    from semistream.spark.session import session_for

    settings = pairs("--option", option), pairs("--sample-option", sample_option), pairs("--conf", conf)
    size = parse_memory(page_bytes)
    with session_for("semistream index", master=master, config=settings[2]) as spark:
        try:
            df = load(spark, source, source_format, settings[0], schema)
            if columns is not None:
                kept = [name.strip() for name in columns.split(",")]
                df = df.select(*(_quoted(name) for name in dict.fromkeys([*key, *kept])))
            seen = None if sample is None else load(spark, sample, sample_format, settings[1], None)
            report = build_index(
                df,
                path,
                key,
                order=order,
                sample=seen,
                sample_key=sample_key or None,
                page_bytes=size,
                partitions=partitions,
                progress=output.note,
            )
        except SPARK_ERRORS as error:
            said = without_values(first_line(error), [*option, *sample_option, *conf])
            raise StoreError(f"Spark couldn't index {source}: {said}") from error
    output.facts({"path": path, **asdict(report)})
    named = key[0] if len(key) == 1 else list(key)
    output.note(f"Next: semistream.master({path!r}, key={named!r})")


def load(
    spark: SparkSession, source: str, source_format: str, options: Mapping[str, str], schema: str | None
) -> DataFrame:
    """What Spark makes of a source."""
    reader = spark.read.format(source_format).options(**{**_DEFAULTS.get(source_format, {}), **options})
    if schema is not None:
        reader = reader.schema(schema)
    if source_format == "jdbc":
        # A query given as an option takes the table's place.
        return reader.load() if "query" in options else reader.option("dbtable", source).load()
    return reader.load(source)


def pairs(flag: str, given: tuple[str, ...]) -> dict[str, str]:
    """NAME=VALUE pairs, with what stands for a value of the environment put in.

    >>> pairs("--option", ("header=true", "sep=="))
    {'header': 'true', 'sep': '='}
    """
    found = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise ArgumentError(f"{flag} takes NAME=VALUE; it was given {name!r} without a value")
        found[name] = re.sub(r"\$\{(\w+)\}", lambda match: _from_environment(flag, match[1]), value)
    return found


def first_line(error: Exception) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)


def without_values(text: str, given: Sequence[str]) -> str:
    """What Spark says, without what these options took from the environment: it may be a password."""
    for name in re.findall(r"\$\{(\w+)\}", " ".join(given)):
        text = text.replace(os.environ.get(name) or "\0", "***")
    return text


def _from_environment(flag: str, name: str) -> str:
    value = os.environ.get(name)
    if value is None:
        raise ArgumentError(f"{flag} asks for ${{{name}}}, which isn't set in the environment; export it")
    return value


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
