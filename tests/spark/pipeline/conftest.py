"""A folder with everything that a pipeline needs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.spark.pipeline.world import World


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)
