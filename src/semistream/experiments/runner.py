"""Runs what figures need and nobody has run yet, cell by cell, and keeps each result as it comes.

Cells on the simulated disk run beside each other in processes of their own; on the real disk one at a time,
since they would disturb one another. Broken off, a run goes on where it was: what is done has a file.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path

from semistream.experiments import measuring
from semistream.experiments.cells import Cell
from semistream.experiments.results import CellResult, Results
from semistream.experiments.worlds import masters_in

Group = list[Cell]
LEAST_WORK = 1e-3  # seconds: a cell that can't run is no work at all


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is: cells, and the seconds that are left by the speed so far."""

    done: int
    cells: int
    failed: int
    seconds_left: float
    last: CellResult


def run(
    cells: Iterable[Cell],
    results: Results,
    *,
    processes: int = 1,
    show: Callable[[Progress], None] = lambda progress: None,
) -> list[CellResult]:
    """Run the cells that have no result yet; returns those that failed."""
    groups = measuring.group(results.missing(cells))
    tally = _Tally(groups, results, show)
    simulated = [group for group in groups if group[0].disk == "simulated"]
    simulated.sort(
        key=_work, reverse=True
    )  # the longest first, so that no process ends long after the others
    if processes > 1 and len(simulated) > 1:
        _side_by_side(simulated, processes, tally)
    else:
        for group in simulated:
            tally.take(group, measuring.run(group))
    real = [group for group in groups if group[0].disk == "real"]
    if real:
        with masters_in(results.folder) as masters:
            for group in real:
                tally.take(group, measuring.run(group, masters))
    return tally.failed


def _side_by_side(groups: Sequence[Group], processes: int, tally: _Tally) -> None:
    context = multiprocessing.get_context("spawn")  # forks of a process with threads may hang
    with ProcessPoolExecutor(processes, mp_context=context) as pool:
        running: dict[Future[list[CellResult]], Group] = {}
        waiting = list(reversed(groups))
        try:
            while waiting or running:
                # No more than one in line for each process: an interruption loses little.
                while waiting and len(running) < 2 * processes:
                    group = waiting.pop()
                    running[pool.submit(measuring.run, group)] = group
                finished, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in finished:
                    tally.take(running.pop(future), future.result())
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


class _Tally:
    """What is done, what is left, and how fast it goes."""

    def __init__(self, groups: Sequence[Group], results: Results, show: Callable[[Progress], None]) -> None:
        self._results, self._show = results, show
        self._left = sum(_work(group) for group in groups)
        self._cells = sum(len(group) for group in groups)
        self._began = time.monotonic()
        self._worked = 0.0
        self._done = 0
        self.failed: list[CellResult] = []

    def take(self, group: Group, found: Sequence[CellResult]) -> None:
        self._worked += _work(group)
        self._left -= _work(group)
        for result in found:
            self._results.save(result)
            self._done += 1
            if result.error is not None:
                self.failed.append(result)
            speed = (time.monotonic() - self._began) / max(self._worked, LEAST_WORK)
            left = max(0.0, speed * self._left)
            self._show(Progress(self._done, self._cells, len(self.failed), left, result))


def _work(group: Group) -> float:
    return sum(measuring.expected_seconds(cell) for cell in group)


def folder_of(given: str | None, scale: str) -> Path:
    """Where results are: full and quick runs apart, unless a folder is given."""
    return Path(given) if given is not None else Path("results") / scale
