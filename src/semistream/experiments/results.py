"""What cells gave: one JSON file each, written whole or not at all, so that a run can be broken off.

FOLDER/cells/ID.json      a cell, where and with what it ran, and its measured parts
FOLDER/figures/ID.json    a figure's series, made from these
"""

from __future__ import annotations

import json
import math
import os
import platform
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from semistream.errors import CorruptStoreError
from semistream.experiments.cells import Cell

Repeat = Mapping[str, Any]

# Student's t for a two-sided interval of 95 %, by degrees of freedom; beyond them the normal's.
STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)
NORMAL = 1.96


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean of repeats, with its 95 % interval where there are several."""

    mean: float
    low: float | None
    high: float | None
    repeats: int

    @staticmethod
    def of(values: Sequence[float]) -> Interval:
        """
        >>> Interval.of([4.0])
        Interval(mean=4.0, low=None, high=None, repeats=1)
        """
        count = len(values)
        mean = math.fsum(values) / count
        if count == 1:
            return Interval(mean, None, None, 1)
        variance = math.fsum((value - mean) ** 2 for value in values) / (count - 1)
        student = STUDENT[count - 2] if count - 2 < len(STUDENT) else NORMAL
        half = student * math.sqrt(variance / count)
        return Interval(mean, mean - half, mean + half, count)


@dataclass(frozen=True)
class CellResult:
    """A cell that ran: its measured parts, or the error that it ended with.

    checked: output rows compared in number and by checksum, and those compared value by value.
    capacities: what the memory was split into, and what the join was really given.
    """

    cell: Cell
    repeats: tuple[Repeat, ...] = ()
    checked: Mapping[str, int] = field(default_factory=dict)
    capacities: Mapping[str, Any] = field(default_factory=dict)
    error: str | None = None
    seconds: float = 0.0  # that the run took

    def values(self, metric: str) -> list[float]:
        """The metric in every repeat; those that don't have it are left out."""
        found = (repeat.get(metric) for repeat in self.repeats)
        return [float(value) for value in found if value is not None]

    def interval(self, metric: str) -> Interval | None:
        """None where the cell failed, or has no such metric."""
        values = self.values(metric)
        return Interval.of(values) if values and self.error is None else None

    def as_json(self) -> dict[str, Any]:
        return {
            "cell": self.cell.as_json(),
            "machine": machine(),
            "versions": versions(),
            "capacities": dict(self.capacities),
            "repeats": [dict(repeat) for repeat in self.repeats],
            "checked": dict(self.checked),
            "error": self.error,
            "seconds": self.seconds,
        }

    @staticmethod
    def from_json(made: Mapping[str, Any]) -> CellResult:
        return CellResult(
            Cell.from_json(made["cell"]),
            tuple(made["repeats"]),
            made["checked"],
            made["capacities"],
            made["error"],
            made["seconds"],
        )


class Results:
    """A folder of results."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._cells = folder / "cells"
        self._figures = folder / "figures"

    def load(self, cell: Cell) -> CellResult | None:
        """What this cell gave; None: it hasn't run."""
        path = self._cells / f"{cell.id}.json"
        try:
            made = json.loads(path.read_text())
        except FileNotFoundError:
            return None
        except ValueError as error:
            raise CorruptStoreError(
                f"{path} is no JSON ({error}); remove it, and the cell runs again"
            ) from error
        return CellResult.from_json(made)

    def save(self, result: CellResult) -> None:
        _write(self._cells / f"{result.cell.id}.json", result.as_json())

    def missing(self, cells: Iterable[Cell]) -> list[Cell]:
        """Those that haven't run, or failed; each once, in order."""
        wanted: dict[str, Cell] = {}
        for cell in cells:
            wanted.setdefault(cell.id, cell)
        return [
            cell
            for cell in wanted.values()
            if (result := self.load(cell)) is None or result.error is not None
        ]

    def save_figure(self, figure: Mapping[str, Any]) -> None:
        _write(self._figures / f"{figure['id']}.json", figure)

    def load_figures(self) -> list[dict[str, Any]]:
        """The data of every figure there is, by id."""
        return [json.loads(path.read_text()) for path in sorted(self._figures.glob("*.json"))]


def machine() -> dict[str, Any]:
    return {
        "system": platform.platform(),
        "processor": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
    }


def versions() -> dict[str, str]:
    packages = {name: version(name) for name in ("numba", "numpy", "pyarrow", "semistream")}
    return {"python": platform.python_version(), **packages}


def _write(path: Path, content: Mapping[str, Any]) -> None:
    """Under another name first: whoever reads `path` sees all of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".part")
    try:
        with os.fdopen(descriptor, "w") as file:
            json.dump(content, file, indent=1)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
