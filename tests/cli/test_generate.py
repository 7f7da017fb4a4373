"""`semistream generate`: files, facts about them, and the list of workloads."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from semistream.cli import main
from semistream.workloads import catalogue
from semistream.workloads.synthetic import zipf

SMALL = ["zipf", "--master-rows", "500", "--stream-rows", "700", "--seed", "3", "--arrivals", "papers"]


def test_files_and_facts_for_programs(tmp_path: Path) -> None:
    out = tmp_path / "sales"
    result = CliRunner().invoke(main, ["generate", *SMALL, "--out", str(out), "--file-rows", "400", "--json"])
    assert result.exit_code == 0, result.stderr
    facts = json.loads(result.stdout)
    sizes = {
        f"{side}_bytes": sum(file.stat().st_size for file in (out / side).iterdir())
        for side in ("master", "stream")
    }
    assert facts == {
        "workload": "zipf",
        "path": str(out),
        "key": "key",
        "master_rows": 500,
        "master_files": 2,
        "stream_rows": 700,
        "stream_files": 2,
        **sizes,
    }
    expected = zipf(master_rows=500, stream_rows=700, seed=3, arrivals="papers")
    assert pq.read_table(out / "stream").equals(expected.stream.table())
    described = json.loads((out / "workload.json").read_text())
    given = {"master_rows": 500, "stream_rows": 700, "seed": 3, "arrivals": "papers"}
    assert described["options"] == {**catalogue.options("zipf"), **given}


def test_people_are_told_what_to_do_with_a_copy(tmp_path: Path) -> None:
    out = tmp_path / "weather"
    arguments = ["flights-weather", "--stream-rows", "50", "--master-files", "clustered", "--out", str(out)]
    result = CliRunner().invoke(main, ["generate", *arguments])
    assert result.exit_code == 0, result.stderr
    said = " ".join(result.stdout.split())
    assert "master_rows 26,115" in said
    assert "key=['origin', 'time_hour']" in said
    assert (out / "master" / "CURRENT").exists()


def test_the_list_names_every_workload_and_its_options() -> None:
    result = CliRunner().invoke(main, ["generate", "--list", "--json"])
    assert result.exit_code == 0
    listed = {row["workload"]: row for row in json.loads(result.stdout)}
    assert tuple(listed) == catalogue.names()
    assert listed["tpch"]["options"] == "--scale=1.0 --stream-rows"
    for people in ("tpch-zipf", "NDP-026B"):
        assert people in CliRunner().invoke(main, ["generate", "--list"]).stdout


def test_every_option_of_a_workload_can_be_given() -> None:
    known = {parameter.name for parameter in main.commands["generate"].params}
    for name in catalogue.names():
        assert set(catalogue.options(name)) <= known, name


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "give a workload and --out"),
        (["zipf"], "give a workload and --out"),
        (["sales", "--out", "x"], "no workload 'sales'"),
        (["tpch", "--nulls", "0.5", "--out", "x"], "tpch has no nulls"),
        (["zipf", "--law", "normal", "--out", "x"], "exact or continuous"),
    ],
)
def test_mistakes_are_told(
    arguments: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(main, ["generate", *arguments])
    assert result.exit_code == 1
    assert said in result.stderr
    assert list(tmp_path.iterdir()) == []
