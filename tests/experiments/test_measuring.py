"""Cells run on the engine, and their answers are checked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from semistream import SemiStreamJoin
from semistream.algorithms import names
from semistream.experiments import found, measuring, worlds
from semistream.experiments.accounting import SCANS, capacities
from semistream.experiments.cells import Cell
from semistream.experiments.results import CellResult
from tests.experiments.tiny import MASTER_ROWS, PARTITION_ROWS, PARTITIONS, cell

TURN = 8e-3 + PARTITION_ROWS * 120 / 150e6  # seconds of a load


def run(one: Cell, folder: Path | None = None) -> CellResult:
    (result,) = measuring.run([one], folder)
    assert result.error is None, result.error
    return result


@pytest.mark.parametrize("name", names())
def test_every_algorithm_is_measured_and_checked(name: str) -> None:
    result = run(cell(name, repeats=2))
    split = capacities(cell(name))
    assert result.checked["rows_out"] == result.checked["sampled"]
    warm_up = measuring.warm_up_rows(result.cell, split)
    if name not in ("inlj", *SCANS):
        assert warm_up >= 25 * split.pending_rows
    measured = sum(repeat["rows"] for repeat in result.repeats)  # of them some that waited already
    assert result.checked["rows_out"] >= warm_up + measured - split.pending_rows
    for repeat in result.repeats:
        loads = repeat["loads"]
        if name in SCANS:
            chunk = split.pending_rows // PARTITIONS
            assert loads == pytest.approx(split.pending_rows / chunk, abs=1), "a load for each chunk"
        assert repeat["jumps"] <= loads
        assert repeat["loads_per_row"] == pytest.approx(loads / repeat["rows"])
        assert repeat["rows_per_second"] == pytest.approx(repeat["rows"] / repeat["seconds"])
        serial = repeat["io_seconds"] + repeat["cpu_seconds"]
        assert repeat["seconds"] <= serial * (1 + 1e-9)
        if "p_cachejoin" not in name:
            assert repeat["seconds"] == pytest.approx(serial)


def test_a_run_repeats_itself() -> None:
    first, second = (run(cell("cachejoin_pq")).repeats[0] for _ in range(2))
    timed = {"wall_seconds"}
    assert {k: v for k, v in first.items() if k not in timed} == {
        k: v for k, v in second.items() if k not in timed
    }


def test_another_seed_is_another_run() -> None:
    assert run(cell()).repeats[0]["loads"] != run(cell(seed=2)).repeats[0]["loads"]


def test_loads_are_charged_one_by_one() -> None:
    repeat = run(cell()).repeats[0]
    assert repeat["io_seconds"] == pytest.approx(repeat["loads"] * TURN)
    assert repeat["bytes"] == repeat["loads"] * PARTITION_ROWS * 120


def test_inlj_is_measured_without_a_warm_up() -> None:
    result = run(cell("inlj", partition_rows=68, scale=0.05))
    assert [repeat["rows"] for repeat in result.repeats] == [1_000]
    assert result.checked["rows_out"] == 1_000
    assert measuring.measured_rows(cell("inlj", scale=1.0), capacities(cell("inlj")), 1.0) == 20_000


def test_profiles_tell_matches_by_partition_and_keep_to_theorem_1() -> None:
    repeat = run(cell(settings=(("profile", True),))).repeats[0]
    assert len(repeat["loads_by_partition"]) == PARTITIONS
    assert sum(repeat["loads_by_partition"]) == repeat["loads"]
    assert repeat["rows_by_partition"][0] > 10 * repeat["rows_by_partition"][-1]
    assert sum(repeat["share_by_partition"]) == pytest.approx(1)
    assert repeat["most_loads_a_capacity"] == 1


def test_the_real_disk_is_read_past_the_page_cache(tmp_path: Path) -> None:
    result = run(cell("p_cachejoin", disk="real"), tmp_path)
    (repeat,) = result.repeats
    assert repeat["bytes"] >= repeat["loads"] * PARTITION_ROWS * 120
    assert "io_seconds" not in repeat
    assert len(list(tmp_path.iterdir())) == 1


# -- arrival rates ------------------------------------------------------------------------------


def at_rates(name: str, *rates: float | None, **changed: Any) -> list[dict[str, Any]]:
    cells = [cell(name, arrival_rate=rate, **changed) for rate in rates]
    assert len({one.saturated.id for one in cells}) == 1
    found = measuring.run(cells)
    assert [result.error for result in found] == [None] * len(cells)
    return [dict(result.repeats[0]) for result in found]


def test_a_slow_stream_waits_for_nothing_but_its_own_load() -> None:
    (slow,) = at_rates("hybridjoin", 10)
    assert slow["loads_per_row"] == 1
    assert slow["waiting_seconds"] == pytest.approx(0, abs=1e-6)
    assert slow["processing_seconds"] == pytest.approx(TURN, rel=0.01)


def test_meshjoin_waits_for_its_chunk() -> None:
    """The first of w rows waits for w - 1 others, the last for none."""
    (slow,) = at_rates("meshjoin", 20)
    chunk = capacities(cell("meshjoin")).pending_rows // PARTITIONS
    assert slow["waiting_seconds"] == pytest.approx((chunk - 1) / 2 / 20, rel=0.02)
    assert slow["processing_seconds"] < PARTITIONS * TURN


def test_inlj_falls_behind_a_stream_that_is_faster_than_its_loads() -> None:
    saturated, slow, fast = at_rates("inlj", None, 50, 500, partition_rows=PARTITION_ROWS)
    assert slow["waiting_seconds"] == pytest.approx(0, abs=1e-6)
    assert fast["waiting_seconds"] > 1
    assert fast["rows_per_second"] == pytest.approx(saturated["rows_per_second"], rel=0.02)


# -- a master in another order ------------------------------------------------------------------


def test_a_master_in_the_order_of_its_use_needs_fewer_loads() -> None:
    def loads_per_row(observed: float) -> float:
        one = cell("x_hybridjoin", order="scattered", settings=(("reordered_after", observed),))
        return float(run(one).repeats[0]["loads_per_row"])

    never, soon, late = (loads_per_row(observed) for observed in (0, 1, 30))
    assert late < soon < never
    sorted_from_the_beginning = run(cell("x_hybridjoin")).repeats[0]["loads_per_row"]
    assert late < 1.5 * sorted_from_the_beginning


def test_a_new_order_is_a_permutation_by_use() -> None:
    one = cell(order="scattered", settings=(("reordered_after", 10),))
    places = worlds.places_by_use(one)
    assert places is not None
    assert np.array_equal(np.sort(places), np.arange(MASTER_ROWS))
    keys = worlds.world_of(one).batch(0, 10_000).column("key").to_numpy()
    assert (keys < MASTER_ROWS // 10).mean() > 0.6
    assert worlds.places_by_use(cell()) is None


# -- keys out of data sets ----------------------------------------------------------------------


def test_a_weather_report_meets_many_of_the_master() -> None:
    """Many-to-many: every answer counts, and a load answers rows of the stream."""
    one = cell("cachejoin", workload="weather", seed=3)
    keys, stream = found.found_keys(one)
    assert len(keys) == MASTER_ROWS
    assert (np.diff(keys) >= 0).all()
    fan_out = worlds.world_of(one).partners(worlds.world_of(one).batch(0, len(stream)))
    assert fan_out.sum() == sum((keys == key).sum() for key in stream)
    result = run(one)
    assert result.checked["rows_out"] != result.capacities["warm_up_rows"]


def test_tpch_customers_order_evenly_or_by_zipfs_law() -> None:
    def share_of_the_busiest(workload: str) -> float:
        one = cell(workload=workload, order="scattered")
        keys, stream = found.found_keys(one)
        assert (keys[0], keys[-1], len(stream)) == (1, MASTER_ROWS, 10 * MASTER_ROWS)
        run(one)
        return float(np.bincount(stream).max() / len(stream))

    assert share_of_the_busiest("tpch") < 0.01
    assert share_of_the_busiest("tpch-zipf") > 0.1


def test_data_sets_have_no_real_disk() -> None:
    (result,) = measuring.run([cell(workload="weather", disk="real")])
    assert result.error is not None
    assert "simulate it" in result.error


# -- broken joins -------------------------------------------------------------------------------


def losing(batches: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
    return [batch.slice(0, batch.num_rows - (batch.num_rows > 1)) for batch in batches]


def doubling(batches: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
    return [*batches, *(batch.slice(0, 1) for batch in batches[:1])]


def losing_one_and_doubling_another(batches: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
    return [
        pa.concat_batches([batch.slice(1), batch.slice(1, 1)]) if batch.num_rows > 1 else batch
        for batch in batches
    ]


def mixing_up_payloads(batches: list[pa.RecordBatch]) -> list[pa.RecordBatch]:
    return [
        batch.set_column(2, "payload", pa.array(batch.column(2).to_pylist()[::-1]))
        if batch.num_rows
        else batch
        for batch in batches
    ]


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        (losing, "rows are lost or doubled"),
        (doubling, "rows are lost or doubled"),
        (losing_one_and_doubling_another, "checksums differ"),
        (mixing_up_payloads, "aren't those of their keys"),
    ],
)
def test_a_broken_join_is_an_error_and_no_result(
    broken: Callable[[list[pa.RecordBatch]], list[pa.RecordBatch]], told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = SemiStreamJoin.push

    def push(join: SemiStreamJoin, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        return iter(broken(list(right(join, batch))))

    monkeypatch.setattr(SemiStreamJoin, "push", push)
    (result,) = measuring.run([cell()])
    assert result.error is not None
    assert result.error.startswith("WrongAnswerError")
    assert told in result.error
    assert result.interval("rows_per_second") is None


def test_a_cell_that_cannot_run_says_why() -> None:
    (result,) = measuring.run([cell(memory=1_000)])
    assert result.error is not None
    assert "no room for pending rows" in result.error


def test_the_oracle_knows_each_row() -> None:
    oracle = worlds.Oracle(worlds.world_of(cell()))
    batch = worlds.world_of(cell()).batch(0, 100)
    oracle.goes_in(batch)
    keys = batch.column("key")
    assert keys.to_numpy().max() < MASTER_ROWS
    oracle.comes_out([batch.append_column("payload", pa.array(worlds.payload_of(keys.to_numpy())))])
    assert oracle.all_out() == 100


def test_cells_that_share_a_join_are_together() -> None:
    cells = [cell(arrival_rate=rate) for rate in (None, 125.0, 250.0)]
    assert measuring.group([*cells, cell("meshjoin"), replace(cells[0], seed=3)]) == [
        cells,
        [cell("meshjoin")],
        [replace(cells[0], seed=3)],
    ]
