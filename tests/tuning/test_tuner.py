"""What the tuner chooses passes to the join as it is, and respects the memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import semistream as ss
from semistream.algorithms import names
from semistream.costs.base import HARD_DISK_2011
from semistream.errors import ArgumentError, BudgetError
from semistream.stores.master import Master
from semistream.tuning import tune
from semistream.tuning.choices import Point, around, screened
from semistream.workloads.keys import zipf_keys

ROWS = 3000
MEMORY = 200 << 10
STREAM = pa.schema([("id", pa.int64()), ("row", pa.int64())])
QUICK: dict[str, Any] = {"rows": 4000, "device": HARD_DISK_2011, "stream": STREAM}


def a_master() -> Master:
    payload = pa.array(np.zeros(ROWS * 112, np.uint8).view("S112"), pa.binary(112))
    return ss.master(pa.table({"id": np.arange(ROWS), "payload": payload}), "id", page_rows=10)


def a_stream(rows: int, exponent: float = 1.0) -> pa.RecordBatch:
    keys = zipf_keys(rows, ROWS, exponent, 3)
    return pa.record_batch({"id": keys, "row": np.arange(rows)}, schema=STREAM)


@pytest.mark.parametrize("algorithm", names())
def test_settings_pass_to_the_join(algorithm: str) -> None:
    """Each algorithm's settings are its own, make the split that was promised, and hold it."""
    tuned = tune(a_master(), MEMORY, algorithm=algorithm, exponent=1.0, order="frequency", **QUICK)
    rows = 4000
    with ss.SemiStreamJoin(a_master(), **tuned.settings) as join:
        out = [*join.push(a_stream(rows)), *join.drain()]
        stats = join.stats
    assert sum(batch.num_rows for batch in out) == rows
    assert stats.memory_limit == MEMORY
    assert stats.peak_bytes <= MEMORY
    assert stats.pending_capacity == tuned.chosen.plan.pending_rows
    assert tuned.settings["memory"] == MEMORY
    assert tuned.settings["algorithm"] == algorithm
    assert tuned.gain >= 1.0


def test_more_is_gained_where_loads_are_dear() -> None:
    """A seek of 8 ms for 10 rows: larger loads are worth several times the defaults."""
    tuned = tune(a_master(), MEMORY, algorithm="hybridjoin", exponent=0.5, measure=2, **QUICK)
    assert tuned.settings["partition_pages"] > 1
    assert tuned.gain > 2
    assert tuned.measured


def test_measured_costs_repeat() -> None:
    def seconds() -> list[float | None]:
        tuned = tune(a_master(), MEMORY, algorithm="p_cachejoin", exponent=1.0, measure=2, **QUICK)
        return [choice.measured_seconds for choice in tuned.candidates[:2]]

    first = seconds()
    assert None not in first
    assert first == seconds()


def test_run_on_its_own_device() -> None:
    tuned = tune(a_master(), MEMORY, algorithm="hybridjoin", exponent=1.0, measure=1, real=True, **QUICK)
    assert tuned.chosen.measured_seconds is not None
    assert tuned.chosen.measured_seconds > 0


def test_given_settings_stay() -> None:
    tuned = tune(a_master(), MEMORY, algorithm="cachejoin_l", exponent=1.0, position=0.5, **QUICK)
    assert tuned.settings["position"] == 0.5
    assert "cache_share" in tuned.settings


def test_skew_from_a_sample(tmp_path: Any) -> None:
    path = tmp_path / "sample.parquet"
    pq.write_table(pa.Table.from_batches([a_stream(20_000)]), path)
    tuned = tune(a_master(), MEMORY, algorithm="hybridjoin", sample=path, rows=5000)
    assert tuned.skew.exponent == pytest.approx(1.0, abs=0.03)
    assert tuned.skew.order == "frequency"
    assert tuned.job.stream.names == STREAM.names


def test_every_choice_fits() -> None:
    tuned = tune(a_master(), MEMORY, algorithm="cachejoin", exponent=1.0, **QUICK)
    assert len(tuned.candidates) > 10
    for choice in tuned.candidates:
        assert choice.plan == tuned.job.plan(choice.settings)
        assert choice.plan.front_bytes + choice.plan.pages_bytes + choice.plan.pool_bytes < MEMORY


def test_choices_that_do_not_fit_are_left_out() -> None:
    tuned = tune(a_master(), MEMORY, algorithm="cachejoin", exponent=1.0, **QUICK)
    assert screened(tuned.job, [Point(300, 0.5)]) == []
    found = [point for point, _ in screened(tuned.job, [Point(300, 0.5), Point(2, 0.5)])]
    assert found == [Point(2, 0.5)]


def test_neighbours_stay_inside() -> None:
    job = tune(a_master(), MEMORY, algorithm="cachejoin", exponent=1.0, **QUICK).job
    for point in (Point(1, 0.01), Point(300, 0.95)):
        for found in around(point, job, 2.0, 2.0):
            assert 1 <= found.pages <= 300
            assert found.share is not None
            assert 0.01 <= found.share <= 0.95


def test_memory_that_is_too_small() -> None:
    with pytest.raises(BudgetError, match="needs at least"):
        tune(a_master(), "20KiB", exponent=1.0)


def test_a_stream_that_would_all_wait() -> None:
    with pytest.raises(ArgumentError, match="too short a stream to tell choices apart"):
        tune(a_master(), MEMORY, algorithm="hybridjoin", exponent=1.0, rows=100)


def test_unknown_skew() -> None:
    with pytest.raises(ArgumentError, match=r"give the exponent .* or a sample"):
        tune(a_master(), MEMORY)


def test_unknown_order() -> None:
    with pytest.raises(ArgumentError, match="order='random' isn't known"):
        tune(a_master(), MEMORY, exponent=1.0, order="random")


def test_reasons_are_told() -> None:
    tuned = tune(a_master(), MEMORY, algorithm="cachejoin", exponent=1.0, **QUICK)
    said = str(tuned)
    assert f"{tuned.gain:.2f} times as many rows a second" in said
    assert f"{tuned.chosen.plan.pending_rows:,} rows can wait" in said
    assert "exponent 1.00" in said
    assert tuned.as_dict()["settings"] == tuned.settings
