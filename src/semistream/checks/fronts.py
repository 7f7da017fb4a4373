"""What the front holds, whom it gives up, and that it holds no more than it may."""

from __future__ import annotations

from typing import Any

from semistream.checks.base import Subject, check, expect
from semistream.checks.data import of_keys, ranked

PAGES = 40
PAGE_ROWS = 10
SIGNATURE = "it is what the front of these algorithms does, which no store changes"
ROW_CACHES = ("cachejoin", "cachejoin_l", "cachejoin_pq", "sscj", "p_cachejoin", "op_cachejoin")
HOT = [3, 57, 101, 202, 258, 311, 366, 399]


@check(only=ROW_CACHES, stores=("memory",), because=SIGNATURE)
def hot_rows_are_promoted(subject: Subject) -> None:
    """A row that answered many waiting rows at once answers later ones without a load."""
    with subject.join(ranked(400, 10), pending_rows=100, cache_rows=20) as trial:
        trial.push(of_keys(HOT * 10))
        trial.drain()
        loads = trial.join.stats.loads
        trial.push(of_keys(HOT * 5))
        trial.drain()
        stats = trial.join.stats
        hits, more = stats.cache_hits, stats.loads - loads
        expect(
            (hits, more) == (40, 0), f"expected 40 hits and no load for 8 hot rows, and saw {hits} and {more}"
        )


@check(only=ROW_CACHES, stores=("memory",), because=SIGNATURE)
def a_cache_holds_no_more_than_it_may(subject: Subject) -> None:
    """However many rows are hot, no more than `cache_rows` are held."""
    with subject.join(ranked(400, 10), pending_rows=100, cache_rows=20) as trial:
        for start in range(0, 400, 10):
            trial.push(of_keys([start + i for i in range(10) for _ in range(4)]))
            trial.drain()
            cached = trial.join.stats.cached_rows
            expect(cached <= 20, f"expected at most 20 cached rows, and saw {cached}")
        expect(cached == 20, f"expected a full cache of 20 rows, and saw {cached}")


@check(only=("x_hybridjoin", "tuned_x_hybridjoin"), stores=("memory",), because=SIGNATURE)
def pinned_pages_are_read_once(subject: Subject) -> None:
    """The first partitions are read at the beginning, and their rows never wait."""
    pinned = 1 if subject.algorithm == "x_hybridjoin" else 4
    settings: dict[str, Any] = {} if pinned == 1 else {"pinned_partitions": pinned}
    with subject.join(ranked(400, 10), how="left", pending_rows=30, **settings) as trial:
        for i in range(20):
            trial.push(of_keys([(37 * i + j * j) % 400 for j in range(40)], first_row=40 * i))
        before = trial.join.waiting_rows
        out = trial.push(of_keys(range(pinned * PAGE_ROWS)))
        waiting = trial.join.waiting_rows
        rows = pinned * PAGE_ROWS
        expect(
            (out, waiting) == (rows, before),
            f"expected {rows} rows of pinned pages to be answered at once, and saw {out}; "
            f"{before} rows waited before and {waiting} after",
        )
        reads = [page for page in trial.store.loaded if page < pinned]
        expect(
            reads == list(range(pinned)), f"expected pages 0 to {pinned - 1} to be read once, and saw {reads}"
        )


@check(only=("partitioned_join",), stores=("memory",), because=SIGNATURE)
def the_least_recently_used_page_leaves(subject: Subject) -> None:
    """Of four cached pages the one that is not used makes room; a page in use stays."""
    with subject.join(ranked(400, 10), pending_rows=100, cache_partitions=4) as trial:
        for page in (1, 2, 3, 4):
            trial.push(of_keys([page * PAGE_ROWS]))
        for page in range(5, 15):
            trial.push(of_keys([10]))  # page 1 is used
            trial.push(of_keys([page * PAGE_ROWS]))
        expected = [1, 2, 3, 4, *range(5, 15)]
        seen = trial.store.loaded
        expect(seen == expected, f"expected loads of pages {expected}, and saw {seen}")
        trial.push(of_keys([20]))
        again = trial.store.loaded[len(expected) :]
        expect(again == [2], f"expected page 2 to have left and be read again, and saw {again}")


@check(only=("ssij",), stores=("memory",), because=SIGNATURE)
def the_most_useful_pages_stay(subject: Subject) -> None:
    """Pages that answer many rows are cached, and one that answers few doesn't take their place."""
    with subject.join(ranked(400, 10), pending_rows=60, cache_partitions=2) as trial:
        trial.push(of_keys([15] * 25 + [27] * 25 + [200 + 10 * i for i in range(15)]))
        trial.drain()
        for i in range(3):
            trial.push(of_keys([12] * 30 + [22] * 30))
            trial.push(of_keys([(300 + 10 * j + i) % 400 for j in range(61)]))
        reads = [page for page in trial.store.loaded if page in (1, 2)]
        expect(reads == [1, 2], f"expected pages 1 and 2 to be read once and kept, and saw reads of {reads}")
