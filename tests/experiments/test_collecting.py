"""From results to what a figure shows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from semistream.experiments.catalogue import figures
from semistream.experiments.collecting import collect
from semistream.experiments.figure import QUICK, Axis, Figure, Metric, Series, cell_of
from semistream.experiments.results import CellResult, Results

FIGURE = Figure(
    "s0-fig",
    "S0",
    "A figure",
    ("S0-1",),
    Metric("rows_per_second", "service rate", "rows/s"),
    Axis("memory_mb", "memory", (50, 100, 150), unit="MB"),
    (Series("slow", "meshjoin"), Series("fast", "hybridjoin")),
)


def results_with(folder: Path, figure: Figure, **metrics: list[float]) -> Results:
    """Every cell with metrics by its algorithm: one number for each repeat, times the memory."""
    results = Results(folder)
    for point in figure.points(QUICK):
        times = float(point.x) if figure.x.field == "memory_mb" else 1.0
        repeats = [{figure.metric.key: times * value} for value in metrics[point.series.algorithm]]
        results.save(CellResult(point.cell, tuple(repeats)))
    return results


def series(found: dict[str, Any], label: str) -> list[Any]:
    (points,) = (one["points"] for one in found["series"] if one["label"] == label)
    return [point["y"] for point in points]


def test_points_are_means_with_their_intervals(tmp_path: Path) -> None:
    results = results_with(tmp_path, FIGURE, meshjoin=[1.0], hybridjoin=[1.0, 2.0, 3.0])
    found = collect(FIGURE, results, QUICK)
    assert series(found, "slow") == [50, 100, 150]
    assert series(found, "fast") == [100, 200, 300]
    point = found["series"][1]["points"][0]
    assert point["repeats"] == 3
    assert (point["low"], point["high"]) == pytest.approx((100 - 124.2, 100 + 124.2), rel=1e-3)
    assert found["x"] == {"field": "memory_mb", "name": "memory", "unit": "MB", "log": False}
    results.save_figure(found)
    assert results.load_figures() == [found]


def test_a_failed_cell_leaves_a_gap_with_its_error(tmp_path: Path) -> None:
    results = results_with(tmp_path, FIGURE, meshjoin=[1.0], hybridjoin=[1.0])
    point = next(point for point in FIGURE.points(QUICK) if point.x == 100)
    results.save(CellResult(point.cell, error="StoreError: gone"))
    found = collect(FIGURE, results, QUICK)
    assert series(found, "slow") == [50, None, 150]
    assert [one["error"] for one in found["series"][0]["points"]] == [None, "StoreError: gone", None]


def test_what_has_not_run_is_a_gap_without_error(tmp_path: Path) -> None:
    found = collect(FIGURE, Results(tmp_path), QUICK)
    assert {(p["y"], p["error"]) for one in found["series"] for p in one["points"]} == {(None, None)}


def test_relative_values(tmp_path: Path) -> None:
    relative = replace(FIGURE, metric=replace(FIGURE.metric, relative_to="slow"))
    results = results_with(tmp_path, FIGURE, meshjoin=[2.0], hybridjoin=[5.0])
    found = collect(relative, results, QUICK)
    assert series(found, "slow") == [1, 1, 1]
    assert series(found, "fast") == [2.5, 2.5, 2.5]


def test_an_axis_that_does_not_concern_an_algorithm_is_flat() -> None:
    flat = replace(FIGURE, series=(Series("flat", "meshjoin", follows_axis=False),))
    assert len({point.cell.id for point in flat.points(QUICK)}) == 1
    assert [point.x for point in flat.points(QUICK)] == [50, 100, 150]


def test_a_grid_has_two_axes(tmp_path: Path) -> None:
    grid = replace(FIGURE, second=Axis("exponent", "skew", (0.0, 1.0)))
    results = results_with(tmp_path, grid, meshjoin=[1.0], hybridjoin=[1.0])
    points = collect(grid, results, QUICK)["series"][0]["points"]
    assert [(point["x"], point["second"]) for point in points] == [
        (50, 0.0), (50, 1.0), (100, 0.0), (100, 1.0), (150, 0.0), (150, 1.0)
    ]  # fmt: skip


def test_a_profile_is_drawn_along_the_master(tmp_path: Path) -> None:
    (figure,) = figures(["s3-fig-3"])
    results = Results(tmp_path)
    (point,) = figure.points(QUICK)
    results.save(CellResult(point.cell, ({figure.metric.key: [30, 20, 10]},)))
    assert series(collect(figure, results, QUICK), "hybridjoin") == [30, 20, 10]


def test_the_generators_figures_need_no_cell(tmp_path: Path) -> None:
    shares = collect(figures(["s3-fig-10a"])[0], Results(tmp_path), QUICK)
    by_key = {point["x"]: point["y"] for point in shares["series"][0]["points"]}
    assert by_key[0.2] == pytest.approx(0.91, abs=0.01), "S3: 20 % of the products get 80 % of the sales"
    assert by_key[1.0] == 1
    hurst = collect(figures(["s3-fig-11-hurst"])[0], Results(tmp_path), QUICK)
    assert all(value > 0.7 for value in series(hurst, "heavy-tailed lengths"))
    assert all(value < 0.6 for value in series(hurst, "the same steps, shuffled"))


def test_cells_are_at_a_twentieth() -> None:
    cell = cell_of(Series("inlj", "inlj"), FIGURE.setup, QUICK)
    assert (cell.master_rows, cell.memory, cell.partition_rows) == (100_000, 2_621_440, 68)
