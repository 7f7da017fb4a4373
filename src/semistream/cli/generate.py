"""`semistream generate`: a workload's master and stream as files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from semistream.cli import command
from semistream.cli.output import Output
from semistream.errors import ArgumentError

if TYPE_CHECKING:
    from semistream.workloads.files import MasterFiles


@command
@click.argument("workload", required=False)
@click.option("--out", type=click.Path(file_okay=False), help="The folder to write: new, or empty.")
@click.option("--list", "list_them", is_flag=True, help="List the workloads and what each can be given.")
@click.option(
    "--master-files",
    type=click.Choice(["parquet", "clustered", "heap"]),
    default="parquet",
    show_default=True,
    help="Parquet, a copy clustered by key, or a heap: a copy in the master's own order, with an index.",
)
@click.option("--file-rows", type=click.IntRange(min=1), default=1_000_000, show_default=True)
@click.option(
    "--scale", type=float, help="Of TPC-H: its scale factor. Of the weather: 1 is the papers' size."
)
@click.option("--master-rows", type=int, help="Of the synthetic master.")
@click.option("--stream-rows", type=int, help="Of the stream; of a data set the first so many.")
@click.option("--exponent", type=float, help="Of Zipf's law; 0 is uniform.")
@click.option("--law", help="exact, or continuous: the papers' generator.")
@click.option(
    "--key-order", help="scattered: frequent keys lie anywhere; frequency: key 0 is the most frequent."
)
@click.option("--master-order", help="How the master's rows lie: key, frequency or scattered.")
@click.option("--drift-every", type=int, help="Rows after which the ranking of the keys rotates.")
@click.option("--drift-share", type=float, help="By which share of the keys it does.")
@click.option("--unmatched", type=float, help="The share of rows whose key the master hasn't got.")
@click.option("--nulls", type=float, help="The share of rows without a key.")
@click.option("--arrivals", help="Adds event_time: constant, bursty or papers.")
@click.option("--rows-per-second", type=float, help="On average, by event_time.")
@click.option("--seed", type=int, help="The same seed gives the same rows.")
def generate(
    output: Output,
    workload: str | None,
    out: str | None,
    list_them: bool,
    master_files: MasterFiles,
    file_rows: int,
    **options: Any,
) -> None:
    """Write the master and the stream of WORKLOAD as files.

    OUT/stream holds Parquet files that Spark's file source takes one after the other; OUT/master is what
    semistream.master opens; OUT/workload.json says how they were made. Options that a workload doesn't have
    are refused: --list shows which it has.
    """
    if list_them:
        output.table(listed())
        return
    if workload is None or out is None:
        raise ArgumentError("give a workload and --out FOLDER; --list shows the workloads")
    from semistream.workloads import catalogue
    from semistream.workloads.files import write

    given = {name: value for name, value in options.items() if value is not None}
    made = catalogue.workload(workload, **given)
    master, stream = write(
        made,
        out,
        master_files=master_files,
        file_rows=file_rows,
        label={"workload": workload, "options": {**catalogue.options(workload), **given}},
        progress=output.note,
    )
    output.facts(
        {
            "workload": workload,
            "path": out,
            "key": ", ".join(made.key),
            "master_rows": master.rows,
            "master_bytes": master.bytes,
            "master_files": master.files,
            "stream_rows": stream.rows,
            "stream_bytes": stream.bytes,
            "stream_files": stream.files,
        }
    )
    key = made.key[0] if len(made.key) == 1 else list(made.key)
    output.note(f"Next: semistream.master({f'{out}/master'!r}, key={key!r}); the stream is {out}/stream")


def listed() -> list[dict[str, str]]:
    """What each workload is, and its options with their defaults."""
    from semistream.workloads.catalogue import about, names, options

    return [
        {
            "workload": name,
            "what": about(name),
            "options": " ".join(
                f"--{option.replace('_', '-')}" + ("" if default is None else f"={default}")
                for option, default in options(name).items()
            ),
        }
        for name in names()
    ]
