"""Memory cgroups, of either version of the kernel's interface."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

ROOTS = (Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup"))
LIMIT = ("memory.limit_in_bytes", "memory.max")
PEAK = ("memory.max_usage_in_bytes", "memory.peak")


class Cgroup:
    """One memory cgroup, by its folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def limit(self, size: int) -> None:
        self._file(LIMIT).write_text(str(size))

    def enter(self) -> None:
        """Charge what this process allocates from now on to the cgroup."""
        (self.folder / "cgroup.procs").write_text(str(os.getpid()))

    def peak(self) -> int:
        return int(self._file(PEAK).read_text())

    def _file(self, names: tuple[str, str]) -> Path:
        return next(self.folder / name for name in names if (self.folder / name).exists())


@contextlib.contextmanager
def memory_cgroup() -> Iterator[Cgroup]:
    """A new memory cgroup; OSError where this machine lets nobody make one."""
    for root in ROOTS:
        folder = root / f"semistream-{uuid4().hex}"
        try:
            folder.mkdir()
        except OSError:
            continue
        if any((folder / name).exists() for name in LIMIT):
            try:
                yield Cgroup(folder)
            finally:
                folder.rmdir()
            return
        folder.rmdir()
    raise OSError("no memory cgroup can be made here: it takes root, and a kernel with the memory controller")
