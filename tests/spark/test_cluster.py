"""What a session's settings say of its executors. The session is a dictionary here."""

from __future__ import annotations

from typing import Any, cast

import pytest
from pyspark.sql import SparkSession

from semistream.errors import BudgetError
from semistream.spark.cluster import Cluster, check_python_memory, cluster_of


class Settings:
    """As much of a session as is asked for; like Connect's, it is no `pyspark.sql.SparkSession`."""

    def __init__(self, **settings: str) -> None:
        self._settings = {f"spark.{name.replace('_', '.')}": value for name, value in settings.items()}
        self.conf = self

    def get(self, name: str, default: Any = None) -> Any:
        return self._settings.get(name, default)


class Classic(SparkSession):
    """A classic session that was never started."""

    def __init__(self, **settings: str) -> None:
        self._given = Settings(**settings)

    @property
    def conf(self) -> Any:
        return self._given


def connected(**settings: str) -> Cluster:
    return cluster_of(cast(SparkSession, Settings(**settings)))


def classic(**settings: str) -> Cluster:
    return cluster_of(Classic(**settings))


@pytest.mark.parametrize(
    ("settings", "executors", "slots"),
    [
        ({"master": "local"}, 1, 1),
        ({"master": "local[3]"}, 1, 3),
        ({"master": "local[3,4]"}, 1, 3),
        ({"master": "local-cluster[2,3,1024]"}, 2, 3),
        ({"master": "local-cluster[2,4,1024]", "executor_cores": "2", "task_cpus": "2"}, 2, 1),
        ({"master": "k8s://here", "executor_cores": "4", "executor_instances": "5"}, 5, 4),
        ({"master": "spark://here", "executor_cores": "4", "cores_max": "12"}, 3, 4),
        (
            {
                "master": "yarn",
                "executor_cores": "4",
                "dynamicAllocation_enabled": "true",
                "dynamicAllocation_maxExecutors": "9",
            },
            9,
            4,
        ),
        ({"master": "spark://here"}, None, None),
        ({}, None, None),
    ],
)
def test_executors_and_slots(settings: dict[str, str], executors: int | None, slots: int | None) -> None:
    for cluster in (connected(**settings), classic(**settings)):
        assert (cluster.executors, cluster.slots) == (executors, slots)
        expected = None if executors is None or slots is None else executors * slots
        assert cluster.all_slots == expected


def test_only_a_local_classic_session_shares_its_machine_with_the_client() -> None:
    assert classic(master="local[2]").one_machine
    assert classic(master="local").one_machine
    assert not connected(master="local[2]").one_machine
    assert not classic(master="local-cluster[2,1,1024]").one_machine
    assert not classic(master="spark://here").one_machine


def test_python_memory_is_divided_among_slots() -> None:
    cluster = connected(master="local-cluster[2,2,4096]", executor_pyspark_memory="3g")
    assert cluster.python_memory_of_worker == 3 << 29
    check_python_memory(cluster)
    check_python_memory(connected(master="local-cluster[2,2,4096]"))
    with pytest.raises(BudgetError, match=r"pyspark\.memory leaves 512\.0 MiB.*at least 2048m"):
        check_python_memory(connected(master="local-cluster[2,2,4096]", executor_pyspark_memory="1024"))
