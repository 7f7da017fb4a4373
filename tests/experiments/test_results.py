"""Results are whole files, intervals are Student's, and failures stay visible."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from semistream.errors import CorruptStoreError
from semistream.experiments.results import CellResult, Interval, Results
from tests.experiments.tiny import cell


def test_intervals() -> None:
    found = Interval.of([9.0, 10.0, 11.0])
    assert found.mean == 10
    assert found.high == pytest.approx(10 + 4.303 * 1 / 3**0.5)
    assert found.low == pytest.approx(10 - 4.303 * 1 / 3**0.5)
    many = Interval.of([0.0, 1.0] * 50)
    assert many.high == pytest.approx(0.5 + 1.96 * (25 / 99) ** 0.5 / 10)


def test_a_result_is_found_again(tmp_path: Path) -> None:
    results = Results(tmp_path)
    assert results.load(cell()) is None
    results.save(CellResult(cell(), ({"rows": 1, "speed": None},), {"rows_out": 1}, {"pending_rows": 5}))
    found = results.load(cell())
    assert found == CellResult(cell(), ({"rows": 1, "speed": None},), {"rows_out": 1}, {"pending_rows": 5})
    assert found.interval("speed") is None
    assert found.interval("rows") == Interval(1.0, None, None, 1)
    assert [file.suffix for file in (tmp_path / "cells").iterdir()] == [".json"], "no half-written file"


def test_what_is_missing_comes_once_and_failures_come_again(tmp_path: Path) -> None:
    results = Results(tmp_path)
    done, failed, new = cell(), cell("meshjoin"), cell("inlj")
    results.save(CellResult(done, ({"rows": 1},)))
    results.save(CellResult(failed, error="StoreError: gone"))
    assert results.missing([new, done, failed, replace(new, scale=0.5), done]) == [new, failed]


def test_an_error_is_no_number(tmp_path: Path) -> None:
    failed = CellResult(cell(), ({"rows": 1},), error="StoreError: gone")
    assert failed.interval("rows") is None


def test_a_damaged_file_says_what_to_do(tmp_path: Path) -> None:
    results = Results(tmp_path)
    results.save(CellResult(cell()))
    (file,) = (tmp_path / "cells").iterdir()
    file.write_text("{")
    with pytest.raises(CorruptStoreError, match="remove it, and the cell runs again"):
        results.load(cell())
