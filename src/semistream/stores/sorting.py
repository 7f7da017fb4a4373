"""Bringing a table into key order, and finding what breaks it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from semistream.errors import ArgumentError, ColumnError, SchemaError
from semistream.keys import KeyCodec, Keys, is_sorted, order
from semistream.structures.views import taken

Source: TypeAlias = pa.Table | pa.RecordBatch | Sequence[pa.RecordBatch]


def checked_key(key: str | Sequence[str]) -> tuple[str, ...]:
    """The key as a tuple of column names."""
    names = (key,) if isinstance(key, str) else tuple(key)
    if not names or not all(isinstance(name, str) for name in names):
        raise ArgumentError(f"key={key!r} names no column; give a column name or a sequence of them")
    if len(set(names)) != len(names):
        raise ArgumentError(f"key={key!r} names a column twice; name each once")
    return names


def checked_columns(schema: pa.Schema, key: tuple[str, ...], columns: Sequence[str] | None) -> list[str]:
    """The columns that a master shows: those asked for and always the key, in the schema's order."""
    if isinstance(columns, str):
        raise ArgumentError(f"columns={columns!r} is one string; give a sequence of column names")
    for name in [*key, *(columns or ())]:
        if name not in schema.names:
            raise ColumnError(f"the master has no column {name!r}; it has {', '.join(schema.names)}")
    wanted = set(schema.names if columns is None else columns) | set(key)
    twice = sorted({name for name in wanted if schema.names.count(name) > 1})
    if twice:
        raise ColumnError(f"the master has {', '.join(twice)} more than once; rename all but one")
    return [name for name in schema.names if name in wanted]


def codec_of(schema: pa.Schema, key: tuple[str, ...]) -> KeyCodec:
    return KeyCodec.of_master([schema.field(name) for name in key])


def one_batch(source: Source, columns: Sequence[str] | None = None) -> pa.RecordBatch:
    """All rows in one contiguous batch; a batch comes back as it is."""
    if isinstance(source, pa.RecordBatch):
        return source if columns is None else source.select(list(columns))
    table = source if isinstance(source, pa.Table) else pa.Table.from_batches(list(source))
    if columns is not None:
        table = table.select(list(columns))
    batches = table.combine_chunks().to_batches()
    if not batches:
        return pa.RecordBatch.from_arrays(
            [pa.array([], field.type) for field in table.schema], schema=table.schema
        )
    if len(batches) > 1:
        wide = [
            field.name for field in table.schema if len(table.column(field.name).combine_chunks().chunks) > 1
        ]
        raise ArgumentError(
            f"column {', '.join(wide)} holds more than one contiguous array can (2 GiB of text): cast it to "
            "large_string or large_binary, or build a clustered copy"
        )
    return batches[0]


def in_key_order(batch: pa.RecordBatch, key: tuple[str, ...]) -> tuple[pa.RecordBatch, Keys, int, bool]:
    """`batch` without rows whose key is null, sorted by key: the batch, its keys, how many rows were
    dropped, and whether anything was copied. O(n log n); O(n) where it is sorted already."""
    keys = codec_of(batch.schema, key).encode([batch.column(name) for name in key])
    dropped = int(np.count_nonzero(keys.null))
    rows = None
    if not is_sorted(keys):
        rows = order(keys)[: len(keys) - dropped]
    elif dropped:  # null keys stand behind all others
        batch, keys = batch.slice(0, len(keys) - dropped), keys.take(np.arange(len(keys) - dropped))
    if rows is not None:
        batch, keys = taken(batch, rows), keys.take(rows)
    return batch, keys, dropped, rows is not None


def first_out_of_order(keys: Keys) -> int:
    """The first row whose key is below that of the row before; the keys aren't sorted. O(n)."""
    low, high = 1, len(keys) - 1  # the first `low` rows are sorted, the first `high + 1` aren't
    while low < high:
        middle = (low + high) // 2
        if is_sorted(keys.take(np.arange(low - 1, middle + 1))):
            low = middle + 1
        else:
            high = middle
    return low


def key_text(arrays: Sequence[pa.Array], row: int) -> str:
    """One row's key as it stands in an error."""
    values = [array[row].as_py() for array in arrays]
    return repr(values[0] if len(values) == 1 else tuple(values))


def same_schema(found: pa.Schema, expected: pa.Schema, what: str) -> None:
    if not found.equals(expected):
        raise SchemaError(f"{what} has the schema\n{found}\nexpected\n{expected}")
