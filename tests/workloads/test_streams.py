"""Streams of rows: cut anywhere, they stay the same."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest

from semistream.errors import ArgumentError
from semistream.workloads.arrivals import Constant, OnOff
from semistream.workloads.keys import KeyStream
from semistream.workloads.streams import SCHEMA, Stream

STREAMS = pytest.mark.parametrize(
    "stream",
    [
        Stream(KeyStream(500, nulls=0.1), Constant(), 3.0),
        Stream(KeyStream(500, nulls=0.1, drift_every=64), OnOff(2), 1e6),
    ],
    ids=["constant", "bursty"],
)


def table(stream: Stream, first: int, rows: int, batch_rows: int = 1000) -> pa.Table:
    at = stream.after(stream.begin(), first)
    return pa.Table.from_batches(stream.batches(at, rows, batch_rows), SCHEMA).combine_chunks()


@STREAMS
def test_parts_are_parts_of_the_whole(stream: Stream) -> None:
    whole = table(stream, 0, 5000)
    assert whole["sequence"].to_pylist() == list(range(5000))
    for first, rows in ((0, 1), (1, 1999), (4000, 1000), (77, 0)):
        assert table(stream, first, rows, batch_rows=77).equals(whole.slice(first, rows).combine_chunks())


def test_constant_rows_come_at_even_times() -> None:
    start = dt.datetime(2020, 2, 29, tzinfo=dt.UTC)
    times = table(Stream(KeyStream(5), rows_per_second=4, start=start), 0, 9)["event_time"].to_pylist()
    assert times == [start + dt.timedelta(seconds=i / 4) for i in range(9)]


def test_bursts_keep_the_rate_on_average_only() -> None:
    stream = Stream(KeyStream(5), OnOff(1), 1e6)
    times = table(stream, 0, 1_000_000, 1 << 20)["event_time"].cast(pa.int64()).to_numpy()
    assert (times[-1] - times[0]) / 1e6 == pytest.approx(1.0, rel=0.3)
    per_hundredth = np.bincount((times - times[0]) // 10_000)
    assert per_hundredth.max() > 1.4 * per_hundredth.mean()
    assert per_hundredth.min() < 0.6 * per_hundredth.mean()


@STREAMS
def test_what_is_due_has_come_by_the_streams_clock(stream: Stream) -> None:
    at = stream.after(stream.begin(), 1500)
    times = table(stream, 1500, 3000)["event_time"].cast(pa.int64()).to_numpy()
    start = int(stream.start.timestamp() * 1e6)
    seconds = (times[1000] - start) / 1e6
    due = stream.due(at, seconds)
    assert times[due - 3] - start <= seconds * 1e6 <= times[due + 3] - start
    assert stream.due(at, 0.0) == 0


def test_what_makes_no_stream_is_refused() -> None:
    with pytest.raises(ArgumentError, match="rows_per_second"):
        Stream(KeyStream(5), rows_per_second=0)
    with pytest.raises(ArgumentError, match="time zone"):
        Stream(KeyStream(5), start=dt.datetime(2024, 1, 1))
