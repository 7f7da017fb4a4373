"""What a session's settings say of its executors, on classic Spark and on Connect.

Nothing here asks the cluster: settings are all that a client of either kind can see.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from pyspark.sql import SparkSession

from semistream.budget import format_bytes
from semistream.errors import BudgetError
from semistream.spark.asking import LEAST_ADDRESS_SPACE

_UNITS = {"b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40, "p": 1 << 50}


@dataclass(frozen=True)
class Cluster:
    """The executors of a session; None where its settings don't tell."""

    spark_master: str
    application: str
    connect: bool
    executors: int | None
    slots: int | None  # tasks that one executor runs at a time
    python_memory: int | None  # spark.executor.pyspark.memory, in bytes

    @property
    def one_machine(self) -> bool:
        """Whether workers are children of this client: same files, same user."""
        return not self.connect and re.match(r"local(\[|$)", self.spark_master) is not None

    @property
    def all_slots(self) -> int | None:
        return None if self.executors is None or self.slots is None else self.executors * self.slots

    @property
    def python_memory_of_worker(self) -> int | None:
        """Spark divides an executor's share among its slots."""
        return None if self.python_memory is None else self.python_memory // (self.slots or 1)


def cluster_of(session: SparkSession) -> Cluster:
    """Read the session's settings."""

    def number(name: str) -> int | None:
        value = setting(session, name)
        return int(value) if value else None

    spark_master = setting(session, "spark.master") or ""
    cores, executors = number("spark.executor.cores"), number("spark.executor.instances")
    threads = re.fullmatch(r"local(?:\[(\d+|\*)(?:,\s*\d+)?\])?", spark_master)
    connect = not isinstance(session, SparkSession)
    simulated = re.fullmatch(r"local-cluster\[(\d+),\s*(\d+),\s*\d+\]", spark_master)
    if threads:
        executors = 1
        cores = int(threads[1] or 1) if threads[1] != "*" else None if connect else os.cpu_count()
    elif simulated:
        executors, cores = int(simulated[1]), cores or int(simulated[2])
    elif executors is None:
        most = number("spark.cores.max")
        if (setting(session, "spark.dynamicAllocation.enabled") or "").lower() == "true":
            executors = number("spark.dynamicAllocation.maxExecutors")
        elif most is not None and cores is not None:
            executors = max(1, most // cores)
    memory = setting(session, "spark.executor.pyspark.memory")
    return Cluster(
        spark_master,
        setting(session, "spark.app.id") or "",
        connect,
        executors,
        None if cores is None else max(1, cores // (number("spark.task.cpus") or 1)),
        _spark_bytes(memory) if memory else None,
    )


def check_python_memory(cluster: Cluster) -> None:
    """Under a limit of its address space a worker may be unable to load the compiler."""
    each = cluster.python_memory_of_worker
    if each is not None and each < LEAST_ADDRESS_SPACE:
        raise BudgetError(
            f"spark.executor.pyspark.memory leaves {format_bytes(each)} of address space to each Python "
            f"worker, and semistream's compiled code can't be loaded in less than "
            f"{format_bytes(LEAST_ADDRESS_SPACE)}: set it to at least "
            f"{LEAST_ADDRESS_SPACE * (cluster.slots or 1) >> 20}m, or leave it out"
        )


def setting(session: SparkSession, name: str) -> str | None:
    """A setting that Spark has no default for; None where it isn't set."""
    value: str | None = session.conf.get(name, None)
    return value


def _spark_bytes(text: str) -> int:
    """
    >>> _spark_bytes("2g"), _spark_bytes("512")
    (2147483648, 536870912)
    """
    found = re.fullmatch(r"\s*(\d+)\s*([bkmgtp]?)b?\s*", text.lower())
    if found is None:  # Spark would have refused it
        return 0
    return int(found[1]) * _UNITS[found[2] or "m"]
