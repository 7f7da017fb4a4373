"""`semistream tune`: settings for one join."""

from __future__ import annotations

from typing import Any

import click

from semistream.cli import command
from semistream.cli.index import pairs
from semistream.cli.output import Output

DEVICES = ("ssd", "hard-disk")


@command
@click.argument("path", type=click.Path(exists=True))
@click.option("--key", multiple=True, required=True, help="A key column; repeat it for a composite key.")
@click.option("--memory", default="64MiB", show_default=True, help="Of the whole join.")
@click.option("--algorithm", help="One of those that `semistream algorithms` lists.")
@click.option("--exponent", type=click.FloatRange(min=0), help="Of Zipf's law; without it give a sample.")
@click.option(
    "--order", type=click.Choice(["frequency", "scattered"]), help="Where frequent keys are in the master."
)
@click.option(
    "--sample",
    type=click.Path(exists=True),
    help="Rows of the stream, as Parquet or Arrow: what isn't told is estimated from them.",
)
@click.option("--on", multiple=True, metavar="STREAM=MASTER", help="Key columns that have other names.")
@click.option("--columns", help="The master's columns to put out, with commas between.")
@click.option("--suffix", help="For master columns whose name the stream has too.")
@click.option("--calibration", type=click.Path(exists=True), help="What `semistream calibrate --json` wrote.")
@click.option("--device", type=click.Choice(DEVICES), default=DEVICES[0], show_default=True)
@click.option(
    "--measure", type=click.IntRange(min=0), default=0, show_default=True, help="Run so many of the best."
)
@click.option("--real", is_flag=True, help="Run them on the master's device, by the wall clock.")
@click.option(
    "--rows", type=click.IntRange(min=100), help="Of the stream that the choice has to be good for."
)
@click.option("--io", type=click.Choice(["cached", "direct"]), help="How a copy is read.")
@click.option("--seed", type=int, default=0, show_default=True)
def tune(
    output: Output,
    path: str,
    key: tuple[str, ...],
    memory: str,
    algorithm: str | None,
    exponent: float | None,
    order: str | None,
    sample: str | None,
    on: tuple[str, ...],
    columns: str | None,
    suffix: str | None,
    calibration: str | None,
    device: str,
    measure: int,
    real: bool,
    rows: int | None,
    io: str | None,
    seed: int,
) -> None:
    """Choose pages a load and the split of memory for a join with the master at PATH.

    Says what was chosen, what it gains over the defaults, and why. The settings are those of
    SemiStreamJoin and lookup_join.
    """
    from semistream.costs.base import FIXED_UNITS, HARD_DISK_2011
    from semistream.join import DEFAULT_ALGORITHM
    from semistream.stores.master import master
    from semistream.tuning.calibration import load_calibration
    from semistream.tuning.tuner import SSD
    from semistream.tuning.tuner import tune as choose

    options: dict[str, Any] = {} if io is None else {"io": io}
    arguments: dict[str, Any] = {
        "on": pairs("--on", on) or None,
        "columns": [name.strip() for name in columns.split(",")] if columns is not None else None,
        "suffix": suffix,
    }
    found = load_calibration(calibration) if calibration is not None else None
    tuned = choose(
        master(path, key=key, **options),
        memory,
        algorithm=algorithm or DEFAULT_ALGORITHM,
        exponent=exponent,
        order=order,
        sample=sample,
        units=found.units if found else FIXED_UNITS,
        device=found.device if found else {"ssd": SSD, "hard-disk": HARD_DISK_2011}[device],
        measure=measure,
        real=real,
        rows=rows,
        seed=seed,
        progress=output.note,
        arguments=arguments,
    )
    if found is None:
        output.note(
            "Unit costs are those the package comes with; `semistream calibrate` measures this machine's."
        )
    output.report(str(tuned), tuned.as_dict())
