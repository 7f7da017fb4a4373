"""Figures as pictures: one SVG each, with the papers' axes, from a figure's data (`collecting.collect`).

An algorithm looks the same in every picture. What was measured has markers and a line, with its 95 %
interval where there are several repeats; predictions are dashed (corrected) or dotted (the paper's formula).
A value that failed is a cross at the bottom, never a point.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from semistream.errors import MissingDependencyError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INCHES = (5.4, 3.6)
LEGEND_ROW_INCHES = 0.2
LEGEND_COLUMNS = 2
MANY = 60  # points on one line, from which on markers hide it
LOOKS: Mapping[str, tuple[str, str]] = {  # colour by family, marker within it
    "inlj": ("#555555", "x"),
    "meshjoin": ("#8c564b", "o"),
    "r_meshjoin": ("#c49c94", "s"),
    "partitioned_join": ("#7f7f7f", "D"),
    "ssij": ("#bcbd22", "P"),
    "hybridjoin": ("#1f77b4", "o"),
    "hybridjoin_l": ("#5fa8d8", "v"),
    "hybridjoin_pq": ("#0b3d66", "^"),
    "x_hybridjoin": ("#2ca02c", "o"),
    "tuned_x_hybridjoin": ("#0f5c0f", "^"),
    "cachejoin": ("#d62728", "o"),
    "sscj": ("#ff9896", "s"),
    "cachejoin_l": ("#e0679a", "v"),
    "cachejoin_pq": ("#7b1113", "^"),
    "p_cachejoin": ("#9467bd", "o"),
    "op_cachejoin": ("#4b1d78", "^"),
}
OTHERS = ("#1f77b4", "#d62728", "#2ca02c", "#ff7f0e", "#9467bd", "#8c564b", "#0b3d66", "#7f7f7f")
LINES = {"measured": "-", "corrected": "--", "paper": ":"}

Data = Mapping[str, Any]
Drawn = tuple[str, str, str, str, Sequence[Data]]  # label, colour, marker, line, points


def require() -> None:
    """Pictures need matplotlib."""
    if find_spec("matplotlib") is None:
        raise MissingDependencyError(
            "the report needs matplotlib, which isn't installed: pip install 'semistream[experiments]'"
        )


def svg(data: Data) -> str:
    """A figure's data as a picture that stands for itself."""
    require()
    from matplotlib import rc_context
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    lines = _lines(data)
    rows = -(-len(lines) // LEGEND_COLUMNS)
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": data["id"], "font.family": "sans-serif"}):
        height = INCHES[1] + LEGEND_ROW_INCHES * rows
        picture = Figure(figsize=(INCHES[0], height), layout="constrained")
        FigureCanvasSVG(picture)
        axes = picture.add_subplot()
        for line in lines:
            _draw(axes, *line)
        _label(axes, data, lines)
        picture.legend(loc="outside lower center", ncols=LEGEND_COLUMNS, frameon=False, fontsize="small")
        written = io.StringIO()
        picture.savefig(written, format="svg", metadata={"Date": None, "Creator": None})
    return written.getvalue()


def _lines(data: Data) -> list[Drawn]:
    """Series; in a grid of one algorithm a line for each value of the second axis."""
    found: list[Drawn] = []
    for number, series in enumerate(data["series"]):
        colour, marker = LOOKS.get(series["algorithm"], (OTHERS[number % len(OTHERS)], "o"))
        line = LINES[series["source"]]
        if line != "-":
            marker = ""
        if series["label"].endswith(", fixed"):
            line = "-."
        if data["second"] is None:
            found.append((series["label"], colour, marker, line, series["points"]))
            continue
        by_second: dict[object, list[Data]] = {}
        for point in series["points"]:
            by_second.setdefault(point["second"], []).append(point)
        for place, (value, points) in enumerate(by_second.items()):
            told = _told(data["second"], value)
            found.append((told, OTHERS[place % len(OTHERS)], "osv^DPX*"[place % 8], line, points))
    return found


def _draw(axes: Axes, label: str, colour: str, marker: str, line: str, points: Sequence[Data]) -> None:
    xs = [point["x"] for point in points]
    ys = [float("nan") if point["y"] is None else point["y"] for point in points]
    categories = any(isinstance(x, str) for x in xs)
    many = len(points) > MANY
    axes.plot(
        xs,
        ys,
        label=label,
        color=colour,
        marker="" if many else marker,
        linestyle="" if categories else line,
        markersize=4.5,
        linewidth=1.0 if many else 1.3,
        rasterized=many,
    )
    shown = [point for point in points if point["low"] is not None]
    if shown:
        middle = [point["y"] for point in shown]
        reach = (
            [point["y"] - point["low"] for point in shown],
            [point["high"] - point["y"] for point in shown],
        )
        places = [point["x"] for point in shown]
        axes.errorbar(places, middle, yerr=reach, fmt="none", ecolor=colour, capsize=2, linewidth=0.8)
    failed = [point["x"] for point in points if point["y"] is None and point["error"] is not None]
    if failed:
        bottom = [0.02] * len(failed)
        axes.plot(failed, bottom, "x", color=colour, transform=axes.get_xaxis_transform(), markersize=8)


def _label(axes: Axes, data: Data, lines: Sequence[Drawn]) -> None:
    axes.set_xlabel(_named(data["x"]))
    metric = data["metric"]
    name = metric["name"]
    if metric["relative_to"]:
        name += f", in units of {metric['relative_to']}'s"
    axes.set_ylabel(name + (f" ({metric['unit']})" if metric["unit"] else ""))
    values = [point for *_, points in lines for point in points if point["y"] is not None]
    if data["x"]["log"] and values:
        axes.set_xscale("log")
        ticks = sorted({point["x"] for *_, points in lines for point in points})
        if len(ticks) <= 10:
            axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
            axes.minorticks_off()
    if metric["log"] and any(point["y"] > 0 for point in values):
        axes.set_yscale("log")
    elif values:
        axes.set_ylim(bottom=min(0.0, *(point["y"] for point in values)))
    axes.grid(visible=True, linewidth=0.4, alpha=0.5)
    axes.spines[["top", "right"]].set_visible(False)


def _named(axis: Data) -> str:
    return f"{axis['name']} ({axis['unit']})" if axis["unit"] else str(axis["name"])


def _told(axis: Data, value: object) -> str:
    number = f"{value:g}" if isinstance(value, int | float) else str(value)
    return f"{axis['name']} {number} {axis['unit']}".strip()
