"""`semistream demo`: sales meet products on their way to a little warehouse, which is checked as a whole."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from semistream.budget import format_bytes, parse_memory
from semistream.cli import command
from semistream.cli.live import BatchView
from semistream.cli.output import Output, Scalar
from semistream.errors import ArgumentError

if TYPE_CHECKING:
    from semistream.spark.demo import Comparison, Shop, Streamed
    from semistream.spark.index import IndexReport
    from semistream.spark.pipeline import BatchRecord

_LOG = "spark.log"


@command
@click.option("--products", type=click.IntRange(min=1), help="In the master; 2,000,000 unless given.")
@click.option("--quick", is_flag=True, help="Little of everything, in half a minute: its ratio says little.")
@click.option("--keep", type=click.Path(file_okay=False), help="A new folder for all of it, which stays.")
def demo(output: Output, products: int | None, quick: bool, keep: str | None) -> None:
    """Stream sales into a warehouse, past a master on disk.

    The inventory sales of paper S2: sales (product_id, quantity, date) come in bursts, by Zipf's law. Each
    meets its product, takes the warehouse's key in the place of product_id, and gets a supplier and a total.
    Then every row is checked, and the same join is timed beside Spark's own. It takes about a minute and a
    half, needs Java, and leaves nothing behind.
    """
    from semistream.spark import demo as example

    scale = example.QUICK if quick else example.FULL
    scale = scale if products is None else replace(scale, products=products)
    with _folder(keep) as folder, ExitStack() as stack:
        shop = example.Shop(folder, scale)
        example.write_pipeline(shop)
        output.note("Starting Spark ...")
        with _standard_error_into(folder / _LOG):
            spark = stack.enter_context(example.demo_session(shop))
        master = example.write_products(spark, shop, output.note)
        output.note(f"\nThe pipeline, {shop.file}:\n\n{shop.file.read_text()}")
        output.note(f"{scale.sales:,} sales come, {scale.per_second:,} a second on average, in bursts ...")
        with BatchView(output, "inventory sales") as view:
            streamed = example.stream_sales(spark, shop, _nothing if output.as_json else view.show)
        output.note("Checking every sale ...")
        example.check_warehouse(shop)
        output.note(
            f"Timing lookup_join and Spark's own join, batches of {scale.compared_rows:,} sales ...\n"
        )
        compared = example.compare(spark, shop)
        if output.as_json:
            output.facts(_numbers(master, streamed, compared))
            return
        output.facts(_facts(master, streamed, compared))
        output.note("\nFrom the warehouse:")
        output.table(_shown(row) for row in example.some_rows(shop, 5))
        output.note(_next_steps(shop, kept=keep is not None))


def _numbers(master: IndexReport, streamed: Streamed, compared: Comparison) -> dict[str, Scalar]:
    """For programs. Every sale has been checked by now."""
    summary = streamed.summary
    return {
        "sales": summary.rows_in,
        "warehouse_rows": summary.rows_out,
        "quarantined": summary.quarantined,
        "batches": summary.batches,
        "seconds": round(summary.seconds, 3),
        "hit_ratio": summary.as_dict()["hit_ratio"],
        "loads": summary.loads,
        "bytes_read": summary.bytes_read,
        "held_bytes": streamed.held_bytes,
        "master_rows": master.rows,
        "master_bytes": master.bytes,
        "compared_batch_rows": compared.batch_rows,
        "lookup_join_seconds": round(compared.lookup_seconds, 3),
        "spark_join_seconds": round(compared.spark_seconds, 3),
        "times_as_fast": round(compared.ratio, 2),
    }


def _facts(master: IndexReport, streamed: Streamed, compared: Comparison) -> dict[str, Scalar]:
    """For people."""
    from semistream.spark.demo import MEMORY

    summary = streamed.summary
    return {
        "sales": f"{summary.rows_in:,} in {summary.seconds:.0f} s, all of them checked",
        "batches": f"{summary.batches}, of {streamed.smallest_batch:,} to {streamed.largest_batch:,} sales",
        "into the warehouse": summary.rows_out,
        "quarantined": f"{summary.quarantined:,}, of products that nobody knows",
        "master": f"{master.rows:,} products, {format_bytes(master.bytes)} on disk",
        "memory of a worker": f"{format_bytes(streamed.held_bytes)} held, "
        f"{format_bytes(parse_memory(MEMORY))} given",
        "answered from it": f"{summary.as_dict()['hit_ratio']:.1%} of the sales",
        "loads for the others": f"{summary.loads:,}, {format_bytes(summary.bytes_read)} read; "
        f"a scan per batch is {format_bytes(master.bytes * summary.batches)}",
        f"{compared.batch_rows:,} with lookup_join": f"{compared.lookup_seconds:.2f} s",
        f"{compared.batch_rows:,} with Spark's own": f"{compared.spark_seconds:.2f} s, "
        f"{compared.ratio:.1f} times as long",
    }


def _shown(row: dict[str, Any]) -> dict[str, Scalar]:
    """A row of the warehouse: numbers of a key have no thousands."""
    return {
        **{name: str(value) for name, value in row.items()},
        "date": row["date"].strftime("%Y-%m-%d %H:%M:%S"),
        "total": f"{row['total']:.2f}",
    }


def _next_steps(shop: Shop, *, kept: bool) -> str:
    called = "semistream"
    if shutil.which(called) is None:  # not on the PATH: beside this interpreter
        called = os.path.relpath(Path(sys.executable).with_name(called))
    if kept:
        file = os.path.relpath(shop.file)
        again = f"{called} run {file}\n    goes on where it ended, once `rows` in it is raised"
    else:
        again = f"{called} demo --keep shop\n    keeps the master, the pipeline file and the warehouse"
    return f"""
Next:
  {again}
  {called} demo --products 20000000
    a master ten times as large, which Spark's own join reads in each batch;
    some minutes, and 3 GB in the temporary folder
  README.md, docs/guide/
    from your own stream and your own table to a sink, in six lines"""


def _nothing(record: BatchRecord) -> None:
    """Of a batch, a program that waits for the one answer hears nothing."""


@contextmanager
def _folder(keep: str | None) -> Iterator[Path]:
    """A new folder: the one asked for, or one that goes again."""
    if keep is None:
        with tempfile.TemporaryDirectory(prefix="semistream-demo-") as folder:
            yield Path(folder)
        return
    kept = Path(keep).absolute()
    if kept.exists() and any(kept.iterdir()):
        raise ArgumentError(f"--keep: {keep} holds files already: give one that is new or empty")
    kept.mkdir(parents=True, exist_ok=True)
    yield kept


@contextmanager
def _standard_error_into(file: Path) -> Iterator[None]:
    """What processes that are started in this block write there, now and later."""
    kept = os.dup(2)
    with file.open("wb") as log:
        os.dup2(log.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
