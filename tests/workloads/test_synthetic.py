"""The papers' workload: its keys are those of the key stream, its rows have the papers' sizes."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pyarrow as pa
import pytest

from semistream.errors import ArgumentError
from semistream.workloads.arrivals import OnOff, arrivals_named
from semistream.workloads.keys import KeyStream
from semistream.workloads.masters import MasterOrder
from semistream.workloads.streams import Stream
from semistream.workloads.synthetic import STREAM_ROW_BYTES, zipf


def test_the_rows_are_those_of_the_key_stream() -> None:
    given = {"drift_every": 300, "unmatched": 0.1, "nulls": 0.05, "seed": 8}
    made = zipf(master_rows=2000, stream_rows=5000, exponent=0.7, law="continuous", **given)  # type: ignore[arg-type]
    table = made.stream.table().combine_chunks()
    expected = KeyStream(2000, 0.7, "continuous", **given)  # type: ignore[arg-type]
    assert table["key"].combine_chunks().equals(expected.array(0, 5000))
    assert table["sequence"].to_pylist() == list(range(5000))
    assert (made.on, made.key) == ({"key": "key"}, ("key",))


def test_stream_rows_have_twenty_bytes() -> None:
    (batch,) = zipf(master_rows=100, stream_rows=1000).stream.batches(1000)
    assert batch.nbytes == 1000 * STREAM_ROW_BYTES == 20_000


@pytest.mark.parametrize("batch_rows", [1, 7, 400, 1000, 1001])
def test_batches_are_cut_from_one_stream(batch_rows: int) -> None:
    made = zipf(master_rows=100, stream_rows=1000, arrivals="bursty", seed=2)
    batches = list(made.stream.batches(batch_rows))
    assert {batch.num_rows for batch in batches[:-1]} <= {batch_rows}
    assert pa.Table.from_batches(batches).combine_chunks().equals(made.stream.table().combine_chunks())


def test_a_clock_comes_with_the_arrivals() -> None:
    made = zipf(master_rows=100, stream_rows=3000, arrivals="bursty", rows_per_second=50, seed=4)
    stream = Stream(KeyStream(100, seed=4), OnOff(4), 50)
    (expected,) = stream.batches(stream.begin(), 3000)
    assert made.stream.schema.names == ["key", "sequence", "event_time", "quantity"]
    assert made.stream.table()["event_time"].combine_chunks().equals(expected["event_time"])


def test_a_fifth_of_the_products_makes_four_fifths_of_the_sales() -> None:
    made = zipf(master_rows=5000, stream_rows=300_000, master_order="frequency", seed=1)
    rank = {key: rank for rank, key in enumerate(made.master.table()["key"].to_pylist())}
    ranks = np.array([rank[key] for key in made.stream.table()["key"].to_pylist()])
    assert np.mean(ranks < 1000) == pytest.approx(0.82, abs=0.01)


def test_only_a_master_in_key_order_says_that_it_is() -> None:
    found = {order: zipf(master_order=order).in_key_order for order in get_args(MasterOrder)}
    assert found == {"key": True, "frequency": False, "scattered": False}


def test_arrivals_have_names() -> None:
    assert [arrivals_named(name, 5) for name in ("bursty", "papers")] == [OnOff(5), OnOff(5, "uniform")]
    with pytest.raises(ArgumentError, match="constant, bursty or papers"):
        zipf(arrivals="poisson")
