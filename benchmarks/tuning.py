"""The tuner's choice beside the best of a grid ten times finer, on masters larger than the tests have.

    python -m benchmarks.tuning [--scale N] [WORKLOAD ...]

The tests' five workloads, with masters and memory N times as large, and no place of the finer grid left out.
Counts are exact and the clock is virtual: only the time that it takes depends on the machine.
"""

from __future__ import annotations

import json
from dataclasses import replace

import click

from semistream.budget import parse_memory
from tests.tuning.finer import compared
from tests.tuning.held_out import WORKLOADS


@click.command()
@click.option("--scale", type=click.IntRange(min=1), default=4, show_default=True)
@click.argument("names", nargs=-1, type=click.Choice([workload.name for workload in WORKLOADS]))
def main(scale: int, names: tuple[str, ...]) -> None:
    """A line of JSON a workload."""
    for small in WORKLOADS:
        if names and small.name not in names:
            continue
        workload = replace(
            small,
            rows=scale * small.rows,
            memory=str(scale * parse_memory(small.memory)),
            pruned_above=float("inf"),
        )
        tuned = workload.tuned()
        found = compared(workload, tuned)
        answer = {
            "workload": workload.name,
            "algorithm": workload.algorithm,
            "exponent": workload.exponent,
            "order": workload.order,
            "rows": workload.rows,
            "memory": workload.memory,
            "ratio_to_best": found.ratio,
            "gain_over_defaults": found.default / found.chosen,
            "chosen": tuned.chosen.settings,
            "best": found.best_choice.settings,
            "places": found.places,
            "ran": found.ran,
        }
        click.echo(json.dumps(answer))


if __name__ == "__main__":
    main()
