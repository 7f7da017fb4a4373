"""Masters and streams that the checks run on: small, fixed, and the same in every process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa

PAGE_ROWS = 30
HOT_ROWS = 75  # master rows of the key that spans pages


@dataclass(frozen=True, eq=False)
class MasterData:
    """A master table in key order, and how it is to be cut into pages."""

    table: pa.Table
    key: tuple[str, ...]
    page_rows: int

    @property
    def payload(self) -> list[str]:
        return [name for name in self.table.column_names if name not in self.key]

    @property
    def pages(self) -> int:
        """Pages of the rows whose key isn't null."""
        present: int = self.table.select(list(self.key)).drop_null().num_rows
        return -(-present // self.page_rows)


@cache
def plain() -> MasterData:
    """Unique integer keys with gaps between them, and rows whose key is null."""
    keys: list[int | None] = [3 * i for i in range(600)]
    return _master({"k": pa.array([*keys, None, None], pa.int64())}, PAGE_ROWS)


@cache
def duplicates() -> MasterData:
    """Keys with several rows, and some that span pages."""
    rng = Random(7)
    keys: list[int | None] = []
    for i in range(150):
        rows = HOT_ROWS if i in (40, 41) else rng.choice((1, 1, 2, 4))
        keys += [3 * i] * rows
    return _master({"k": pa.array([*keys, None], pa.int32())}, PAGE_ROWS)


@cache
def strings() -> MasterData:
    """String keys, some of them the beginning of others, one empty."""
    keys = sorted({"", *(f"key {i}" for i in range(0, 500, 3)), *("a" * i for i in range(40))})
    return _master({"k": pa.array([*keys, None], pa.string())}, PAGE_ROWS)


@cache
def composite() -> MasterData:
    """Keys of two parts, each of which repeats; a part may be null."""
    pairs: list[tuple[int | None, str | None]] = [(i, f"p{j:02}") for i in range(25) for j in range(0, 24, 2)]
    pairs += [(25, None), (None, "p02")]
    columns = {
        "a": pa.array([a for a, _ in pairs], pa.int16()),
        "b": pa.array([b for _, b in pairs], pa.string()),
    }
    return _master(columns, PAGE_ROWS)


@cache
def wide() -> MasterData:
    """Rows of a kilobyte: far more bytes than a small budget."""
    rng = Random(3)
    keys = pa.array(range(2000), pa.int64())
    words = pa.array([rng.randbytes(500).hex() for _ in range(2000)])
    return MasterData(pa.table({"k": keys, "words": words}), ("k",), 8)


@cache
def ranked(rows: int, page_rows: int) -> MasterData:
    """Key i is the i-th row: pages can be told from keys."""
    return MasterData(pa.table({"k": np.arange(rows), "name": _names(rows)}), ("k",), page_rows)


def stream_of(master: MasterData, rows: int, seed: int = 0) -> pa.RecordBatch:
    """Rows of which most have a key of the master, the same few often; some have none, some a null."""
    rng = Random(seed)
    keys = list(
        dict.fromkeys(zip(*(master.table.column(name).to_pylist() for name in master.key), strict=True))
    )
    drawn = [_drawn(keys, rng) for _ in range(rows)]
    columns: dict[str, pa.Array] = {}
    for i, name in enumerate(master.key):
        columns[name] = pa.array([key[i] for key in drawn], master.table.schema.field(name).type)
    columns["row"] = pa.array(range(rows), pa.int64())
    columns["note"] = pa.array([None if i % 7 == 0 else f"note {i}" for i in range(rows)])
    return pa.record_batch(columns)


def of_keys(keys: Sequence[int] | np.ndarray[Any, np.dtype[np.int64]], first_row: int = 0) -> pa.RecordBatch:
    """Stream rows with these integer keys."""
    rows = np.arange(first_row, first_row + len(keys), dtype=np.int64)
    return pa.record_batch({"k": np.array(keys, dtype=np.int64), "row": rows})


def in_pieces(batch: pa.RecordBatch, rows: int) -> list[pa.RecordBatch]:
    return [batch.slice(start, rows) for start in range(0, batch.num_rows, rows)]


def zipf_keys(rows: int, exponent: float, count: int, seed: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """`count` keys of 0 to rows - 1, the smaller the more frequent."""
    weights = np.arange(1, rows + 1, dtype=np.float64) ** -exponent
    shares = np.cumsum(weights / weights.sum())
    drawn = np.random.default_rng(seed).random(count)
    return np.minimum(np.searchsorted(shares, drawn), rows - 1).astype(np.int64)


def _drawn(keys: list[tuple[Any, ...]], rng: Random) -> tuple[Any, ...]:
    """A key, skewed to the first third; or one that nothing answers."""
    kind = rng.random()
    place = rng.randrange(len(keys)) if kind < 0.5 else rng.randrange(1 + len(keys) // 3) // 4
    key = list(keys[place])
    part = rng.randrange(len(key))
    if kind > 0.92:
        key[part] = None
    elif kind > 0.75 and key[part] is not None:
        key[part] = key[part] + 1 if isinstance(key[part], int) else key[part] + "?"
    elif kind > 0.72 and isinstance(key[part], int):
        key[part] = rng.choice((-9, 30_000))
    return tuple(key)


def _names(rows: int) -> pa.Array:
    return pa.array([None if i % 11 == 5 else f"name {i}" for i in range(rows)])


def _master(key: dict[str, pa.Array], page_rows: int) -> MasterData:
    rows = len(next(iter(key.values())))
    payload = {"name": _names(rows), "price": pa.array([i / 4 for i in range(rows)], pa.float64())}
    return MasterData(pa.table({**key, **payload}), tuple(key), page_rows)
