"""What verdicts are made from: the figures' data, as measured, and what the cost models say beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal, TypeAlias

from semistream.errors import SemiStreamError
from semistream.experiments import catalogue
from semistream.experiments.collecting import collect
from semistream.experiments.figure import Scale, Series
from semistream.experiments.results import Results

Place: TypeAlias = float | str
Line: TypeAlias = Mapping[Place, float]
Form = Literal["paper", "corrected"]


class NotMeasuredError(SemiStreamError):
    """A verdict needs a value that no run gave."""


class Evidence:
    """Every figure's data from a folder of results, made when it is asked for."""

    def __init__(self, results: Results, scale: Scale) -> None:
        self.results, self.scale = results, scale
        self._figures: dict[str, dict[str, Any]] = {}

    def figure(self, name: str) -> dict[str, Any]:
        if name not in self._figures:
            (figure,) = catalogue.figures([name])
            self._figures[name] = collect(figure, self.results, self.scale)
        return self._figures[name]

    def labels(self, figure: str) -> list[str]:
        return [series["label"] for series in self.figure(figure)["series"]]

    def line(self, figure: str, label: str) -> Line:
        """Values by place on the axis."""
        return {point["x"]: point["y"] for point in self._points(figure, label)}

    def lines(self, figure: str, label: str) -> Mapping[Place, Line]:
        """Of a grid: by the second axis, then by the first."""
        found: dict[Place, dict[Place, float]] = {}
        for point in self._points(figure, label):
            found.setdefault(point["second"], {})[point["x"]] = point["y"]
        return found

    def model(self, figure: str, algorithm: str, form: Form) -> Line:
        """What a cost model says of the cells of this figure's series, in the metric's own unit."""
        (row,) = catalogue.figures([figure])
        series = Series(algorithm, algorithm, source=form)
        asked = replace(row, series=(series,), metric=replace(row.metric, relative_to=None))
        found = collect(asked, self.results, self.scale)
        return {point["x"]: point["y"] for point in _whole(figure, found["series"][0])}

    def _points(self, figure: str, label: str) -> list[dict[str, Any]]:
        series = [one for one in self.figure(figure)["series"] if one["label"] == label]
        if not series:
            raise NotMeasuredError(f"{figure} shows no {label}")
        return _whole(figure, series[0])


def _whole(figure: str, series: Mapping[str, Any]) -> list[dict[str, Any]]:
    points: list[dict[str, Any]] = series["points"]
    for point in points:
        if point["y"] is None:
            why = point["error"] or "it hasn't run"
            raise NotMeasuredError(f"{figure} has no value of {series['label']} at {point['x']}: {why}")
    return points
