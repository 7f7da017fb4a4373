"""The stand-in for the weather reports has what is known of them: sizes, longitudes, unequal stations."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from semistream.errors import ArgumentError
from semistream.workloads.weather import SCHEMA, STATIONS, Reports, reports

SCALE = 0.005


@pytest.fixture(scope="module")
def sides() -> tuple[pa.Table, pa.Table]:
    made = reports(scale=SCALE, seed=6)
    return made.master.table().combine_chunks(), made.stream.table().combine_chunks()


def test_sizes_are_the_papers(sides: tuple[pa.Table, pa.Table]) -> None:
    assert [side.num_rows for side in sides] == [100_000, 30_000]
    for side in sides:
        assert side.schema == SCHEMA
        # Arrow holds an offset of four bytes for each text beside its letters.
        assert side.to_batches()[0].slice(0, 1000).nbytes == 1000 * (128 + 4)
        longitudes = side["longitude"].to_numpy()
        assert 0 <= longitudes.min() < 50
        assert 35_950 < longitudes.max() <= 36_000
    full = reports()
    last = Reports(20_000_000, 6_000_000).master(19_999_990, 10)
    assert last["longitude"].to_pylist() == sorted(last["longitude"].to_pylist())
    assert full.stream.first(3).table().num_rows == 3


def test_both_sides_have_the_same_stations(sides: tuple[pa.Table, pa.Table]) -> None:
    places = [
        set(zip(*(side[name].to_pylist() for name in ("station", "longitude", "latitude")), strict=True))
        for side in sides
    ]
    assert len({station for station, *_ in places[0] | places[1]}) == len(places[0] | places[1])
    assert len(places[0]) > 0.95 * STATIONS


def test_stations_report_unequally_and_alike_on_both_sides(sides: tuple[pa.Table, pa.Table]) -> None:
    by_master, by_stream = (np.bincount(side["station"].to_numpy(), minlength=STATIONS) for side in sides)
    shares = np.arange(1, STATIONS + 1) ** -0.5
    shares /= shares.sum()
    # The master has each station's share, rounded; the stream draws it.
    assert np.abs(by_master - 100_000 * shares).max() < 1
    classes = np.array([0, 10, 100, 500, 1000, 2000, 4000])
    expected = 30_000 * np.add.reduceat(shares, classes)
    chi_square = float(((np.add.reduceat(by_stream, classes) - expected) ** 2 / expected).sum())
    assert chi_square < 6 + 5 * 12**0.5


def test_many_meet_many(sides: tuple[pa.Table, pa.Table]) -> None:
    master, stream = (np.bincount(side["longitude"].to_numpy(), minlength=36_001) for side in sides)
    assert master.max() > 100
    pairs = int((master * stream).sum())
    assert 30 < pairs / 30_000 < 60


def test_the_master_lies_by_longitude_and_the_stream_by_time(sides: tuple[pa.Table, pa.Table]) -> None:
    assert np.all(np.diff(sides[0]["longitude"].to_numpy()) >= 0)
    times = sides[1]["reported_at"].cast(pa.int64()).to_numpy()
    assert np.all(np.diff(times) > 0)
    assert {time.as_py().strftime("%Y-%m") for time in sides[1]["reported_at"][:: 30_000 // 40]} == {
        "1991-12"
    }
    assert {time.as_py().strftime("%Y-%m") for time in sides[0]["reported_at"][:100]} == {"1991-08"}


def test_any_part_is_that_part_of_the_whole(sides: tuple[pa.Table, pa.Table]) -> None:
    made = Reports(100_000, 30_000, seed=6)
    for part, side in ((made.master, sides[0]), (made.stream, sides[1])):
        for first, count in ((0, 1), (12_345, 678), (29_999, 1)):
            assert pa.Table.from_batches([part(first, count)]).equals(side.slice(first, count))
    other = Reports(100_000, 30_000, seed=7).stream(0, 100)
    assert not other["station"].equals(made.stream(0, 100)["station"])


@pytest.mark.parametrize("scale", [0, -1, float("nan"), 1001])
def test_what_is_no_scale_is_refused(scale: float) -> None:
    with pytest.raises(ArgumentError, match="scale"):
        reports(scale=scale)
