"""Data sets and programs that come as Python packages: where their files are, without importing them.

Their own loaders read everything at import, as pandas frames; one of them needs a module that setuptools
no longer has. The files beside them are all that is wanted here.
"""

from __future__ import annotations

import os
import shutil
import sysconfig
from importlib.util import find_spec
from pathlib import Path

from semistream.errors import MissingDependencyError

INSTALL = "pip install 'semistream[experiments]'"


def data_file(package: str, name: str) -> Path:
    """A file in a package's folder `data`."""
    spec = find_spec(package)
    for folder in [] if spec is None else spec.submodule_search_locations or []:
        path = Path(folder) / "data" / name
        if path.is_file():
            return path
    raise MissingDependencyError(
        f"the workload needs {name} of the package {package}, which isn't installed: {INSTALL}"
    )


def program(name: str) -> Path:
    """A program that a package installs beside this interpreter, or that is on the PATH."""
    folders = [sysconfig.get_path("scripts"), os.environ.get("PATH", os.defpath)]
    found = shutil.which(name, path=os.pathsep.join(folders))
    if found is None:
        raise MissingDependencyError(f"the workload needs {name}, which isn't installed: {INSTALL}")
    return Path(found)
