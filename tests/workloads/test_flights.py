"""The flights are those that were counted, and what they lack in each master is what was counted too."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from semistream.workloads import flights
from semistream.workloads.base import Workload


@pytest.mark.parametrize(
    ("made", "rows", "unmatched", "nulls"),
    [
        (flights.planes(), 3322, 50_094, 2512),
        (flights.weather(), 26_115, 1556, 0),
        (flights.airports(), 1458, 7602, 0),
    ],
    ids=["planes", "weather", "airports"],
)
def test_flights_and_their_masters(made: Workload, rows: int, unmatched: int, nulls: int) -> None:
    stream, master = made.stream.table(), made.master.table()
    assert (stream.num_rows, master.num_rows) == (336_776, rows)
    keys = stream.select(list(made.on))
    for column in keys.columns:
        keys = keys.filter(pc.is_valid(column))
    assert stream.num_rows - keys.num_rows == nulls
    without = keys.join(master.select(made.key), list(made.on), list(made.key), "left anti")
    assert without.num_rows == unmatched
    assert master.group_by(list(made.key)).aggregate([]).num_rows == rows
    assert made.in_key_order
    assert master.equals(master.sort_by([(name, "ascending") for name in made.key]))


def test_what_is_missing_is_null_and_never_a_word() -> None:
    table = flights.planes(stream_rows=50_000).stream.table()
    assert "NA" not in table["tailnum"].unique().to_pylist()
    assert table["dep_time"].null_count > 0
    assert table["time_hour"].type == pa.timestamp("us", tz="UTC")
    assert str(table["time_hour"][0].as_py()) == "2013-01-01 10:00:00+00:00"
    assert flights.airports().master.table()["tzone"].null_count == 3


@pytest.mark.parametrize("batch_rows", [1, 999, 1 << 20])
def test_batches_are_as_large_as_asked_for_at_most(batch_rows: int) -> None:
    made = flights.planes(stream_rows=3000)
    sizes = [batch.num_rows for batch in made.stream.batches(batch_rows)]
    assert sum(sizes) == 3000
    assert max(sizes) <= batch_rows
