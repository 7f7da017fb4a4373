"""A sample of the stream: which of the master's keys came how often, and where those lie."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from semistream.columns import On, key_pairs
from semistream.errors import ArgumentError, StoreError
from semistream.keys import KeyCodec
from semistream.phases.widths import LIKELY_VARYING
from semistream.stores.base import Store
from semistream.tuning.skew import Skew, estimated

Sample: TypeAlias = pa.Table | pa.RecordBatch | str | os.PathLike[str]

MOST_ROWS = 5_000_000  # read of a sample; more say nothing new
DIRECTORY_BYTES = 64 << 20
EXAMPLE_ROWS = 1024
MADE_UP_ROWS = 16


def table_of(sample: Sample) -> pa.Table:
    """A table, or the rows of a Parquet or Arrow file or of a folder of Parquet files."""
    if isinstance(sample, pa.RecordBatch):
        return pa.Table.from_batches([sample])
    if isinstance(sample, pa.Table):
        return sample.slice(0, MOST_ROWS)
    path = Path(sample)
    if not path.exists():
        raise ArgumentError(
            f"there is no sample at {path}: give a Parquet or an Arrow file with rows of the stream"
        )
    try:
        if path.suffix in (".arrow", ".feather", ".ipc"):
            with pa.memory_map(str(path)) as source:
                return pa.ipc.open_file(source).read_all().slice(0, MOST_ROWS)
        return _parquet(sorted(path.rglob("*.parquet")) if path.is_dir() else [path])
    except (pa.ArrowException, OSError) as error:
        raise StoreError(f"the sample at {path} can't be read as Parquet or Arrow ({error})") from error


def example_of(stream: pa.Schema | pa.Table) -> pa.RecordBatch:
    """A few rows: the first of the sample, or made up, with strings of a likely width."""
    if isinstance(stream, pa.Schema):
        columns = [_made_up(item.type) for item in stream]
        return pa.RecordBatch.from_arrays(columns, schema=stream)
    found = stream.slice(0, EXAMPLE_ROWS).combine_chunks().to_batches()
    if not found:
        raise ArgumentError("the sample has no rows: give a file that has some")
    return found[0]


def _made_up(data_type: pa.DataType) -> pa.Array:
    if pa.types.is_string(data_type) or pa.types.is_large_string(data_type):
        return pa.array(["x" * LIKELY_VARYING] * MADE_UP_ROWS, data_type)
    if pa.types.is_binary(data_type) or pa.types.is_large_binary(data_type):
        return pa.array([b"x" * LIKELY_VARYING] * MADE_UP_ROWS, data_type)
    return pa.nulls(MADE_UP_ROWS, data_type)


def skew_of(sample: pa.Table, store: Store, on: On = None) -> Skew:
    """Exponent and order, by the keys of the sample that the master may have."""
    pairs = key_pairs(on, store.key)
    missing = [stream for stream in pairs.values() if stream not in sample.column_names]
    if missing:
        raise ArgumentError(
            f"the sample has no column {missing[0]!r}; it has {', '.join(sample.column_names)}: "
            "say with `on` how its key columns are called"
        )
    names: Sequence[str] = [pairs[name] for name in store.key]
    counted = sample.select(names).group_by(names).aggregate([([], "count_all")]).combine_chunks()
    codec = KeyCodec.of_master([store.schema.field(name) for name in store.key])
    accepted = codec.accepts([sample.schema.field(name) for name in names])
    columns = [_whole(counted.column(name)) for name in names]
    least, everything = store.directory_bytes()
    directory = store.directory(max(least, min(everything, DIRECTORY_BYTES)))
    if directory is None or store.layout is None or not store.rows:
        raise StoreError("this master has no index on its key, so nothing shows where its frequent keys lie")
    first, _ = directory.locate(accepted.encode(columns))
    known = first >= 0
    counts = np.asarray(_whole(counted.column("count_all")), dtype=np.int64)
    page_rows = store.rows / store.layout.pages
    positions = (first[known] * page_rows).astype(np.int64)
    return estimated(counts[known], positions, max(1, round(page_rows)), store.rows)


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)


def _parquet(paths: Sequence[Path]) -> pa.Table:
    """As many row groups as make a sample."""
    found: list[pa.Table] = []
    rows = 0
    for path in paths:
        with pq.ParquetFile(path) as file:
            for group in range(file.num_row_groups):
                if rows >= MOST_ROWS:
                    break
                found.append(file.read_row_group(group))
                rows += found[-1].num_rows
    if not found:
        raise ArgumentError("the sample has no rows: give a file that has some")
    return pa.concat_tables(found)
