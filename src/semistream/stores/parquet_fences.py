"""What a Parquet row group's statistics say of its keys, and when they can be believed.

Statistics of text may be cut short, and of some types they don't come back as they were: only
those of signed integers and dates are taken as keys. Other fences are read.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq


@dataclass(frozen=True, slots=True)
class RowGroup:
    """A page: which row group of which file, and whether all its keys are known not to be null."""

    file: int
    number: int
    null_free: bool


def null_free(group: pq.RowGroupMetaData, schema: pa.Schema, key: tuple[str, ...]) -> bool:
    """Whether the schema or the statistics say that no key is null."""
    for name in key:
        statistics = _column(group, name).statistics
        known = statistics is not None and statistics.has_null_count and statistics.null_count == 0
        if not known and schema.field(name).nullable:
            return False
    return True


def has_exact_least(group: pq.RowGroupMetaData, schema: pa.Schema, key: tuple[str, ...]) -> bool:
    """Whether the statistics hold the first key of a sorted row group. For a composite they don't:
    each column's least value need not be on the first row."""
    return len(key) == 1 and _exact_bounds(group, schema, key[0])


def first_key(group: pq.RowGroupMetaData, schema: pa.Schema, key: tuple[str, ...]) -> list[pa.Array]:
    return [pa.array([_column(group, key[0]).statistics.min], schema.field(key[0]).type)]


def greatest_key(
    group: pq.RowGroupMetaData, schema: pa.Schema, key: tuple[str, ...]
) -> list[pa.Array] | None:
    """The last key of a sorted row group, where the statistics hold it."""
    if not has_exact_least(group, schema, key):
        return None
    return [pa.array([_column(group, key[0]).statistics.max], schema.field(key[0]).type)]


def _exact_bounds(group: pq.RowGroupMetaData, schema: pa.Schema, name: str) -> bool:
    data_type = schema.field(name).type
    # Unsigned bounds come back signed, nanosecond timestamps as microseconds.
    believed = pa.types.is_signed_integer(data_type) or pa.types.is_date32(data_type)
    statistics = _column(group, name).statistics
    return bool(believed and statistics is not None and statistics.has_min_max)


def _column(group: pq.RowGroupMetaData, name: str) -> pq.ColumnChunkMetaData:
    for at in range(group.num_columns):
        if group.column(at).path_in_schema == name:
            return group.column(at)
    raise AssertionError(f"a key column is flat, and {name!r} was found in the schema")
