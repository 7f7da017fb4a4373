"""What a join has to put out, by a dictionary of Python values: nothing here knows semistream."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa

Row = tuple[Any, ...]
Rows = Counter[Row]

UNIT_NANOSECONDS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}


def comparable(value: Any) -> Any:
    """A hashable value that is equal exactly where the payload is the same, NaN and -0.0 included."""
    if isinstance(value, float):
        return ("float", value.hex())
    if isinstance(value, Decimal):
        return ("decimal", value.as_tuple())
    if isinstance(value, Mapping):
        return ("struct", *((name, comparable(part)) for name, part in value.items()))
    if isinstance(value, list | tuple):
        return (type(value).__name__, *(comparable(part) for part in value))
    return (type(value).__name__, value) if isinstance(value, bool) else value


def column_values(column: pa.ChunkedArray | pa.Array) -> list[Any]:
    """A payload column as comparable values."""
    if pa.types.is_temporal(column.type) and column.type.bit_width == 64:
        column = column.cast(pa.int64())  # Python's own times end at microseconds
    elif pa.types.is_dictionary(column.type):
        return [value if value is None else comparable(value) for value in column.to_pylist()]
    return [comparable(value) for value in column.to_pylist()]


def key_values(column: pa.ChunkedArray | pa.Array) -> list[Any]:
    """A key column as values that are equal where keys have to be, whatever their types' widths."""
    kind = column.type
    if pa.types.is_timestamp(kind):
        factor = UNIT_NANOSECONDS[kind.unit]
        return [None if n is None else n * factor for n in column.cast(pa.int64()).to_pylist()]
    if pa.types.is_date64(kind):
        return list(column.cast(pa.int64()).to_pylist())
    if pa.types.is_date32(kind):
        days = column.cast(pa.int32()).to_pylist()
        return [None if n is None else n * 86_400_000 for n in days]
    return list(column.to_pylist())


def rows_of(table: pa.Table) -> list[Row]:
    """The rows of a table as comparable values."""
    if not table.num_columns:
        return [()] * table.num_rows
    return list(zip(*(column_values(column) for column in table.columns), strict=True))


def keys_of(table: pa.Table, columns: Sequence[str]) -> list[Row | None]:
    """The keys of a table; None where a part is null."""
    parts = [key_values(table.column(name)) for name in columns]
    return [None if any(part is None for part in key) else key for key in zip(*parts, strict=True)]


class Expected:
    """The right answer of one join, and how it came about."""

    def __init__(
        self,
        stream: pa.Table,
        master: pa.Table,
        pairs: Mapping[str, str],
        how: str,
        payload: Sequence[str] = (),
        status: bool = False,
    ) -> None:
        """`pairs`: stream column -> master column."""
        here: dict[Row, list[Row]] = {}
        for key, row in zip(
            keys_of(master, list(pairs.values())), rows_of(master.select(payload)), strict=True
        ):
            if key is not None:
                here.setdefault(key, []).append(row)
        self.rows: Rows = Counter()
        self.matched = self.unmatched = self.null_keys = 0
        nothing = (None,) * len(payload)
        for key, row in zip(keys_of(stream, list(pairs)), rows_of(stream), strict=True):
            found = here.get(key, []) if key is not None else []
            self.matched += bool(found)
            self.null_keys += key is None
            self.unmatched += key is not None and not found
            mark = ("matched" if found else "null_key" if key is None else "unmatched",) if status else ()
            if how == "inner" or (how == "left" and found):
                self.rows.update(row + other + mark for other in found)
            elif how == "left":
                self.rows[row + nothing + mark] += 1
            elif (how == "left_semi") == bool(found):
                self.rows[row + mark] += 1


def difference(found: Rows, expected: Rows, most: int = 3) -> str:
    """What is missing and what is too much, for a person to read."""
    missing, extra = expected - found, found - expected
    return (
        f"{missing.total()} rows are missing, among them {list(missing.items())[:most]}; "
        f"{extra.total()} are too many, among them {list(extra.items())[:most]}"
    )
