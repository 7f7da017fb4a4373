"""A client of Spark Connect: it shares no process with Spark, and workers look at the master for it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from semistream.columns import HOWS
from tests.servers.spark_connect import spark_connect
from tests.spark.deployments import every_how
from tests.spark.deployments.launching import environment, run_parts

pytestmark = pytest.mark.xdist_group("connect")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("connect")


@pytest.fixture(scope="module")
def told(folder: Path) -> dict[str, Any]:
    every_how.prepare(folder / "every_how")
    # The server isn't ours, as elsewhere: it says itself which Python its workers run.
    servers = {**environment(folder), "PYSPARK_PYTHON": sys.executable}
    with spark_connect("local[2]", folder, servers) as address:
        told: dict[str, Any] = run_parts(address, folder, "every_how")["every_how"]
        return told


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("kind", ["streaming", "batch"])
def test_every_how(told: dict[str, Any], folder: Path, kind: str, how: str) -> None:
    every_how.check(told, folder / "every_how", kind, how)


def test_workers_tell_what_explain_says(told: dict[str, Any]) -> None:
    assert told["connect"]
    assert "clustered: 240 rows, keys stand more than once" in told["explained"]
    assert "1 executor, 2 tasks at a time on each, 1 Python process a task: 2 workers" in told["explained"]
    assert "(measured: interpreter, libraries, batches in flight)" in told["explained"]
