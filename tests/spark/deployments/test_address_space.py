"""`spark.executor.pyspark.memory` limits the workers' address space: no large file can be mapped."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.spark.deployments import limited
from tests.spark.deployments.launching import run_parts

pytestmark = pytest.mark.xdist_group("address-space")


def test_a_master_larger_than_the_address_space(tmp_path: Path) -> None:
    assert limited.prepare(tmp_path / "limited") > limited.LIMIT
    # An executor's memory and its Python's: together they are what a worker of Spark has.
    settings = {"spark.executor.pyspark.memory": f"{limited.LIMIT >> 20}m"}
    told = run_parts("local-cluster[2,1,2048]", tmp_path, "limited", settings=settings)["limited"]
    assert told["limits"] == [limited.LIMIT] * 2
    assert told["rows"] == limited.EVENTS
    assert told["loads"] > 0
    assert limited.wrong_rows(tmp_path / "limited") == 0
    assert "leaves 768.0 MiB of address space to each Python worker" in told["refusal"]
    assert "set it to at least 1024m, or leave it out" in told["refusal"]
