"""From cells to figures: each figure's series as plain JSON, ready to be drawn.

    {"id", "paper", "title", "claims", "note", "scale",
     "x": {"name", "unit", "log"}, "second": the same or null, "metric": {"key", "name", "unit", "log"},
     "series": [{"label", "algorithm", "source", "points":
                 [{"x", "second", "y", "low", "high", "repeats", "cell", "error"}]}]}

A point whose cell failed has y null and the error; one whose cell hasn't run has both null.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from semistream.errors import SemiStreamError
from semistream.experiments.figure import Axis, Figure, Point, Scale
from semistream.experiments.made import MADE
from semistream.experiments.predicted import predicted
from semistream.experiments.results import CellResult, Interval, Results

Found = dict[str, Any]


def collect(figure: Figure, results: Results, scale: Scale) -> Found:
    """What this figure shows, from what has run so far."""
    series = _made(figure, scale) if figure.made is not None else _measured(figure, results, scale)
    return {
        "id": figure.id,
        "paper": figure.paper,
        "title": figure.title,
        "claims": list(figure.claims),
        "note": figure.note,
        "scale": {"name": scale.name, "share": scale.share, "seed": scale.seed},
        "x": _axis(figure.x),
        "second": None if figure.second is None else _axis(figure.second),
        "metric": {
            "key": figure.metric.key,
            "name": figure.metric.name,
            "unit": figure.metric.unit,
            "log": figure.metric.log,
            "relative_to": figure.metric.relative_to,
        },
        "series": series,
    }


def _axis(axis: Axis) -> Found:
    return {"field": axis.field, "name": axis.name, "unit": axis.unit, "log": axis.log}


def _made(figure: Figure, scale: Scale) -> list[Found]:
    assert figure.made is not None
    return [
        {
            "label": label,
            "algorithm": None,
            "source": "measured",
            "points": [_point(x, None, Interval(float(y), None, None, 1)) for x, y in points],
        }
        for label, points in MADE[figure.made](scale).items()
    ]


def _measured(figure: Figure, results: Results, scale: Scale) -> list[Found]:
    loaded: dict[str, CellResult | None] = {}
    by_series: dict[str, Found] = {}
    for point in figure.points(scale):
        key = point.cell.id
        if key not in loaded:
            loaded[key] = results.load(point.cell)
        series = by_series.setdefault(
            point.series.label,
            {
                "label": point.series.label,
                "algorithm": point.series.algorithm,
                "source": point.series.source,
                "points": [],
            },
        )
        series["points"] += _points(figure, point, loaded[key])
    return _relative(list(by_series.values()), figure.metric.relative_to)


def _points(figure: Figure, point: Point, result: CellResult | None) -> list[Found]:
    metric = point.series.metric or figure.metric.key
    cell = point.cell.id
    if point.series.source != "measured":
        return [_guarded(point, lambda: _predicted(point, metric, result))]
    if result is None or result.error is not None:
        return [{**_point(point.x, point.x2, None, cell), "error": result and result.error}]
    if figure.profile:
        lists = [repeat[metric] for repeat in result.repeats]
        columns = zip(*lists, strict=True)
        return [
            _point(place, None, Interval.of([float(value) for value in values]), cell)
            for place, values in enumerate(columns)
        ]
    return [_point(point.x, point.x2, result.interval(metric), cell)]


def _predicted(point: Point, metric: str, result: CellResult | None) -> Interval:
    return Interval(float(predicted(point.cell, point.series.source, result)[metric]), None, None, 1)


def _guarded(point: Point, work: Callable[[], Interval]) -> Found:
    """A model that can't answer leaves a gap that says why."""
    try:
        return _point(point.x, point.x2, work(), point.cell.id)
    except SemiStreamError as error:
        told = f"{type(error).__name__}: {error}"
        return {**_point(point.x, point.x2, None, point.cell.id), "error": told}


def _point(x: object, second: object, interval: Interval | None, cell: str | None = None) -> Found:
    return {
        "x": x,
        "second": second,
        "y": None if interval is None else interval.mean,
        "low": None if interval is None else interval.low,
        "high": None if interval is None else interval.high,
        "repeats": 0 if interval is None else interval.repeats,
        "cell": cell,
        "error": None,
    }


def _relative(series: Sequence[Found], label: str | None) -> list[Found]:
    """Every value in units of what the series of this label has at the same place."""
    if label is None:
        return list(series)
    base: Mapping[tuple[object, object], float | None] = {
        (point["x"], point["second"]): point["y"]
        for one in series
        if one["label"] == label
        for point in one["points"]
    }
    for one in series:
        for point in one["points"]:
            unit = base.get((point["x"], point["second"]))
            for name in ("y", "low", "high"):
                known = point[name] is not None and unit
                point[name] = point[name] / unit if known else None
    return list(series)
