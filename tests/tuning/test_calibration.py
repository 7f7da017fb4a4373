"""Calibration: what it holds and how it travels. No timing is asserted."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from click.testing import CliRunner

import semistream as ss
from semistream.cli import main
from semistream.costs import model, names
from semistream.costs.base import Situation, UnitCosts, zipf_key_shares
from semistream.errors import ArgumentError, StoreError
from semistream.stores.clustered_build import build
from semistream.tuning.calibration import Calibration, calibrate, load_calibration
from semistream.tuning.estimates import Estimate, median_of

ROWS, PAGE_ROWS = 3000, 50


@pytest.fixture(scope="module")
def master_path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A clustered copy whose key is a text, so that codes are hashes."""
    path = str(tmp_path_factory.mktemp("calibration") / "products")
    table = pa.table({"id": [f"product {i}" for i in range(ROWS)], "price": np.arange(ROWS) * 0.5})
    build(table, path, "id", page_rows=PAGE_ROWS).close()
    return path


@pytest.fixture(scope="module")
def calibration(master_path: str) -> Calibration:
    return calibrate(ss.master(master_path, "id"), pages=(1, 3, 60, 200), repeats=3)


def test_every_unit_is_there_and_positive(calibration: Calibration) -> None:
    assert set(calibration.estimated_units) == {item.name for item in fields(UnitCosts)}
    for name, unit in calibration.estimated_units.items():
        assert unit.value > 0 or name == "load"  # a difference of timings, which may come to nothing
        assert unit.samples == 3


def test_intervals_hold_their_value(calibration: Calibration) -> None:
    device = calibration.estimated_device
    estimates = [
        *calibration.estimated_units.values(),
        *(load.seconds for load in calibration.loads),
        device.seek_seconds,
        device.bandwidth_bytes_per_second,
    ]
    assert all(0 <= found.low <= found.value <= found.high for found in estimates)


def test_loads_of_each_size_are_measured(calibration: Calibration) -> None:
    """A size above the master's is that of the whole master."""
    assert [load.pages for load in calibration.loads] == [1, 3, 60]
    sizes = [load.bytes_read for load in calibration.loads]
    assert sizes == sorted(sizes)
    assert all(load.seconds.value > 0 for load in calibration.loads)
    assert calibration.device.bandwidth_bytes_per_second > 0
    assert calibration.device.queue_depth >= 1


def test_there_and_back(calibration: Calibration, tmp_path: Path) -> None:
    path = tmp_path / "calibration.json"
    path.write_text(json.dumps(calibration.as_dict()))
    again = load_calibration(path)
    assert again == calibration
    assert again.units == calibration.units


def test_models_take_it(calibration: Calibration) -> None:
    situation = Situation(key_shares=zipf_key_shares(ROWS, 0.5), partition_rows=PAGE_ROWS, pending_rows=300)
    for name in names():
        assert model(name).corrected(situation, calibration.units, calibration.device).seconds > 0


def test_command(master_path: str) -> None:
    arguments = [
        "calibrate",
        master_path,
        "--key",
        "id",
        "--io",
        "cached",
        "--repeats",
        "2",
        "--pages",
        "1,2",
    ]
    shown = CliRunner().invoke(main, arguments)
    assert shown.exit_code == 0, shown.output
    for word in ("probe", "append", "index", "2 pages", "seek", "bandwidth", "loads at once"):
        assert word in shown.stdout
    found = Calibration.of_dict(json.loads(CliRunner().invoke(main, [*arguments, "--json"]).stdout))
    assert [load.pages for load in found.loads] == [1, 2]


def test_what_cannot_be_measured_is_refused(master_path: str) -> None:
    with pytest.raises(ArgumentError, match="repeats=0 of loads of \\[1\\] pages can't be measured"):
        calibrate(ss.master(master_path, "id"), pages=(1,), repeats=0)
    with pytest.raises(StoreError, match="no pages to load; index it first"):
        calibrate(ss.master(pa.table({"id": pa.array([], pa.int64())}), "id"))
    refused = CliRunner().invoke(main, ["calibrate", master_path, "--key", "id", "--pages", "one"])
    assert "--pages 'one' is no list of numbers: give one like 1,4,16" in refused.stderr


def test_files_that_are_no_calibration(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="can't be read"):
        load_calibration(tmp_path / "none.json")
    path = tmp_path / "some.json"
    path.write_text("{")
    with pytest.raises(ArgumentError, match="is no JSON"):
        load_calibration(path)
    path.write_text('{"format": 99}')
    with pytest.raises(ArgumentError, match="has format 99, and 1 can be read"):
        load_calibration(path)


def test_a_median_and_its_interval() -> None:
    """Of 100 samples the 95 % interval goes from about the 40th to the 60th."""
    found = median_of([float(i) for i in range(1, 101)])
    assert found.value == 50.5
    assert 39 <= found.low <= 41
    assert 60 <= found.high <= 62
    assert median_of([-1.0, -2.0, 3.0]) == Estimate(0.0, 0.0, 3.0, 3)
    assert median_of([7.0]) == Estimate(7.0, 7.0, 7.0, 1)
    rng = np.random.default_rng(1)
    held = [median_of(list(rng.exponential(size=30))) for _ in range(400)]
    true = float(np.log(2))
    assert 0.92 < np.mean([found.low <= true <= found.high for found in held]) <= 1
