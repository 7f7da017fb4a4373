"""Folders that nobody may write to, and processes that this binds."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def read_only(*roots: Path) -> Iterator[None]:
    """During the block nobody may write to these folders and those below them."""
    folders = [folder for root in roots for folder in [root, *root.rglob("*")] if folder.is_dir()]
    folders = [folder for folder in folders if not folder.is_symlink()]
    for folder in folders:
        folder.chmod(0o555)
    try:
        yield
    finally:
        for folder in folders:
            folder.chmod(0o755)


def bound_by_permissions(folder: Path) -> list[str]:
    """What to put before a command so that file permissions bind it: nothing, but for root."""
    if not os.access(folder, os.W_OK):
        return []
    without_override = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]
    if shutil.which("setpriv") is None:
        pytest.skip("root is bound by file permissions through setpriv only, which isn't installed")
    tried = subprocess.run([*without_override, "test", "-w", folder], capture_output=True, check=False)
    if tried.returncode != 1 or tried.stderr:
        pytest.skip(f"root can't give up its privileges here: {tried.stderr.decode() or 'still writable'}")
    return without_override
