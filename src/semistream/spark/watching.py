"""Says now and then how far a build is, from what its tasks have written.

The driver sees the folder that tasks write to, also where it knows nothing of Spark's jobs: with
Spark Connect, and without a console.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import TypeAlias

from semistream.budget import format_bytes

Progress: TypeAlias = Callable[[str], None]

SECONDS = 2.0


@contextmanager
def watched(folder: Path, tell: Progress, seconds: float = SECONDS) -> Iterator[None]:
    """While the block runs, tell every so often how much has been written below `folder`, where that
    has grown."""
    stop = Event()

    def watch() -> None:
        told = 0
        while not stop.wait(seconds):
            size = _bytes_below(folder)
            if size > told:
                tell(f"  {format_bytes(size)} written")
                told = size

    thread = Thread(target=watch, name="semistream-index-progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def _bytes_below(folder: Path) -> int:
    size = 0
    for place, _, names in os.walk(folder):
        for name in names:
            if not name.endswith(".arrow"):
                continue
            try:
                size += os.stat(os.path.join(place, name)).st_size
            except FileNotFoundError:  # of an attempt that was given up just now
                continue
    return size
