"""A pipeline that is killed three times, and started again: no row is lost, and none is there twice.

`make soak` kills many more, at other moments and with other sinks.
"""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from tests.spark.pipeline.kills import CLUSTER, Shot, killed_until_done
from tests.spark.pipeline.warehouses import WorldUnderFire, parquet

pytestmark = pytest.mark.xdist_group("kills")

SEED = 87


def test_an_executor_a_worker_and_the_driver(tmp_path: Path) -> None:
    world = WorldUnderFire(tmp_path, parquet(), sales=1200, files=6)
    draw = random.Random(SEED)
    victims = ["executor", "worker", "driver"]
    kills = killed_until_done(world, [Shot.drawn(victim, draw, CLUSTER, most_signs=6) for victim in victims])
    print(*kills, sep="\n")
    assert [kill.shot.victim for kill in kills] == victims
    assert [kill.ended for kill in kills] == [False, False, True]
    assert world.differences() == []
    differences_are_seen(world)


def differences_are_seen(world: WorldUnderFire) -> None:
    """What the test would say if a batch had been written twice, or lost."""
    batches = sorted((world.folder / "warehouse" / "sales").iterdir())
    files = sorted(file for batch in batches[:2] for file in batch.glob("*.parquet"))
    file = files[0]
    again = file.with_name(f"again-{file.name}")
    shutil.copy(file, again)
    assert [told.split(", such as")[0].rpartition(" ")[2] for told in world.differences()] == ["many"]
    again.unlink()
    file.unlink()
    assert world.differences()[0].startswith("warehouse: ")
    assert " are lost, such as (" in world.differences()[0]
