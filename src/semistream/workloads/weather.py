"""Weather reports joined by longitude: a synthetic stand-in for NDP-026B, whose files can't be had any more.

S4 joins reports of some months with those of another: 20 million rows of the master, 6 million of the
stream, 128 bytes each, on the longitude in hundredths of a degree, from 0 to 36,000. What is known beside
that are some 7,000 stations with unequal numbers of reports. Everything else is made up here:
stations lie anywhere, and the r-th busiest reports r^-0.5 times as often as the busiest.

Many-to-many: at full size a row of the stream meets some thousands of the master's, at a twentieth some
hundreds. The master lies by longitude, the stream by time.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from semistream.errors import ArgumentError
from semistream.workloads.base import Workload, sized
from semistream.workloads.draws import purpose_key, uniform_at
from semistream.workloads.keys import KeyStream
from semistream.workloads.streams import EPOCH
from semistream.workloads.texts import texts

MASTER_ROWS, STREAM_ROWS = 20_000_000, 6_000_000
ROW_BYTES, FIXED_BYTES = 128, 32
STATIONS, EXPONENT = 7000, 0.5
LONGITUDES, LATITUDES = 36_001, 18_001  # hundredths of a degree, both ends included
MASTER_MONTH = dt.datetime(1991, 8, 1, tzinfo=dt.UTC)
STREAM_MONTH = dt.datetime(1991, 12, 1, tzinfo=dt.UTC)
MONTH = dt.timedelta(days=31)
LONGITUDE, LATITUDE, MASTER_TEXTS, STREAM_TEXTS = range(400, 404)  # what a seed is used for

SCHEMA = pa.schema(
    [
        pa.field("longitude", pa.int32(), nullable=False),
        pa.field("latitude", pa.int32(), nullable=False),
        pa.field("station", pa.int32(), nullable=False),
        pa.field("cloud_cover", pa.int32(), nullable=False),
        pa.field("reported_at", pa.timestamp("us", tz="UTC"), nullable=False),
        pa.field("sequence", pa.int64(), nullable=False),
        pa.field("report", pa.string(), nullable=False),
    ]
)

Int64s = NDArray[np.int64]


@dataclass(frozen=True)
class Reports:
    """Stations, and any part of either side's reports."""

    master_rows: int
    stream_rows: int
    seed: int = 0

    def master(self, first: int, count: int) -> pa.RecordBatch:
        """Reports of one station after the other, from west to east; each station's in the order of time."""
        numbers = np.arange(first, first + count)
        place = np.searchsorted(self._ends, numbers, side="right")
        begins = np.append(0, self._ends)[place]
        passed = (numbers - begins) / (self._ends[place] - begins)
        return self._batch(self._eastwards[place], numbers, MASTER_MONTH, passed, MASTER_TEXTS)

    def stream(self, first: int, count: int) -> pa.RecordBatch:
        numbers = np.arange(first, first + count)
        stations = self._busy.values(first, count)
        return self._batch(stations, numbers, STREAM_MONTH, numbers / self.stream_rows, STREAM_TEXTS)

    def _batch(
        self,
        stations: Int64s,
        numbers: Int64s,
        month: dt.datetime,
        passed: NDArray[np.float64],
        purpose: int,
    ) -> pa.RecordBatch:
        start, length = (span // dt.timedelta(microseconds=1) for span in (month - EPOCH, MONTH))
        times = pa.array(start + (passed * length).astype(np.int64))
        return pa.RecordBatch.from_arrays(
            [
                pa.array(self._longitudes[stations].astype(np.int32)),
                pa.array(self._latitudes[stations].astype(np.int32)),
                pa.array(stations.astype(np.int32)),
                pa.array(((numbers + stations) % 9).astype(np.int32)),
                times.cast(SCHEMA.field("reported_at").type),
                pa.array(numbers),
                texts(purpose_key(self.seed, purpose), numbers, ROW_BYTES - FIXED_BYTES),
            ],
            schema=SCHEMA,
        )

    @cached_property
    def _busy(self) -> KeyStream:
        """Station number s is the s-th busiest."""
        return KeyStream(STATIONS, EXPONENT, order="frequency", seed=self.seed)

    @cached_property
    def _longitudes(self) -> Int64s:
        return self._somewhere(LONGITUDE, LONGITUDES)

    @cached_property
    def _latitudes(self) -> Int64s:
        return self._somewhere(LATITUDE, LATITUDES)

    @cached_property
    def _eastwards(self) -> Int64s:
        return np.argsort(self._longitudes, kind="stable")

    @cached_property
    def _ends(self) -> Int64s:
        """Behind which row of the master each station's reports end, from west to east."""
        shares = np.cumsum(self._busy.rank_shares()[self._eastwards])
        return np.asarray(np.rint(shares / shares[-1] * self.master_rows), dtype=np.int64)

    def _somewhere(self, purpose: int, places: int) -> Int64s:
        draws = np.empty(STATIONS)
        uniform_at(purpose_key(self.seed, purpose), 0, draws)
        return (draws * places).astype(np.int64)


def reports(*, scale: float = 1.0, stream_rows: int | None = None, seed: int = 0) -> Workload:
    """Weather reports joined by longitude: a synthetic stand-in for NDP-026B, many-to-many.

    scale: of both numbers of rows; the stations stay as they are.
    """
    if not 0 < scale <= 1000:
        raise ArgumentError(f"scale={scale} can't be: give more than 0, and 1000 at most")
    made = Reports(round(MASTER_ROWS * scale), round(STREAM_ROWS * scale), seed)
    return Workload(
        sized(SCHEMA, made.master_rows, made.master),
        sized(SCHEMA, made.stream_rows, made.stream).first(stream_rows),
        {"longitude": "longitude"},
        in_key_order=True,
    )
