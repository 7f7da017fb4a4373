"""Spark's Python workers as the operating system sees them."""

from __future__ import annotations

from pathlib import Path

DAEMON = b"pyspark.daemon"


def python_workers() -> list[int]:
    """Process ids of all Python workers of this machine's Spark sessions: what a daemon has forked."""
    parents = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            if DAEMON not in (status.parent / "cmdline").read_bytes():
                continue
            after_name = status.read_text().rpartition(")")[2].split()
        except OSError:  # gone by now
            continue
        parents[int(status.parent.name)] = int(after_name[1])
    return [pid for pid, parent in parents.items() if parent in parents]


def resident_bytes(pid: int) -> int:
    """Resident memory without what maps files: 0 when the process is gone."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    found = {name: value for name, _, value in (line.partition(":") for line in lines)}
    return int(found.get("RssAnon", "0 kB").split()[0]) * 1024
