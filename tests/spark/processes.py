"""Spark's Python workers as the operating system sees them."""

from __future__ import annotations

import os
from pathlib import Path

DAEMON = b"pyspark.daemon"


def python_workers() -> list[int]:
    """Process ids of the Python workers of this process's Spark: what a daemon below it has forked.

    Workers of other tests, which may run at the same time, aren't among them.
    """
    parents: dict[int, int] = {}
    daemons = set()
    for status in Path("/proc").glob("[0-9]*/stat"):
        pid = int(status.parent.name)
        try:
            parents[pid] = int(status.read_text().rpartition(")")[2].split()[1])
            if DAEMON in (status.parent / "cmdline").read_bytes():
                daemons.add(pid)
        except OSError:  # gone by now
            continue
    workers = [pid for pid in daemons if parents.get(pid) in daemons]
    return [pid for pid in workers if _is_below(os.getpid(), pid, parents)]


def resident_bytes(pid: int) -> int:
    """Resident memory without what maps files: 0 when the process is gone."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    found = {name: value for name, _, value in (line.partition(":") for line in lines)}
    return int(found.get("RssAnon", "0 kB").split()[0]) * 1024


def resident_beside(pid: int, folder: Path) -> int:
    """All resident memory but the files mapped from below a folder: 0 when the process is gone."""
    total, counts = 0, True
    try:
        lines = Path(f"/proc/{pid}/smaps").read_text().splitlines()
    except OSError:
        return 0
    for line in lines:
        name, _, rest = line.partition(" ")
        if name == "Rss:" and counts:
            total += int(rest.split()[0]) * 1024
        elif "-" in name:  # a mapping begins: addresses, rights, offset, device, inode, file
            file = rest.split(maxsplit=4)[4:]
            counts = not (file and file[0].startswith(f"{folder}/"))
    return total


def _is_below(ancestor: int, pid: int, parents: dict[int, int]) -> bool:
    while pid in parents and pid != ancestor:
        pid = parents[pid]
    return pid == ancestor
