"""`semistream figures`."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from semistream.cli import main
from semistream.experiments import catalogue, figure
from semistream.experiments.axes import only


def run(*arguments: str) -> str:
    result = CliRunner().invoke(main, ["figures", *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_list_runs_nothing(tmp_path: Path) -> None:
    listed = json.loads(run("--list", "--json", "--results", str(tmp_path)))
    assert [row["figure"] for row in listed] == [one.id for one in catalogue.FIGURES]
    assert {row["done"] for row in listed} == {0}
    assert list(tmp_path.iterdir()) == []


def test_a_figure_without_cells(tmp_path: Path) -> None:
    told = json.loads(run("s3-fig-11", "--quick", "--json", "--results", str(tmp_path)))
    assert told == {
        "results": str(tmp_path),
        "figures": 1,
        "cells": 0,
        "failed": 0,
        "reproduced": 1,
        "reproduced only under": 0,
        "not reproduced": 0,
        "not measured": 0,
        "report": str(tmp_path / "report.html"),
    }
    assert "S3-14" in (tmp_path / "report.html").read_text()
    made = json.loads((tmp_path / "figures" / "s3-fig-11.json").read_text())
    assert len(made["series"][0]["points"]) == 400


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> str:
    """A figure of two cells, the second of which can't run."""
    (one,) = catalogue.figures(["s2-fig-3a"])
    tiny = replace(
        one,
        x=replace(one.x, values=(50, 0.01), quick=None),
        series=only("r_meshjoin"),
        setup=replace(one.setup, partition_rows=100),
    )
    monkeypatch.setattr(catalogue, "FIGURES", (tiny,))
    monkeypatch.setattr(figure, "QUICK", replace(figure.QUICK, share=0.001))
    return tiny.id


def test_running_goes_on_where_it_was(small: str, tmp_path: Path) -> None:
    text = run(small, "--quick", "--processes", "1", "--results", str(tmp_path))
    assert "2 of 2 cells, 1 failed, 0 s left" in text
    assert "failed: r_meshjoin" in text
    assert "no room for pending rows" in " ".join(text.split())
    assert "1 of 1 cells, 1 failed" in run(
        small, "--quick", "--processes", "1", "--results", str(tmp_path)
    ), "what failed is tried again, what is done isn't"
    assert "1 done, 1 failed, 0 not run" in (tmp_path / "report.html").read_text()
    (row,) = json.loads(run(small, "--quick", "--list", "--json", "--results", str(tmp_path)))
    assert (row["cells"], row["done"]) == (2, 1)


def test_the_report_goes_where_it_is_wanted(tmp_path: Path) -> None:
    wanted = tmp_path / "new" / "page.html"
    run("s3-fig-10a", "--quick", "--results", str(tmp_path), "--report", str(wanted))
    assert "s3-fig-10a" in wanted.read_text()
    assert not (tmp_path / "report.html").exists()


def test_another_size_of_the_master(tmp_path: Path) -> None:
    """Only where a figure doesn't vary it."""
    arguments = ("s2-fig-3a", "s2-fig-3b", "--quick", "--list", "--json", "--results", str(tmp_path))
    (fixed, varied) = catalogue.figures(["s2-fig-3a", "s2-fig-3b"])
    scale = replace(figure.QUICK, master_millions=3)
    assert {point.cell.master_rows for point in fixed.points(scale)} == {150_000}
    assert {point.cell for point in varied.points(scale)} == {
        point.cell for point in varied.points(figure.QUICK)
    }
    assert run(*arguments, "--master-millions", "3") == run(*arguments)


def test_an_unknown_figure_is_an_error(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["figures", "s7", "--results", str(tmp_path)])
    assert result.exit_code == 1
    assert "there is no figure 's7'" in result.stderr
