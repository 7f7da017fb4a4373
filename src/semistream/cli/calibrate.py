"""`semistream calibrate`: what the cost models' units are on this machine and store."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from semistream.cli import command
from semistream.cli.output import Output, Scalar
from semistream.errors import ArgumentError

if TYPE_CHECKING:
    from semistream.tuning.estimates import Estimate

NANOSECONDS, MILLISECONDS, MEGABYTES = 1e9, 1e3, 1e-6


@command
@click.argument("path", type=click.Path(exists=True))
@click.option("--key", multiple=True, required=True, help="A key column; repeat it for a composite key.")
@click.option(
    "--io",
    type=click.Choice(["direct", "cached"]),
    default="direct",
    show_default=True,
    help="Past the page cache, to measure the device, or through it.",
)
@click.option("--pages", default="1,2,4,8,16,32,64", show_default=True, help="Sizes of a load, in pages.")
@click.option("--repeats", type=click.IntRange(min=1), default=30, show_default=True)
@click.option("--seed", type=int, default=0, show_default=True)
def calibrate(
    output: Output, path: str, key: tuple[str, ...], io: str, pages: str, repeats: int, seed: int
) -> None:
    """Measure what a join's operations and loads cost here, for the master at PATH.

    With --json the answer can be kept in a file, and given to the cost models and to the tuner.
    """
    from semistream.stores.master import master
    from semistream.tuning.calibration import calibrate as measure

    sizes = _sizes(pages)
    found = measure(
        master(path, list(key), io=io), pages=sizes, repeats=repeats, seed=seed, progress=output.note
    )
    if output.as_json:
        output.report("", found.as_dict())
        return
    device = found.estimated_device
    output.table(
        [
            *(_row(name, unit, NANOSECONDS, "ns") for name, unit in found.estimated_units.items()),
            *(
                _row(
                    f"load of {load.pages} pages ({load.bytes_read:,} bytes)",
                    load.seconds,
                    MILLISECONDS,
                    "ms",
                )
                for load in found.loads
            ),
            _row("seek", device.seek_seconds, MILLISECONDS, "ms"),
            _row("bandwidth", device.bandwidth_bytes_per_second, MEGABYTES, "MB/s"),
        ]
    )
    output.note(f"The device serves {device.queue_depth} loads at once. Intervals are 95 %.")


def _row(what: str, found: Estimate, factor: float, unit: str) -> dict[str, Scalar]:
    shown = found.scaled(factor)
    return {"cost of": what, "value": shown.value, "low": shown.low, "high": shown.high, "in": unit}


def _sizes(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError as error:
        raise ArgumentError(f"--pages {text!r} is no list of numbers: give one like 1,4,16") from error
