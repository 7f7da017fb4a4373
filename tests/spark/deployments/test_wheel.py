"""The built wheel in an environment of its own: nobody has activated it, and nobody may write to it.

The driver and the executors share one folder, the master's and the sink's. Each side has a home that it may
not write to, and a temporary folder, a working folder of its own.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from semistream.stores.clustered_build import build
from tests.joins.oracle import Expected, Rows, difference, rows_of
from tests.permissions import bound_by_permissions, read_only
from tests.spark.deployments.launching import ROOT, SECONDS, environment

pytestmark = pytest.mark.xdist_group("wheel")

LOCKED = Path(sysconfig.get_path("purelib"))  # the dependencies; what is editable there stays out
ORDERS = 500
PRODUCTS = 400


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment that holds the wheel; its dependencies are those of the lock."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"  # building in the checkout would leave files there
    source.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "src" / "semistream", source / "src" / "semistream", ignore=ignored)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    build = ["wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), str(source)]
    subprocess.run([*pip, *build], check=True)
    shutil.rmtree(source)
    environment = folder / "environment"
    venv.create(environment, symlinks=True)
    (wheel,) = folder.glob("*.whl")
    install = ["--python", str(environment), "install", "--no-deps", "--no-index", str(wheel)]
    subprocess.run([*pip, *install], check=True)
    (site_packages(environment) / "locked.pth").write_text(f"{LOCKED}\n")
    return environment


def site_packages(environment: Path) -> Path:
    return Path(sysconfig.get_path("purelib", "venv", {"base": str(environment)}))


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What is shared, and what each side has for itself."""
    folder = tmp_path_factory.mktemp("machines")
    for side in ("driver", "executors"):
        for name in ("home", "temporary"):
            (folder / side / name).mkdir(parents=True)
    shared = folder / "shared"
    (shared / "orders").mkdir(parents=True)
    pq.write_table(orders(), shared / "orders" / "0.parquet")
    build(products(), shared / "products", "product_id", page_rows=50).close()
    return folder


def orders() -> pa.Table:
    return pa.table({"product_id": [n * 7 % 450 for n in range(ORDERS)], "order_id": list(range(ORDERS))})


def products() -> pa.Table:
    return pa.table({"product_id": range(PRODUCTS), "name": [f"product {n}" for n in range(PRODUCTS)]})


@pytest.fixture(scope="module")
def told(installed: Path, folders: Path) -> dict[str, Any]:
    """The quick start has run; what it says of where it ran."""
    driver, executors, shared = (folders / name for name in ("driver", "executors", "shared"))
    script = shutil.copy(Path(__file__).with_name("quick_start.py"), driver)
    own = {"HOME": str(driver / "home"), "TMPDIR": str(driver / "temporary")}
    with read_only(installed, driver / "home", executors / "home"):
        before = files_below(installed)
        command = [*bound_by_permissions(installed), str(installed / "bin" / "python"), "-W", "error"]
        done = subprocess.run(
            [*command, str(script), str(shared), str(executors)],
            env={**environment(executors), **own},  # Spark's home is where executors work
            cwd=driver,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-8000:]
        assert files_below(installed) == before
    found: dict[str, Any] = json.loads((shared / "told.json").read_text())
    return found


def files_below(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if not path.is_dir()}


def test_the_quick_start_gives_what_a_join_gives(told: dict[str, Any], folders: Path) -> None:
    found = Rows(rows_of(pq.read_table(folders / "shared" / "enriched")))
    expected = Expected(orders(), products(), {"product_id": "product_id"}, "left", ["name"])
    assert expected.unmatched > 0
    assert found == expected.rows, difference(found, expected.rows)


def test_everybody_runs_the_installed_package(told: dict[str, Any], installed: Path) -> None:
    """Workers too, though only their session says which Python they are to run."""
    for place in (told["driver"], *told["workers"]):
        assert place["executable"] == str(installed / "bin" / "python")
        assert Path(place["package"]).parent == site_packages(installed) / "semistream"
        checkout = [Path(entry) for entry in place["path"] if Path(entry).is_relative_to(ROOT)]
        assert all(entry.is_relative_to(LOCKED) for entry in checkout), checkout
        assert "VIRTUAL_ENV" not in place["environment"]
        assert str(installed / "bin") not in place["environment"]["PATH"].split(":")


def test_driver_and_executors_have_folders_of_their_own(told: dict[str, Any], folders: Path) -> None:
    """Among them those for compiled code, where neither the package nor the home can be written to."""
    for side, places in {"driver": [told["driver"]], "executors": told["workers"]}.items():
        for place in places:
            used = [place["folder"], place["environment"]["HOME"], place["environment"]["TMPDIR"]]
            assert all(Path(folder).is_relative_to(folders / side) for folder in used), used
            kernels = Path(place["kernels"])
            assert kernels.is_relative_to(folders / side / "temporary"), kernels
            assert list(kernels.glob("*.nbi")) or side == "driver"
