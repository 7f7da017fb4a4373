"""The output is the multiset that the reference join gives: not a row more, not a row less."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from semistream import keys as keys_package
from semistream.checks.base import Subject, check, expect
from semistream.checks.data import MasterData, composite, duplicates, in_pieces, plain, stream_of, strings
from semistream.checks.expected import expect_rows, expected_rows
from semistream.columns import HOWS

ROWS = 160
MANY_BITS = np.uint64(0x7)


@check()
def exact_for_every_how(subject: Subject) -> None:
    """Inner, left, semi and anti joins of rows with matches, without, and with null keys."""
    for how in HOWS:
        _compare(subject, plain(), how, [50])


@check()
def exact_with_duplicate_master_keys(subject: Subject) -> None:
    """A key's rows all answer, also where they span pages; a semi join puts a row out once."""
    for how in ("left", "left_semi"):
        _compare(subject, duplicates(), how, [70])


@check()
def exact_for_string_keys(subject: Subject) -> None:
    """String keys, some of them the beginning of others."""
    _compare(subject, strings(), "left", [60])


@check()
def exact_for_composite_keys(subject: Subject) -> None:
    """Keys of two parts: both have to be equal, and none null."""
    _compare(subject, composite(), "left", [60])


@check()
def exact_where_hashes_collide(subject: Subject) -> None:
    """Keys are compared, not their hashes: here the hash keeps three bits."""
    with weak_hashes(MANY_BITS):
        _compare(subject, strings(), "left", [40])


@check()
def exact_for_batches_of_any_size(subject: Subject) -> None:
    """Batches without rows, of one row, and of more rows than can wait; windows into larger ones."""
    _compare(subject, plain(), "left", [0, 1, 2, 130, 1, 0, 26])


@check()
def exact_with_status(subject: Subject) -> None:
    """The status column says matched, unmatched or null_key, and every row is counted as such."""
    master, stream = plain(), stream_of(plain(), ROWS, seed=4)
    with subject.join(master, how="left", status="_match") as trial:
        trial.push(*in_pieces(stream, 45))
        trial.drain()
        expected = expected_rows(pa.table(stream), master.table, master.key, "left", status=True)
        expect_rows(trial.table(), expected, "a left join with a status column")
        stats = trial.join.stats
        words = trial.table().column("_match").to_pylist()
        counted = {"matched": stats.matched, "unmatched": stats.unmatched, "null_key": stats.null_keys}
        said = {word: words.count(word) for word in counted}
        expect(counted == said, f"expected stats to count {said}, and saw {counted}")
        sums = (stats.rows_in, stats.rows_out)
        expect(sums == (ROWS, len(words)), f"expected rows in and out {(ROWS, len(words))}, and saw {sums}")


@contextmanager
def weak_hashes(mask: np.uint64) -> Iterator[None]:
    """Let the key hash keep only these bits, so that unequal keys have equal codes."""
    real = keys_package.hash_bytes

    def weak(offsets: NDArray[np.int64], data: NDArray[np.uint8]) -> NDArray[np.uint64]:
        codes: NDArray[np.uint64] = real(offsets, data) & mask
        return codes

    keys_package.hash_bytes = weak
    try:
        yield
    finally:
        keys_package.hash_bytes = real


def _compare(subject: Subject, master: MasterData, how: str, sizes: list[int]) -> None:
    """Push a stream in batches of these sizes, the last one again and again, and compare."""
    stream = stream_of(master, ROWS, seed=len(how))
    with subject.join(master, how=how) as trial:
        start, i = 0, 0
        while start < ROWS or i < len(sizes):
            size = sizes[min(i, len(sizes) - 1)]
            trial.push(stream.slice(start, size))
            start, i = start + size, i + 1
        trial.drain()
        waiting = trial.join.waiting_rows
        expect(waiting == 0, f"expected no row to wait after a drain, and saw {waiting}")
        expected = expected_rows(pa.table(stream), master.table, master.key, how)
        expect_rows(trial.table(), expected, f"a {how} join on {', '.join(master.key)}")
