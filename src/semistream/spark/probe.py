"""A little job before the start: can the workers do what they will be asked to do?

A query that fails in its first batch fails on some executor, in a Java stack trace. The probe asks
beforehand: which Python runs there, are the packages there, can each master be opened and is it the same
everywhere. What is wrong is an error that names the host and the remedy.

Where the client and the workers are one machine, the workers' Python is looked at once for a session, and
the masters from here. Elsewhere each master is looked at through the workers, which also serves a Connect
client that can't see the files. What a probe found holds for a minute.
"""

from __future__ import annotations

import json
import pickle
import re
import sys
import time
import warnings
from dataclasses import dataclass
from hashlib import blake2b
from importlib import metadata
from threading import Lock
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from semistream import errors
from semistream.budget import format_bytes
from semistream.errors import BudgetError, SemiStreamError, StoreError, WorkerError
from semistream.spark.asking import LEAST_ADDRESS_SPACE, PACKAGES, TOLD, asker
from semistream.spark.cluster import Cluster
from semistream.spark.facts import MasterFacts
from semistream.spark.seeing import Wanted

HOLDS_SECONDS = 60.0
MOST_TASKS = 16
LEAST_TEMPORARY = 64 << 20


@dataclass(frozen=True)
class WorkerReport:
    """What one worker said."""

    host: str
    python: str
    executable: str
    address_space: int | None
    cpus: int
    packages: dict[str, str | None]
    kernels_cached: bool
    temporary_free: int
    resident_bytes: int | None  # with everything loaded that a join needs, and nothing joined
    facts: tuple[MasterFacts, ...]

    @property
    def described(self) -> str:
        return f"the worker on {self.host} ({self.executable}, Python {self.python})"


_lock = Lock()
_found: dict[tuple[str, bytes], tuple[float, list[WorkerReport]]] = {}


def probed(session: SparkSession, cluster: Cluster, wanted: tuple[Wanted, ...] = ()) -> list[WorkerReport]:
    """Reports of some workers, all of them well; or an error that says what is wrong with one."""
    asked = pickle.dumps(wanted)
    place = cluster.application, blake2b(asked).digest()
    with _lock:
        at, reports = _found.get(place, (0.0, []))
    if reports and (not wanted or time.monotonic() - at < HOLDS_SECONDS):
        return reports
    reports = [_checked(*answer) for answer in _ask(session, cluster, asked)]
    _check_alike(reports, wanted)
    with _lock:
        if len(_found) > 1000:  # each holds a few schemas
            _found.clear()
        _found[place] = time.monotonic(), reports
    return reports


def _ask(session: SparkSession, cluster: Cluster, asked: bytes) -> list[tuple[dict[str, Any], bytes]]:
    tasks = max(1, min(cluster.all_slots or 2, MOST_TASKS))
    try:
        answers = session.range(0, tasks, 1, tasks).mapInArrow(asker(asked), TOLD).collect()
    except PySparkException as error:
        raise _explained(error) from error
    return [(json.loads(bytes(row["told"])), bytes(row["facts"])) for row in answers]


def _checked(told: dict[str, Any], facts: bytes) -> WorkerReport:
    """One worker's answer, or the error that it makes."""
    where = f"the worker on {told['host']} ({told['executable']}, Python {told['python']})"
    here = {name: _version(name) for name in PACKAGES}
    there: dict[str, str | None] = told["packages"]
    limit = told["address_space"]
    if limit is not None and limit < LEAST_ADDRESS_SPACE:
        raise BudgetError(
            f"{where} has {format_bytes(limit)} of address space, and semistream's compiled code can't be "
            f"loaded in less than {format_bytes(LEAST_ADDRESS_SPACE)}: raise spark.executor.pyspark.memory, "
            "or leave it out"
        )
    if told["error"] is None and told["semistream"] != here["semistream"]:
        raise WorkerError(
            f"{where} has semistream {told['semistream']}, and this process {here['semistream']}: "
            f"install {here['semistream']} there too; {_POINT}"
        )
    other = [
        f"{name} {there[name]} (here {here[name]})"
        for name in PACKAGES[1:]
        if there[name] is not None and _major(there[name]) != _major(here[name])
    ]
    if other:
        raise WorkerError(f"{where} has {', '.join(other)}: install the same versions there; {_POINT}")
    if told["error"] is not None:
        raise _as_error(where, *told["error"])
    if told["temporary_free"] < LEAST_TEMPORARY:
        raise WorkerError(
            f"{where} has {format_bytes(told['temporary_free'])} left in its temporary folder, less than "
            f"{format_bytes(LEAST_TEMPORARY)}: free some, or set TMPDIR there"
        )
    if not told["kernels_cached"]:
        warnings.warn(
            f"{where} finds no folder to keep compiled code in, so every new worker process begins with "
            "half a minute of compiling: set NUMBA_CACHE_DIR there to a writable folder",
            RuntimeWarning,
            stacklevel=2,
        )
    return WorkerReport(
        told["host"],
        told["python"],
        told["executable"],
        limit,
        told["cpus"],
        there,
        told["kernels_cached"],
        told["temporary_free"],
        told["resident_bytes"],
        tuple(pickle.loads(facts)),
    )


def _check_alike(reports: list[WorkerReport], wanted: tuple[Wanted, ...]) -> None:
    """Whether all workers see the same masters."""
    first = reports[0]
    for report in reports[1:]:
        for one, mine, other in zip(wanted, first.facts, report.facts, strict=True):
            if mine.version != other.version or not mine.schema.equals(other.schema):
                raise StoreError(
                    f"{one.master!r} is not the same everywhere: {first.host} has version {mine.version}, "
                    f"{report.host} has {other.version}; put it on storage that all workers share, or copy "
                    "the same version to each host"
                )


_POINT = "PYSPARK_PYTHON (or spark.pyspark.python) says which Python the workers run"


def _as_error(where: str, kind: str, message: str) -> SemiStreamError:
    """What went wrong on a worker, as an exception of this process."""
    if kind in ("ImportError", "ModuleNotFoundError"):
        return WorkerError(
            f"{where} can't load what a join needs ({message}): install semistream[spark] "
            f"{_version('semistream')} there; {_POINT}"
        )
    known = getattr(errors, kind, None)
    if isinstance(known, type) and issubclass(known, SemiStreamError):
        if issubclass(known, StoreError):
            message += "; every worker has to see the master under the same path"
        return known(f"{where}: {message}")
    return WorkerError(f"{where} failed with {kind}: {message}")


def _explained(error: PySparkException) -> WorkerError:
    """An error of a job that never came as far as to answer."""
    text = str(error)
    found = re.search(r"\(TID \d+\) \((\S+) executor (\w+)\)", text)
    where = f"a worker on {found[1]} (executor {found[2]})" if found else "a Python worker"
    remedy = f"; it needs Python {sys.version_info[0]}.{sys.version_info[1]} with semistream[spark] "
    remedy += f"{_version('semistream')}; {_POINT}"
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = next(
        (line for line in lines if re.search(r"PYTHON_VERSION_MISMATCH|ModuleNotFound|ImportError", line)),
        next((line for line in lines if "Error" in line), lines[0] if lines else type(error).__name__),
    )
    return WorkerError(f"{where} can't run Python functions: {telling}{remedy}")


def _version(name: str) -> str | None:
    if name == "semistream":
        from semistream import __version__

        return __version__
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _major(version: str | None) -> str:
    return (version or "").split(".")[0]
