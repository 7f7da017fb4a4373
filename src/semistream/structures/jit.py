"""How every Numba kernel of the package is compiled: once, without the GIL, and cached on disk.

Numba writes its cache beside the source, else below the user's cache folder. On a read-only
installation whose user has no writable home it would fail at import; then a private folder below
the system's temporary one takes its place, and where even that is impossible kernels are
compiled in every process, with a warning.
"""

from __future__ import annotations

import os
import stat
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.core import config

Kernel = TypeVar("Kernel", bound=Callable[..., Any])


def kernel(function: Kernel) -> Kernel:
    """Compile `function` on first use; the GIL is released while it runs."""
    try:
        compiled = numba.njit(function, cache=True, nogil=True)
    except RuntimeError:  # Numba found no folder it may write its cache to
        private = _private_cache_folder()
        if private is None:
            warnings.warn(
                "semistream: no folder is writable for compiled kernels, so each process compiles "
                "them again; set NUMBA_CACHE_DIR to a writable folder",
                RuntimeWarning,
                stacklevel=2,
            )
            compiled = numba.njit(function, nogil=True)
        else:
            config.CACHE_DIR = str(private)
            compiled = numba.njit(function, cache=True, nogil=True)
    return cast(Kernel, compiled)


def inline(function: Kernel) -> Kernel:
    """A small function that kernels call; it gets compiled into each of them."""
    return cast(Kernel, numba.njit(function, nogil=True, inline="always"))


def _private_cache_folder() -> Path | None:
    """A folder that only this user can write to: compiled code is loaded from it."""
    folder = Path(tempfile.gettempdir()) / f"semistream-kernels-{os.getuid()}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError:
        return None
    owned = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()
    return folder if owned and not found.st_mode & 0o022 and os.access(folder, os.W_OK) else None
