"""Masters that the tests of stores share, and what is expected of any store of pages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from semistream.stores.base import PageDirectory, Store

Rows = list[dict[str, Any]]


def product_table(rows: int = 3000, seed: int = 1) -> pa.Table:
    """Unsorted rows with every kind of payload, and an integer, a text and a composite key."""
    numbers = np.random.default_rng(seed).permutation(rows)
    values = numbers.tolist()
    return pa.table(
        {
            "id": pa.array(numbers * 3),
            "code": [f"{'' if n % 7 else 'prefix-' * 4}{n:06d}" for n in values],
            "shop": pa.array([n // 50 for n in values], pa.int32()),
            "name": [None if n % 11 == 0 else f"product {n}" * (n % 5) for n in values],
            "colour": pa.array(
                [None if n % 13 == 0 else ["red", "green", "blue"][n % 3] for n in values]
            ).cast(pa.dictionary(pa.int8(), pa.string())),
            "number": pa.array([n % 4 for n in values]).dictionary_encode(),
            "tags": pa.array([None if n % 5 == 0 else [f"tag{n % 9}"] * (n % 4) for n in values]),
            "size": [{"width": n, "unit": None if n % 2 else "cm"} for n in values],
            "price": pa.array([n for n in values], pa.decimal128(12, 2)),
            "view": pa.array([f"a rather long text {n}" for n in values], pa.string_view()),
            "nested": pa.array([[{"k": f"v{n % 3}"}] for n in values]),
            "nothing": pa.nulls(rows),
        }
    )


def sorted_rows(table: pa.Table, key: str | list[str], columns: list[str] | None = None) -> Rows:
    """The rows in key order, stable, without those whose key is null."""
    names = [key] if isinstance(key, str) else key
    rows: Rows = [row for row in table.to_pylist() if all(row[name] is not None for name in names)]
    rows.sort(key=lambda row: [row[name] for name in names])
    return [{name: row[name] for name in columns or row} for row in rows]


def scanned(store: Store, columns: list[str] | None = None) -> Rows:
    wanted = list(store.schema.names) if columns is None else columns
    rows: Rows = []
    for run in store.scan(wanted):
        assert run.batch.schema.names == wanted
        assert run.offsets[0] == 0
        assert run.offsets[-1] == run.batch.num_rows
        rows.extend(run.batch.to_pylist())
    return rows


def assert_locates_every_key(store: Store, directory: PageDirectory, exact: bool = False) -> None:
    """Every key's first and last page are those on which it really begins and ends, and what isn't
    there is on no page or on one where it would be. `exact`: the former."""
    layout = store.layout
    assert layout is not None
    first: dict[Any, int] = {}
    last: dict[Any, int] = {}
    arrays: list[list[pa.Array]] = [[] for _ in store.key]
    for run in store.read(np.arange(layout.pages), store.key):
        columns = [run.batch.column(name) for name in store.key]
        keys = list(zip(*(column.to_pylist() for column in columns), strict=True))
        for page in range(run.pages):
            for key in keys[run.offsets[page] : run.offsets[page + 1]]:
                first.setdefault(key, run.first + page)
                last[key] = run.first + page
        for part, column in zip(arrays, columns, strict=True):
            part.append(column)
    if not first:
        return
    together = [pa.concat_arrays(part) for part in arrays]
    found_first, found_last = directory.locate(directory.codec.encode(together))
    for row, key in enumerate(zip(*(column.to_pylist() for column in together), strict=True)):
        assert (found_first[row], found_last[row]) == (first[key], last[key]), key


def files_of(path: Path) -> list[Path]:
    return sorted(file for file in path.rglob("*") if file.is_file() and file.name != "build.lock")
