"""The command line: what people see, and what programs get."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from click.testing import CliRunner

from semistream.algorithms import names
from semistream.cli import command, main
from semistream.cli.output import Output
from semistream.errors import BudgetError


def test_algorithms_for_people() -> None:
    result = CliRunner().invoke(main, ["algorithms"])
    assert result.exit_code == 0
    assert [line.strip() for line in result.stdout.splitlines()] == ["algorithm", *names()]


def test_algorithms_for_programs() -> None:
    result = CliRunner().invoke(main, ["algorithms", "--json"])
    assert json.loads(result.stdout) == [{"algorithm": name} for name in names()]


def test_every_command_has_json() -> None:
    for name, subcommand in main.commands.items():
        assert "--json" in {option for parameter in subcommand.params for option in parameter.opts}, name


def test_module_is_the_command() -> None:
    found = subprocess.run(
        [sys.executable, "-m", "semistream", "--help"], capture_output=True, text=True, check=True
    )
    assert found.stdout.startswith("Usage: semistream [OPTIONS] COMMAND")


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> str:
    """A command that raises on purpose."""
    monkeypatch.setattr(main, "commands", dict(main.commands))

    @command
    def fail(output: Output) -> None:
        raise BudgetError("memory is 1 B; [at least] 64 KiB are needed")

    return "fail"


def test_error_for_people(failing: str) -> None:
    result = CliRunner().invoke(main, [failing])
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr == "BudgetError: memory is 1 B; [at least] 64 KiB are needed\n"


def test_error_for_programs(failing: str) -> None:
    result = CliRunner().invoke(main, [failing, "--json"])
    assert result.exit_code == 1
    assert result.stdout == ""
    assert json.loads(result.stderr) == {
        "error": "BudgetError",
        "message": "memory is 1 B; [at least] 64 KiB are needed",
    }


def test_notes_are_for_people_only(capsys: pytest.CaptureFixture[str]) -> None:
    Output(as_json=True).note("warming up")
    assert capsys.readouterr().out == ""
    Output(as_json=False).note("warming up")
    assert capsys.readouterr().out == "warming up\n"


def test_no_rows_are_no_error(capsys: pytest.CaptureFixture[str]) -> None:
    Output(as_json=True).table([])
    assert json.loads(capsys.readouterr().out) == []
