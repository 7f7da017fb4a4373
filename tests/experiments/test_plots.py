"""Pictures of figures."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import pytest

from semistream.algorithms import names
from semistream.errors import MissingDependencyError
from semistream.experiments import plots


def point(x: object, y: float | None, **changed: object) -> dict[str, Any]:
    base = {"x": x, "second": None, "y": y, "low": None, "high": None, "repeats": 1, "error": None}
    return {**base, **changed}


def data(*series: dict[str, Any], **changed: Any) -> dict[str, Any]:
    """What `collect` gives."""
    return {
        "id": "s0-fig-1",
        "title": "A figure",
        "x": {"name": "memory", "unit": "MB", "log": False},
        "second": None,
        "metric": {"key": "y", "name": "service rate", "unit": "rows/s", "log": False, "relative_to": None},
        "series": list(series),
        **changed,
    }


def line(*points: dict[str, Any], **changed: Any) -> dict[str, Any]:
    return {
        "label": "hybridjoin",
        "algorithm": "hybridjoin",
        "source": "measured",
        "points": points,
        **changed,
    }


def texts(picture: str) -> list[str]:
    return [
        "".join(one.itertext()).strip()
        for one in ElementTree.fromstring(picture).iter()
        if one.tag[-4:] == "text"
    ]


def test_axes_and_legend_are_named() -> None:
    one = line(point(50, 1.0), point(100, 2.0))
    other = line(point(50, 2.0), label="hybridjoin, paper model", source="paper")
    shown = texts(plots.svg(data(one, other)))
    assert {"memory (MB)", "service rate (rows/s)", "hybridjoin", "hybridjoin, paper model"} <= {*shown}


def test_the_same_data_gives_the_same_picture() -> None:
    one = data(line(point(50, 1.0), point(100, 2.0)))
    assert plots.svg(one) == plots.svg(one)


def test_an_interval_a_failure_and_an_empty_figure_change_the_picture() -> None:
    plain = plots.svg(data(line(point(50, 1.0), point(100, 2.0))))
    assert plots.svg(data(line(point(50, 1.0, low=0.5, high=1.5), point(100, 2.0)))) != plain
    gap = plots.svg(data(line(point(50, 1.0), point(100, None))))
    assert plots.svg(data(line(point(50, 1.0), point(100, None, error="StoreError: gone")))) != gap
    assert "memory (MB)" in texts(plots.svg(data(line(point(50, None), point(100, None)))))


def test_a_grid_has_a_line_for_each_value_of_the_second_axis() -> None:
    second = {"name": "exponent", "unit": "", "log": False}
    points = [point(x, x * e, second=e) for e in (0.25, 1.0) for x in (1, 2, 3)]
    assert {"exponent 0.25", "exponent 1"} <= {*texts(plots.svg(data(line(*points), second=second)))}


def test_logarithmic_axes_names_and_long_lines() -> None:
    log = {"name": "R", "unit": "", "log": True}
    metric = {"key": "y", "name": "cost", "unit": "", "log": True, "relative_to": "meshjoin"}
    shown = texts(plots.svg(data(line(point(0.5, 1.0), point(8, 3.0)), x=log, metric=metric)))
    assert {"0.5", "8", "cost, in units of meshjoin's"} <= {*shown}
    words = line(point("variance", 0.5), point("range", 0.7), algorithm=None)
    assert {"variance", "range"} <= {*texts(plots.svg(data(words)))}
    assert "<image" in plots.svg(data(line(*(point(i, 1.0) for i in range(1000))))), "as pixels, not as "
    "1,000 points"


def test_every_algorithm_has_a_look_of_its_own() -> None:
    assert {*plots.LOOKS} == {*names()}
    assert len({*plots.LOOKS.values()}) == len(plots.LOOKS)


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plots, "find_spec", lambda name: None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'semistream\[experiments\]'"):
        plots.svg(data(line(point(50, 1.0))))
