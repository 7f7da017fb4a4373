"""Executors in processes of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from semistream.budget import format_bytes
from semistream.columns import HOWS
from tests.spark.deployments import every_how, three_lookups
from tests.spark.deployments.launching import run_parts

pytestmark = pytest.mark.xdist_group("local-cluster")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("local-cluster")


@pytest.fixture(scope="module")
def told(folder: Path) -> dict[str, Any]:
    every_how.prepare(folder / "every_how")
    three_lookups.prepare(folder / "three_lookups")
    return run_parts("local-cluster[2,1,1024]", folder, "every_how", "three_lookups")


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("kind", ["streaming", "batch"])
def test_every_how(told: dict[str, Any], folder: Path, kind: str, how: str) -> None:
    every_how.check(told["every_how"], folder / "every_how", kind, how)


def test_three_lookups_between_a_watermark_and_windows(told: dict[str, Any], folder: Path) -> None:
    expected = three_lookups.expected(folder / "three_lookups")
    assert len({start for start, *_ in expected}) > 15
    assert three_lookups.found(folder / "three_lookups") == expected


def test_workers_have_the_memory_that_explain_told(told: dict[str, Any]) -> None:
    told = told["three_lookups"]
    assert told["rows_in"] == three_lookups.SALES * three_lookups.FILES
    assert told["evictions"] > 0  # the budget was used up: without one the caches would have grown
    assert told["workers"] == 2
    assert 0 < told["resident_bytes"] <= told["total_bytes"]
    assert format_bytes(told["total_bytes"]) in told["explained"]
