"""What a join has to put out, by a dictionary of Python values: nothing here knows the engine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from semistream.checks.base import CheckFailure

Rows = Counter[tuple[Any, ...]]


def rows_of(table: pa.Table) -> Rows:
    return Counter(_tuples(table))


def expected_rows(
    stream: pa.Table, master: pa.Table, key: Sequence[str], how: str, *, status: bool = False
) -> Rows:
    """The multiset of output rows: the stream's columns, then the master's without its key."""
    here: dict[tuple[Any, ...], list[tuple[Any, ...]]] = {}
    payload = [name for name in master.column_names if name not in key]
    for found, row in zip(_tuples(master.select(list(key))), _tuples(master.select(payload)), strict=True):
        if None not in found:
            here.setdefault(found, []).append(row)
    rows: Rows = Counter()
    for wanted, row in zip(_tuples(stream.select(list(key))), _tuples(stream), strict=True):
        matches = [] if None in wanted else here.get(wanted, [])
        word = "matched" if matches else "null_key" if None in wanted else "unmatched"
        mark: tuple[Any, ...] = (word,) if status else ()
        if how in ("inner", "left") and matches:
            rows.update(row + other + mark for other in matches)
        elif how == "left":
            rows[row + (None,) * len(payload) + mark] += 1
        elif (how == "left_semi" and matches) or (how == "left_anti" and not matches):
            rows[row + mark] += 1
    return rows


def expect_rows(found: pa.Table, expected: Rows, what: str) -> None:
    """Fail unless `found` is this multiset of rows."""
    seen = rows_of(found)
    if seen != expected:
        missing, extra = expected - seen, seen - expected
        raise CheckFailure(
            f"{what}: expected {expected.total()} rows and saw {seen.total()}; "
            f"{missing.total()} are missing, such as {list(missing)[:2]}; "
            f"{extra.total()} are too many, such as {list(extra)[:2]}"
        )


def _tuples(table: pa.Table) -> list[tuple[Any, ...]]:
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))
