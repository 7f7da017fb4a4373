"""The demo: a small one runs to its end, and its check refuses a warehouse that is wrong."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from pyspark.sql import SparkSession

from semistream.cli import main
from semistream.spark.demo import QUICK, Shop, check_warehouse

pytestmark = pytest.mark.xdist_group("spark")


@pytest.fixture(scope="module")
def kept(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[Shop, str]:
    """A demo's folder, and what people saw."""
    folder = tmp_path_factory.mktemp("demo") / "shop"
    done = CliRunner().invoke(main, ["demo", "--quick", "--keep", str(folder)])
    assert done.exit_code == 0, done.output
    return Shop(folder, QUICK), done.stdout


@pytest.fixture
def shop(kept: tuple[Shop, str], tmp_path: Path) -> Shop:
    """A copy, to be damaged."""
    shutil.copytree(kept[0].folder, tmp_path / "shop")
    return Shop(tmp_path / "shop", QUICK)


def test_what_people_see(kept: tuple[Shop, str]) -> None:
    shop, shown = kept
    assert shop.file.read_text() in shown
    warehouse = pq.read_table(shop.warehouse)
    assert warehouse.num_rows + pq.read_table(shop.quarantine).num_rows == QUICK.sales
    facts = dict(line.split("  ", 1) for line in shown.splitlines() if "  " in line.strip())
    assert facts["sales"].strip().startswith("30,000 in ")
    assert facts["into the warehouse"].strip() == f"{warehouse.num_rows:,}"
    assert facts["master"].strip().startswith("50,000 products, ")
    assert facts["2,000 with Spark's own"].strip().endswith(" times as long")
    lines = [line for line in shown.splitlines() if line.startswith("batch ")]
    assert sum(int(line.split()[2].replace(",", "")) for line in lines) == QUICK.sales
    assert f" run {os.path.relpath(shop.file)}\n" in shown.replace("\n    goes", "\n goes")


def test_what_programs_get(spark: SparkSession) -> None:
    done = CliRunner().invoke(main, ["demo", "--quick", "--products", "5000", "--json"])
    assert done.exit_code == 0, done.output
    facts = json.loads(done.stdout)
    assert facts["sales"] == QUICK.sales == facts["warehouse_rows"] + facts["quarantined"]
    assert (facts["master_rows"], facts["compared_batch_rows"]) == (5000, QUICK.compared_rows)
    assert 0 < facts["held_bytes"] <= 64 << 20
    assert facts["loads"] > 0 < facts["quarantined"]


def test_a_folder_with_files_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    done = CliRunner().invoke(main, ["demo", "--keep", str(tmp_path)])
    assert done.exit_code == 1
    assert (
        done.stderr
        == f"ArgumentError: --keep: {tmp_path} holds files already: give one that is new or empty\n"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_the_check_accepts_what_is_right(shop: Shop) -> None:
    check_warehouse(shop)


@pytest.mark.parametrize("column", ["surrogate_key", "supplier_id", "quantity", "total"])
def test_the_check_sees_one_wrong_value(shop: Shop, column: str) -> None:
    file = a_file(shop.warehouse)
    table = pq.ParquetFile(file).read()
    place, values = table.schema.get_field_index(column), table[column].combine_chunks()
    last = pc.add(values[-1], pa.scalar(1, values.type))
    wrong = pa.concat_arrays([values.slice(0, len(values) - 1), pa.array([last.as_py()], values.type)])
    pq.write_table(table.set_column(place, table.schema.field(column), wrong), file)
    with pytest.raises(AssertionError, match=f"the warehouse: column '{column}' isn't what"):
        check_warehouse(shop)


def test_the_check_misses_no_row(shop: Shop) -> None:
    file = a_file(shop.warehouse)
    table = pq.ParquetFile(file).read()
    pq.write_table(table.slice(3), file)
    with pytest.raises(AssertionError, match="30,000 sales 3 are missing, and 0 there twice"):
        check_warehouse(shop)


def test_the_check_sees_a_row_twice(shop: Shop) -> None:
    table = pq.ParquetFile(a_file(shop.warehouse)).read()
    pq.write_table(table.slice(0, 2), shop.warehouse / "more.parquet")
    with pytest.raises(AssertionError, match="30,000 sales 0 are missing, and 2 there twice"):
        check_warehouse(shop)


def test_the_check_knows_what_belongs_into_quarantine(shop: Shop) -> None:
    """A sale whose product is known lies among those whose product isn't."""
    file = a_file(shop.warehouse)
    table = pq.ParquetFile(file).read()
    pq.write_table(table.slice(1), file)
    stray = table.slice(0, 1).select(["sale_id"])
    pq.write_table(stray, shop.quarantine / "stray.parquet")
    with pytest.raises(AssertionError, match="the quarantine has 1 sales whose product is known"):
        check_warehouse(shop)


def a_file(folder: Path) -> Path:
    """The largest of a table's files."""
    return max(folder.rglob("*.parquet"), key=lambda file: file.stat().st_size)


WITHOUT_PYSPARK = (
    "import sys; sys.modules['pyspark'] = None; from semistream.cli import main; main(sys.argv[1:])"
)


@pytest.mark.parametrize(
    "command",
    [
        ["demo"],
        ["run", "pipeline.toml"],
        ["index", "from", "to", "--key", "id"],
        ["explain", "master", "--key", "id", "--schema", "id long"],
    ],
    ids=lambda command: command[0],
)
def test_without_pyspark_the_line_that_installs_it(command: list[str], tmp_path: Path) -> None:
    found = subprocess.run(
        [sys.executable, "-c", WITHOUT_PYSPARK, *command],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert (found.returncode, found.stdout) == (1, "")
    assert found.stderr.endswith("needs PySpark, which isn't installed: pip install 'semistream[spark]'\n")
    assert found.stderr.startswith("MissingDependencyError: ")


def test_without_java_what_to_install(tmp_path: Path) -> None:
    found = subprocess.run(
        [sys.executable, "-m", "semistream", "demo", "--quick"],
        env={"JAVA_HOME": str(tmp_path), "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (found.returncode, found.stdout) == (1, "Starting Spark ...\n")
    assert found.stderr.startswith("MissingDependencyError: Spark can't start Java: install a Java runtime")
    assert [path.name for path in tmp_path.iterdir()] == []
