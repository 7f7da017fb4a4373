"""TPC-H has its sizes at any scale, and the skewed form differs in the orders' customers alone."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from semistream.errors import ArgumentError, MissingDependencyError, StoreError
from semistream.workloads import tpch
from semistream.workloads.keys import KeyStream

SCALE = 0.0123


@pytest.fixture(scope="module")
def plain() -> tuple[pa.Table, pa.Table]:
    made = tpch.uniform(scale=SCALE)
    return made.master.table().combine_chunks(), made.stream.table().combine_chunks()


def test_customers_and_orders_at_an_odd_scale(plain: tuple[pa.Table, pa.Table]) -> None:
    customers, orders = plain
    assert (customers.num_rows, orders.num_rows) == (1845, 18_450)
    assert customers["c_custkey"].to_pylist() == list(range(1, 1846))
    assert orders.group_by("o_orderkey").aggregate([]).num_rows == 18_450


def test_plain_customers_order_almost_evenly(plain: tuple[pa.Table, pa.Table]) -> None:
    asked = np.bincount(plain[1]["o_custkey"].to_numpy(), minlength=1846)
    expected = np.array([0, 20, 10])[np.arange(1846) % 3]
    assert asked[expected == 0].sum() == 0
    asked, expected = asked[expected > 0], expected[expected > 0]
    # Chi-square with 1,229 degrees of freedom, 5 deviations.
    chi_square = float(((asked - expected) ** 2 / expected).sum())
    assert abs(chi_square - 1229) < 5 * (2 * 1229) ** 0.5


def test_types_are_those_that_every_reader_has(plain: tuple[pa.Table, pa.Table]) -> None:
    customers, orders = plain
    assert customers.schema == tpch.CUSTOMER
    assert orders.schema == tpch.ORDER
    assert customers["c_name"][0].as_py() == "Customer#000000001"


def test_parts_make_the_same_table(plain: tuple[pa.Table, pa.Table], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tpch, "PART_ROWS", 10_000)
    assert tpch.uniform(scale=SCALE).stream.table().combine_chunks().equals(plain[1])


def test_the_skewed_orders_differ_in_their_customers_alone(plain: tuple[pa.Table, pa.Table]) -> None:
    made = tpch.skewed(scale=SCALE, seed=5)
    orders = pa.Table.from_batches(made.stream.batches(1000)).combine_chunks()
    assert orders.drop(["o_custkey"]).equals(plain[1].drop(["o_custkey"]))
    assert np.array_equal(orders["o_custkey"].to_numpy(), KeyStream(1845, seed=5).values(0, 18_450) + 1)


@pytest.mark.parametrize("scale", [0, -1, 0.0001, float("nan"), 1e6])
def test_what_is_no_scale_is_refused(scale: float) -> None:
    for make in (tpch.uniform, tpch.skewed):
        with pytest.raises(ArgumentError, match="scale"):
            make(scale=scale)


def test_a_generator_that_fails_says_why(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    broken = tmp_path / "tpchgen-cli"
    broken.write_text(f"#!{sys.executable}\nraise SystemExit('no room left')\n")
    broken.chmod(0o755)
    monkeypatch.setattr(tpch, "program", lambda _: broken)
    with pytest.raises(StoreError, match=r"part 1 of customer at scale 1\.0: no room left"):
        next(tpch.uniform().master.batches())


def test_without_the_generator_the_error_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tpch, "PROGRAM", "tpchgen-cli-of-nobody")
    with pytest.raises(MissingDependencyError, match=r"pip install 'semistream\[experiments\]'"):
        tpch.uniform()
