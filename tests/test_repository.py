"""What holds for the repository as a whole."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

import pytest

from semistream.algorithms import names
from tests.permissions import bound_by_permissions, read_only

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "semistream"

MOST_LINES = 400
# Files of `algorithms` that several algorithms share; every other one is an algorithm.
SHARED_ALGORITHM_FILES = {"__init__", "base"}
# The brackets keep the patterns from finding themselves.
FORBIDDEN = {
    "a path of one machine": re.compile(r"(?<![\w.])/(w[o]rk|f[a]rm|r[o]ot|h[o]me|Us[e]rs)/"),
    "the host of a package registry": re.compile(
        r"py[p]i\.org|python[h]osted\.|npm[j]s\.|repo\d*\.m[a]ven|m[a]ven\.org|deb\.d[e]bian"
        r'|https?://[^ "]*(py[p]i|h[o]sted\.|m[a]ven|d[e]bian)'
    ),
}


def repository_files() -> list[Path]:
    """Every file but those that `.gitignore` names: a copy without git's history will do."""
    ignored = [line.rstrip("/") for line in (ROOT / ".gitignore").read_text().splitlines()] + [".git"]
    found = []
    for folder, subfolders, files in os.walk(ROOT):
        subfolders[:] = [name for name in subfolders if not any(fnmatch(name, rule) for rule in ignored)]
        found += [Path(folder, name) for name in files]
    return found


def test_files_are_found() -> None:
    assert {PACKAGE / "errors.py", ROOT / ".ci" / "run", Path(__file__)} <= set(repository_files())


def test_no_source_file_is_too_long() -> None:
    lengths = {
        str(file.relative_to(ROOT)): len(file.read_text().splitlines())
        for file in repository_files()
        if file.suffix == ".py"
    }
    assert {name: lines for name, lines in lengths.items() if lines > MOST_LINES} == {}


def forbidden_in(text: str) -> list[str]:
    return [what for what, pattern in FORBIDDEN.items() if pattern.search(text)]


def test_no_machine_path_and_no_registry_host() -> None:
    found = {
        str(file.relative_to(ROOT)): forbidden_in(file.read_text(encoding="utf-8", errors="replace"))
        for file in repository_files()
    }
    assert {name: reasons for name, reasons in found.items() if reasons} == {}


def test_forbidden_words_are_recognized() -> None:
    machine, registry = FORBIDDEN
    assert forbidden_in("see /" + "home/someone/notes") == [machine]
    assert forbidden_in("https://files.python" + "hosted.org/packages") == [registry]
    assert forbidden_in("src/home/page.py, ./root/x, a homely workshop") == []


def test_lock_holds_versions_and_hashes_only() -> None:
    lines = (ROOT / "requirements.lock").read_text().splitlines()
    pins = [line for line in lines if re.fullmatch(r"[a-z0-9-]+==[\w.]+( ; [^\\]+)? \\", line)]
    hashes = [line for line in lines if re.fullmatch(r"    --hash=sha256:[0-9a-f]{64}( \\)?", line)]
    comments = [line for line in lines if line.startswith("#")]
    assert len(pins) + len(hashes) + len(comments) == len(lines)
    assert len(pins) > 10


def test_algorithm_files_are_the_registry() -> None:
    files = {file.stem for file in (PACKAGE / "algorithms").glob("*.py")}
    assert files == SHARED_ALGORITHM_FILES | set(names())


def test_every_folder_of_the_package_is_a_package() -> None:
    folders = {file.parent for file in PACKAGE.rglob("*.py")}
    assert [str(folder) for folder in folders if not (folder / "__init__.py").exists()] == []


IMPORT_EVERYTHING = """
import importlib, pkgutil
from numba.core import event
with event.install_recorder("numba:compile") as compiled:
    import semistream
    for module in pkgutil.walk_packages(semistream.__path__, "semistream."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
print(len(compiled.buffer))
"""


def test_import_compiles_no_kernel(tmp_path: Path) -> None:
    found = subprocess.run(
        [sys.executable, "-c", IMPORT_EVERYTHING],
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (found.returncode, found.stdout) == (0, "0\n"), found.stderr
    assert [file for file in tmp_path.rglob("*") if file.is_file()] == []


# A kernel in the package's own folder: where Numba puts its cache depends on where the source is.
PROBE = """
import numpy as np
from semistream.structures.jit import kernel

@kernel
def add_up(values):
    total = 0
    for value in values:
        total += value
    return total
"""
EXERCISE = """
import numpy as np, semistream
from semistream.probe import add_up
assert semistream.__file__.startswith({installation!r}), semistream.__file__
print(add_up(np.arange(5)))
"""


@pytest.fixture
def installation(tmp_path: Path) -> Iterator[Path]:
    """A copy of the package, and a home, that nobody may write to."""
    shutil.copytree(PACKAGE, tmp_path / "site" / "semistream", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "site" / "semistream" / "probe.py").write_text(PROBE)
    (tmp_path / "home").mkdir()
    with read_only(tmp_path / "home", tmp_path / "site"):
        yield tmp_path


def exercise(folders: Path, temporary: Path) -> subprocess.CompletedProcess[str]:
    """Run a kernel of the read-only installation; only `temporary` can be written to."""
    environment = {
        "PATH": os.environ.get("PATH", ""),
        "PYTHONPATH": str(folders / "site"),
        "HOME": str(folders / "home"),
        "TMPDIR": str(temporary),
    }
    return subprocess.run(
        [
            *bound_by_permissions(folders / "home"),
            sys.executable,
            "-c",
            EXERCISE.format(installation=str(folders / "site")),
        ],
        env=environment,
        cwd=temporary,
        capture_output=True,
        text=True,
        check=False,
    )


def private_folder(temporary: Path) -> Path:
    return temporary / f"semistream-kernels-{os.getuid()}"


def test_read_only_installation_caches_kernels_in_a_private_folder(installation: Path) -> None:
    temporary = installation / "temporary"
    temporary.mkdir()
    found = exercise(installation, temporary)
    assert (found.returncode, found.stdout) == (0, "10\n"), found.stderr
    assert "RuntimeWarning" not in found.stderr
    cached = [file for file in private_folder(temporary).rglob("*") if file.suffix in {".nbi", ".nbc"}]
    assert cached != []
    assert private_folder(temporary).stat().st_mode & 0o077 == 0


def test_kernels_run_where_nothing_can_be_cached(installation: Path) -> None:
    temporary = installation / "temporary"
    temporary.mkdir()
    private_folder(temporary).write_text("in the way")
    found = exercise(installation, temporary)
    assert (found.returncode, found.stdout) == (0, "10\n"), found.stderr
    assert "RuntimeWarning: semistream: no folder is writable for compiled kernels" in found.stderr
