"""Masters and streams that the tests of the algorithms share, and the checks every one of them makes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from semistream import SemiStreamJoin
from semistream.algorithms import names
from semistream.algorithms.base import Algorithm
from semistream.stores.memory import MemoryStore

Int64s = NDArray[np.int64]

SCANS = ("meshjoin", "r_meshjoin")  # use no index
INDEXED = tuple(name for name in names() if name not in SCANS)
PAGE_CACHES = ("partitioned_join", "ssij")
PARALLEL = ("op_cachejoin", "p_cachejoin")
ROW_CACHES = ("cachejoin", "cachejoin_l", "cachejoin_pq", "op_cachejoin", "p_cachejoin", "sscj")
FACTOR = 7  # payload of a master row: its key times this


def master_of(keys: Sequence[int] | Int64s, page_rows: int) -> MemoryStore:
    """A master whose payload can be told from its key."""
    wanted = np.asarray(keys, dtype=np.int64)
    return MemoryStore(pa.table({"k": wanted, "p": wanted * FACTOR}), "k", page_rows=page_rows)


def stream_of(keys: Int64s, start: int = 0, null: NDArray[np.bool_] | None = None) -> pa.RecordBatch:
    """Stream rows that are numbered, so that each can be found again in the output."""
    numbers = np.arange(start, start + len(keys), dtype=np.int64)
    return pa.record_batch({"k": pa.array(keys, pa.int64(), mask=null), "s": numbers})


def fixed_counts(name: str) -> dict[str, Any]:
    """The settings under which an algorithm's counts depend on nothing but the trace."""
    return {"schedule": "deterministic"} if name in PARALLEL else {}


def small_cache(name: str) -> dict[str, Any]:
    """Settings that keep a cache of pages from holding a whole small master."""
    if name == "tuned_x_hybridjoin":
        return {"pinned_partitions": 2}
    return {"cache_partitions": 2} if name in PAGE_CACHES else {}


def running(join: SemiStreamJoin) -> Algorithm:
    """The algorithm inside a join that has begun."""
    algorithm = join._algorithm
    assert algorithm is not None
    return algorithm


def consume(batches: Iterable[pa.RecordBatch], into: list[pa.RecordBatch] | None = None) -> None:
    for batch in batches:
        if into is not None:
            into.append(batch)


def feed(
    join: SemiStreamJoin,
    keys: Int64s,
    batch_rows: int,
    start: int = 0,
    into: list[pa.RecordBatch] | None = None,
) -> None:
    """Push keys in batches."""
    for at in range(0, len(keys), batch_rows):
        consume(join.push(stream_of(keys[at : at + batch_rows], start + at)), into)


def assert_answers(out: Sequence[pa.RecordBatch], keys: Int64s, known: NDArray[np.bool_], how: str) -> None:
    """The output is exactly the join of `stream_of(keys)` with a unique master.

    `known`: whether the master has each stream row's key; null keys aren't known.
    """
    wanted = np.flatnonzero(known) if how in ("inner", "left_semi") else np.flatnonzero(~known)
    if how == "left":
        wanted = np.arange(len(keys))
    if not out:
        assert not len(wanted)
        return
    table = pa.Table.from_batches(out)
    rows = table["s"].to_numpy()
    assert np.array_equal(np.sort(rows), wanted), f"{len(rows)} rows for {len(wanted)}"
    given = table["k"].to_numpy(zero_copy_only=False)
    assert np.array_equal(given[known[rows]], keys[rows][known[rows]])
    if how in ("inner", "left"):
        payload = table["p"]
        assert np.array_equal(payload.is_valid().to_numpy(), known[rows])
        assert np.array_equal(payload.drop_null().to_numpy(), keys[rows][known[rows]] * FACTOR)
