"""A pipeline's run as users start it, `semistream run`, in a process of its own that can be killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

import pyspark

from tests.spark.process_tree import Process, below, process, workers_below

_SECONDS = 600.0  # for a whole run
_POLL_SECONDS = 0.004
_BUSY_SECONDS = 0.005
# Where a batch leaves something, in its own order, and what it is about then.
_SIGNS = {
    "state/checkpoint/offsets": "planned",
    "state/.quarantine.staging": "being computed",
    "state/quarantine": "quarantine written",
    "warehouse/.sales.staging": "sink being written",
    "warehouse/sales": "sink written",
    "warehouse/sales/_delta_log": "sink written",
    "state/checkpoint/commits": "committed",
}
_EXECUTOR, _JVM = b"CoarseGrainedExecutorBackend", b"org.apache.spark.deploy.SparkSubmit"


class Run:
    """From its start to its end. Every process that was below it is in `seen`: some may outlive it."""

    def __init__(self, folder: Path, spark_master: str, environment: Mapping[str, str]) -> None:
        self.spark_master = spark_master
        self.seen: list[Process] = []
        self._folder = folder
        number = len(list(folder.glob("run-*.out")))
        self._out, self._err = folder / f"run-{number}.out", folder / f"run-{number}.err"
        self._before = self._signs()
        self._given: dict[str, None] = {}  # the signs of this run, in order
        self._counted = 0  # how many of them there were at the last kill
        self._environment = {**_environment(folder), **environment}

    def __enter__(self) -> Run:
        command = [sys.executable, "-m", "semistream", "run", "pipeline.toml", "--json"]
        command += ["--master", self.spark_master, "--conf", "spark.driver.memory=1g"]
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self._popen = subprocess.Popen(
                command,
                cwd=self._folder,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )
        self._end = time.monotonic() + _SECONDS
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._popen.poll() is None:
            self._look()
            self._popen.kill()
            self._popen.wait()
            for one in self.seen:
                one.kill()

    def reaches(self, signs: int, delay: float) -> bool:
        """Wait for so many signs since the last kill, and a little longer; False where the run ends first."""
        while self._running() and len(self._given) < self._counted + signs:
            time.sleep(_POLL_SECONDS)
            self._take_signs()
        end = time.monotonic() + delay
        while self._running() and time.monotonic() < end:
            time.sleep(_POLL_SECONDS)
        return self._running()

    def phase(self) -> str:
        """What the last sign said."""
        self._take_signs()
        last = next(reversed(self._given), None)
        return "before the first batch" if last is None else _SIGNS[last.rpartition("/")[0]]

    def kill(self, victim: str, choice: int) -> Process | None:
        """SIGKILL for one of the victims, as soon as there is one; None where the run ends first."""
        self._counted = len(self._given)
        while self._running():
            victims = self._victims(victim)
            hit = victims[choice % len(victims)] if victims else None
            if hit is not None and victim == "driver":
                if hit.alive:
                    os.killpg(hit.pid, signal.SIGKILL)
                    self._popen.wait()
                    return hit
            elif hit is not None and hit.kill():
                return hit
            time.sleep(_POLL_SECONDS)
        return None

    def wait(self) -> int:
        """How it ended by itself, or by a kill."""
        while self._running():
            self._look()
            time.sleep(0.2)
        return self._popen.wait()

    def error(self) -> dict[str, Any]:
        """What it has told programs on standard error; else the end of what is there."""
        text = self._err.read_text(errors="replace")
        for line in reversed(text.splitlines()):
            if line.startswith('{"error"'):
                found: dict[str, Any] = json.loads(line)
                return found
        return {"error": None, "message": text[-4000:]}

    def _running(self) -> bool:
        """Whether it runs; one that takes too long is an error."""
        if self._popen.poll() is not None:
            return False
        assert time.monotonic() < self._end, f"the run takes longer than {_SECONDS} s: {self.error()}"
        return True

    def _look(self) -> list[Process]:
        """All processes below the run, remembered."""
        found = below(self._popen.pid)
        self.seen += [one for one in found if one not in self.seen]
        return found

    def _victims(self, victim: str) -> list[Process]:
        found = self._look()
        if victim == "worker":
            return busy(workers_below(self._popen.pid))
        if victim in ("executor", "jvm"):
            name = _EXECUTOR if victim == "executor" else _JVM
            return [one for one in found if name in one.command]
        driver = process(self._popen.pid)
        return [] if driver is None else [driver]

    def _take_signs(self) -> None:
        self._given.update(dict.fromkeys(name for name in self._signs() if name not in self._before))

    def _signs(self) -> list[str]:
        found = []
        for place in _SIGNS:
            with suppress(FileNotFoundError), os.scandir(self._folder / place) as entries:
                found += [f"{place}/{entry.name}" for entry in entries if entry.name[0] not in "._"]
        return found


def busy(workers: list[Process]) -> list[Process]:
    """Those that just now talk with Spark: it hardly notices the end of an idle one."""
    before = {one: one.passed for one in workers}
    time.sleep(_BUSY_SECONDS)
    return [one for one in workers if one.passed > before[one]]


def _environment(folder: Path) -> dict[str, str]:
    """Of a machine with nothing on it; what a killed process leaves behind is below the folder."""
    temporary = folder / "temporary"
    temporary.mkdir(exist_ok=True)
    kept = ("PATH", "HOME", "JAVA_HOME", "LANG", "NUMBA_CACHE_DIR")
    return {
        **{name: os.environ[name] for name in kept if name in os.environ},
        "SPARK_HOME": str(_spark_home(folder)),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOCAL_DIRS": str(temporary),
        "TMPDIR": str(temporary),
        "JAVA_TOOL_OPTIONS": f"-Djava.io.tmpdir={temporary} -XX:-UsePerfData",
    }


def _spark_home(folder: Path) -> Path:
    """The installed Spark under another roof: executors of `local-cluster` keep their files in its home."""
    home = folder / "spark"
    if not home.exists():
        home.mkdir()
        for name in ("bin", "jars"):
            (home / name).symlink_to(Path(pyspark.__file__).parent / name)
    return home
