"""Processes below another one, and an end to one of them. Others run Spark too: a name is no address."""

from __future__ import annotations

import os
import select
import signal
from dataclasses import dataclass
from pathlib import Path

_SECONDS = 60.0  # for a process to be gone after SIGKILL
_GONE = "ZXx"
_DAEMON = b"pyspark.daemon"


@dataclass(frozen=True)
class Process:
    """A process as it was found. Its start tells it from a later one with the same id."""

    pid: int
    parent: int
    started: int
    command: bytes

    @property
    def alive(self) -> bool:
        found = _status(self.pid)
        return found is not None and found[2] == self.started and found[0] not in _GONE

    @property
    def passed(self) -> int:
        """Bytes read and written so far; 0 when the process is gone."""
        try:
            lines = Path(f"/proc/{self.pid}/io").read_text().splitlines()
        except OSError:
            return 0
        found = dict(line.split(": ") for line in lines)
        return int(found["rchar"]) + int(found["wchar"])

    def kill(self) -> bool:
        """SIGKILL, and wait for the end; False where it had ended already."""
        try:
            descriptor = os.pidfd_open(self.pid)
        except (ProcessLookupError, FileNotFoundError):  # it is gone, or another process's thread now
            return False
        try:
            if not self.alive:  # the descriptor may be a successor's, and then it isn't ours
                return False
            signal.pidfd_send_signal(descriptor, signal.SIGKILL)
            ended, _, _ = select.select([descriptor], [], [], _SECONDS)
            assert ended, f"process {self.pid} outlives SIGKILL: {self.command!r}"
            return True
        finally:
            os.close(descriptor)


def process(pid: int) -> Process | None:
    """The process with this id now."""
    status = _status(pid)
    if status is None:
        return None
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:  # gone by now
        return None
    return Process(pid, status[1], status[2], command)


def below(pid: int) -> list[Process]:
    """All living processes that descend from this one, without itself."""
    entries = (entry for entry in os.listdir("/proc") if entry.isdecimal())
    found = [one for entry in entries if (one := process(int(entry))) is not None and one.alive]
    family, grown = {pid}, True
    while grown:
        children = {one.pid for one in found if one.parent in family} - family
        family |= children
        grown = bool(children)
    return [one for one in found if one.pid in family and one.pid != pid]


def workers_below(pid: int) -> list[Process]:
    """Spark's Python workers: what a daemon has forked."""
    found = [one for one in below(pid) if _DAEMON in one.command]
    daemons = {one.pid for one in found}
    return [one for one in found if one.parent in daemons]


def _status(pid: int) -> tuple[str, int, int] | None:
    """State, parent and start; None where there is no such process."""
    try:
        # The name is in brackets, and may hold some itself.
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return fields[0], int(fields[1]), int(fields[19])
