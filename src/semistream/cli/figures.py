"""`semistream figures`: the papers' figures, run again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from semistream.cli import command
from semistream.cli.output import Output

if TYPE_CHECKING:
    from collections.abc import Callable

    from semistream.experiments.runner import Progress

QUICK_PROCESSES = 2


@command
@click.argument("ids", nargs=-1, metavar="[ID]...")
@click.option("--quick", is_flag=True, help="A twentieth of the papers' sizes: minutes instead of hours.")
@click.option("--list", "only_list", is_flag=True, help="Show what there is, and run nothing.")
@click.option(
    "--results", metavar="FOLDER", help="Where results are; results/quick or results/full unless given."
)
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, help="Of all streams.")
@click.option(
    "--processes", type=click.IntRange(min=1), help="Cells run side by side; two if quick, else one."
)
@click.option(
    "--report", metavar="FILE", help="The page with figures and verdicts; FOLDER/report.html unless given."
)
@click.option(
    "--master-millions",
    type=click.FloatRange(min=0, min_open=True),
    default=2,
    show_default=True,
    help="Rows of R, in millions, where a figure does not vary them.",
)
def figures(
    output: Output,
    ids: tuple[str, ...],
    quick: bool,
    only_list: bool,
    results: str | None,
    seed: int,
    processes: int | None,
    report: str | None,
    master_millions: float,
) -> None:
    """Run the papers' figures again, or those named: an ID, or s1 to s5 for all of a paper.

    What has run already isn't run again: broken off, the same command goes on where it was. Raw results
    are in FOLDER/cells, and what each figure shows in FOLDER/figures. The page at the end has all figures,
    and a verdict on each claim of the papers that they show.
    """
    from semistream.experiments import catalogue, plots, runner
    from semistream.experiments import report as page
    from semistream.experiments.claims.evidence import Evidence
    from semistream.experiments.figure import FULL, QUICK
    from semistream.experiments.results import Results

    chosen = catalogue.figures(ids)
    scale = replace(QUICK if quick else FULL, seed=seed, master_millions=master_millions)
    found = Results(runner.folder_of(results, scale.name))
    cells = list(catalogue.cells(chosen, scale))
    if only_list:
        missing = {cell.id for cell in found.missing(cells)}
        output.table(_listed(figure, missing, scale) for figure in chosen)
        return
    plots.require()
    with _shown(output) as show:
        failed = runner.run(cells, found, processes=processes or (QUICK_PROCESSES if quick else 1), show=show)
    evidence = Evidence(found, scale)
    for figure in chosen:
        found.save_figure(evidence.figure(figure.id))
    path = found.folder / "report.html" if report is None else Path(report)
    verdicts = page.write(path, chosen, evidence)
    for result in failed:
        output.note(f"failed: {result.cell.algorithm} ({result.cell.id}): {result.error}")
    output.facts(
        {
            "results": str(found.folder),
            "figures": len(chosen),
            "cells": len({cell.id for cell in cells}),
            "failed": len(failed),
            **{str(verdict): count for verdict, count in page.counted(verdicts).items()},
            "report": str(path),
        }
    )


def _listed(figure: Any, missing: set[str], scale: Any) -> dict[str, Any]:
    ids = {point.cell.id for point in figure.points(scale)}
    return {
        "figure": figure.id,
        "claims": ", ".join(figure.claims),
        "cells": len(ids),
        "done": len(ids - missing),
        "shows": figure.title,
    }


@contextmanager
def _shown(output: Output) -> Iterator[Callable[[Progress], None]]:
    """A bar on a terminal; else a line now and then."""
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
    from rich.progress import Progress as Bar

    if not output.on_terminal:
        yield lambda progress: _tell(output, progress)
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[left]}"),
    )
    with Bar(*columns, console=output.console) as bar:
        task = bar.add_task("cells", total=None, left="")

        def show(progress: Progress) -> None:
            bar.update(
                task,
                total=progress.cells,
                completed=progress.done,
                left=f"{duration(progress.seconds_left)} left",
                description=progress.last.cell.algorithm,
            )

        yield show


TOLD = 20  # cells between two lines


def _tell(output: Output, progress: Progress) -> None:
    if progress.done % TOLD == 0 or progress.done == progress.cells:
        output.note(
            f"{progress.done} of {progress.cells} cells, {progress.failed} failed, "
            f"{duration(progress.seconds_left)} left"
        )


def duration(seconds: float) -> str:
    """
    >>> [duration(seconds) for seconds in (42, 123, 8000)]
    ['42 s', '2 min', '2 h 13 min']
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
