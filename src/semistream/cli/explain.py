"""`semistream explain`: what a lookup would do."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from semistream.cli import command
from semistream.cli.index import pairs
from semistream.cli.output import Output
from semistream.errors import ArgumentError, StoreError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType


@command
@click.argument("path")
@click.option("--key", multiple=True, required=True, help="A key column; repeat it for a composite key.")
@click.option("--stream", type=click.Path(), help="A Parquet file or folder with the stream's columns.")
@click.option("--schema", help="The stream's columns, as in 'id long, name string'; starts Spark.")
@click.option("--on", multiple=True, metavar="STREAM=MASTER", help="Key columns that have other names.")
@click.option("--how", default="inner", show_default=True, help="inner, left, left_semi or left_anti.")
@click.option("--columns", help="The master's columns to put out, with commas between.")
@click.option("--suffix", help="For master columns whose name the stream has too.")
@click.option("--memory", default="64MiB", show_default=True, help="Of one Python worker.")
@click.option("--algorithm", help="One of those that `semistream algorithms` lists.")
@click.option("--batch-rows", type=click.IntRange(min=1), default=100_000, show_default=True)
@click.option(
    "--exponent", type=click.FloatRange(min=0), default=1.0, show_default=True, help="Of Zipf's law."
)
@click.option("--trigger", type=float, metavar="SECONDS", help="The query's trigger.")
@click.option("--python-operators", type=click.IntRange(min=1), default=1, show_default=True)
@click.option("--io", type=click.Choice(["cached", "direct"]), help="How a copy is read.")
@click.option("--spark", help="Spark's master, such as local[2], or an sc:// address: looks at its workers.")
@click.option("--conf", multiple=True, metavar="NAME=VALUE", help="A setting of the Spark session.")
def explain(
    output: Output,
    path: str,
    key: tuple[str, ...],
    stream: str | None,
    schema: str | None,
    on: tuple[str, ...],
    how: str,
    columns: str | None,
    suffix: str | None,
    memory: str,
    algorithm: str | None,
    batch_rows: int,
    exponent: float,
    trigger: float | None,
    python_operators: int,
    io: str | None,
    spark: str | None,
    conf: tuple[str, ...],
) -> None:
    """Say what lookup_join would do with the master at PATH, and start nothing.

    The stream's columns come from --stream or --schema. With --spark the workers are looked at too, and
    their number and memory are known.
    """
    import semistream as ss
    from semistream.join import DEFAULT_ALGORITHM

    if (stream is None) == (schema is None):
        raise ArgumentError(
            "the stream's columns are not known: give either --stream FILE or --schema 'id long, name string'"
        )
    options: dict[str, Any] = {} if io is None else {"io": io}
    arguments: dict[str, Any] = {
        "on": pairs("--on", on) or None,
        "how": how,
        "columns": [name.strip() for name in columns.split(",")] if columns is not None else None,
        "suffix": suffix,
        "memory": memory,
        "algorithm": algorithm or DEFAULT_ALGORITHM,
        "batch_rows": batch_rows,
        "exponent": exponent,
        "trigger_seconds": trigger,
        "python_operators": python_operators,
    }
    master = ss.master(path, key=key, **options)
    if stream is not None and spark is None:
        explanation = ss.explain(_schema_of(stream), master, **arguments)
    else:
        from semistream.spark.session import session_for

        settings = pairs("--conf", conf)
        with session_for("semistream explain", master=spark or "local[1]", config=settings) as active:
            columns_of = _spark_schema(_schema_of(stream)) if stream is not None else str(schema)
            df = active.createDataFrame([], columns_of)
            explanation = ss.explain(df if spark is not None else df.schema, master, **arguments)
    output.report(str(explanation), explanation.as_dict())


def _schema_of(stream: str) -> pa.Schema:
    """The columns of a Parquet file, or of the first one in a folder."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from semistream.stores.parquet import parquet_files

    first = parquet_files(Path(stream))[0]
    try:
        return pq.read_schema(first).remove_metadata()
    except (pa.ArrowException, OSError) as error:
        raise StoreError(f"--stream: {first} can't be read as Parquet ({error})") from error


def _spark_schema(schema: pa.Schema) -> StructType:
    from pyspark.sql.pandas.types import from_arrow_schema

    return from_arrow_schema(schema)
