"""`semistream tune`, for people and for programs."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import semistream as ss
from semistream.cli import main
from semistream.workloads.keys import zipf_keys

ROWS = 20_000
QUICK = ["--memory", "2MiB", "--algorithm", "hybridjoin", "--rows", "100000", "--device", "hard-disk"]


@pytest.fixture
def master(tmp_path: Path) -> str:
    path = tmp_path / "master.parquet"
    pq.write_table(pa.table({"id": np.arange(ROWS), "price": np.zeros(ROWS)}), path, row_group_size=500)
    return str(path)


def test_for_people(master: str) -> None:
    result = CliRunner().invoke(main, ["tune", master, "--key", "id", "--exponent", "1", *QUICK])
    assert result.exit_code == 0, result.output
    assert "partition_pages" in result.stdout
    assert "Why\n- " in result.stdout
    assert "exponent 1.00" in result.stdout


def test_for_programs(master: str, tmp_path: Path) -> None:
    """With a sample; the settings of the answer start a join."""
    sample = tmp_path / "sample.parquet"
    pq.write_table(pa.table({"id": zipf_keys(30_000, ROWS, 0.8, 3)}), sample)
    result = CliRunner().invoke(
        main, ["tune", master, "--key", "id", "--sample", str(sample), "--json", *QUICK]
    )
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["exponent"] == pytest.approx(0.8, abs=0.03)
    assert found["order"] == "frequency"
    assert found["settings"]["memory"] == 2 << 20
    with ss.SemiStreamJoin(ss.master(master, "id"), **found["settings"]) as join:
        out = [*join.push(pa.record_batch({"id": [5, 6]})), *join.drain()]
    assert sum(batch.num_rows for batch in out) == 2


def test_without_a_skew(master: str) -> None:
    result = CliRunner().invoke(main, ["tune", master, "--key", "id", *QUICK])
    assert result.exit_code == 1
    assert "give the exponent" in result.stderr
