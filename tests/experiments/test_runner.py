"""A run goes on where it was broken off, and doesn't depend on how many processes it has."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from semistream.experiments import measuring, runner
from semistream.experiments.cells import Cell
from semistream.experiments.results import CellResult, Results
from semistream.experiments.runner import Progress
from tests.experiments.tiny import cell

CELLS = [cell(name) for name in ("hybridjoin", "meshjoin", "cachejoin", "inlj")]


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[Cell]:
    """The cells that are really run."""
    found: list[Cell] = []
    run = measuring.run

    def noting(cells: Sequence[Cell], folder: Path | None = None) -> list[CellResult]:
        found.extend(cells)
        return run(cells, folder)

    monkeypatch.setattr(measuring, "run", noting)
    return found


def test_what_is_done_is_not_run_again(tmp_path: Path, ran: list[Cell]) -> None:
    results = Results(tmp_path)
    assert runner.run(CELLS, results) == []
    assert len(ran) == len(CELLS)
    runner.run(CELLS, results)
    assert len(ran) == len(CELLS)
    runner.run([*CELLS, cell("sscj")], results)
    assert ran[len(CELLS) :] == [cell("sscj")]


def test_an_interrupted_run_goes_on(tmp_path: Path, ran: list[Cell]) -> None:
    results = Results(tmp_path)

    def interrupt(progress: Progress) -> None:
        if progress.done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        runner.run(CELLS, results, show=interrupt)
    assert len(ran) == 2
    assert len(results.missing(CELLS)) == 2
    runner.run(CELLS, results)
    assert len(ran) == len(CELLS), "each cell ran once"
    assert results.missing(CELLS) == []


def test_progress_counts_cells_and_time(tmp_path: Path) -> None:
    seen: list[Progress] = []
    failing = cell(memory=1_000)
    failed = runner.run([*CELLS, failing], Results(tmp_path), show=seen.append)
    assert [progress.done for progress in seen] == [1, 2, 3, 4, 5]
    assert {progress.cells for progress in seen} == {5}
    assert seen[-1].seconds_left == 0
    assert all(progress.seconds_left >= 0 for progress in seen)
    assert (seen[-1].failed, [result.cell for result in failed]) == (1, [failing])


def test_processes_give_the_same_as_one(tmp_path: Path) -> None:
    """And what an arrival rate shares with its saturated cell runs in one of them."""
    cells = [*CELLS[:2], cell(arrival_rate=50.0), cell("r_meshjoin")]
    one, two = Results(tmp_path / "one"), Results(tmp_path / "two")
    runner.run(cells, one)
    assert runner.run(cells, two, processes=2) == []

    def numbers(results: Results) -> list[list[dict[str, Any]]]:
        loaded = [results.load(wanted) for wanted in cells]
        return [
            [{k: v for k, v in repeat.items() if k != "wall_seconds"} for repeat in found.repeats]
            for found in loaded
            if found is not None
        ]

    assert numbers(one) == numbers(two)
    assert len(numbers(two)) == len(cells)


def test_masters_of_the_real_disk_are_removed(tmp_path: Path) -> None:
    results = Results(tmp_path)
    assert runner.run([cell(disk="real"), cell("cachejoin", disk="real")], results) == []
    assert [path.name for path in tmp_path.iterdir()] == ["cells"]


def test_results_of_each_scale_are_apart() -> None:
    assert runner.folder_of(None, "quick") == Path("results/quick")
    assert runner.folder_of("elsewhere", "quick") == Path("elsewhere")
