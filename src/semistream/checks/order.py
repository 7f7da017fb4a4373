"""Which page comes next: each algorithm's own order of loads, on traces where it is known exactly.

One row waits for each page unless a check says otherwise, and a page's number can be told from its
keys, so that the pages read are the algorithm's choices and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from semistream.checks.base import Subject, Trial, check, expect
from semistream.checks.data import MasterData, of_keys, ranked

PAGES = 40
PAGE_ROWS = 10
SIGNATURE = "it is the order of loads of these algorithms, which no store changes"
POSITION = 0.30  # HYBRIDJOIN-L's lookup element, from the young end
OLDEST_EVERY = 16  # of its lookups take the oldest row
PINNED = {"x_hybridjoin": 1, "tuned_x_hybridjoin": 2}


@check(
    only=(
        "hybridjoin", "hybridjoin_pq", "x_hybridjoin", "tuned_x_hybridjoin",
        "cachejoin", "cachejoin_pq", "sscj", "p_cachejoin",
    ),
    stores=("memory",),
    because=SIGNATURE,
)  # fmt: skip
def the_oldest_row_is_looked_up(subject: Subject) -> None:
    """Without frequent pages the oldest row's page is loaded, then the next oldest's."""
    pinned = PINNED.get(subject.algorithm, 0)
    waiting = [page for page in _mixed() if page >= pinned]
    with subject.join(_master(), pending_rows=PAGES) as trial:
        _fill(trial, waiting)
        _steps(trial, 20)
        _expect_loads(trial, [*range(pinned), *waiting[:20]])


@check(only=("hybridjoin_l", "cachejoin_l"), stores=("memory",), because=SIGNATURE)
def the_row_at_a_position_is_looked_up(subject: Subject) -> None:
    """The row at 0.30 of the queue from its young end is looked up, each sixteenth time the oldest."""
    waiting = _mixed()
    expected = []
    for lookup in range(1, 21):
        at = 0 if lookup % OLDEST_EVERY == 0 else len(waiting) - 1 - int(POSITION * len(waiting))
        expected.append(waiting.pop(at))
    with subject.join(_master(), pending_rows=PAGES) as trial:
        _fill(trial, _mixed())
        _steps(trial, 20)
        _expect_loads(trial, expected)


@check(only=("op_cachejoin",), stores=("memory",), because=SIGNATURE)
def both_ends_are_looked_up_in_turn(subject: Subject) -> None:
    """One buffer is loaded from the old end of the queue, the other from the young end."""
    waiting = _mixed()
    expected = [page for pair in zip(waiting[:10], waiting[::-1], strict=False) for page in pair]
    with subject.join(_master(), pending_rows=PAGES, schedule="deterministic") as trial:
        _fill(trial, waiting)
        _steps(trial, 16)
        _expect_loads(trial, expected[: len(trial.store.loaded)])
        expect(len(trial.store.loaded) >= 16, f"expected 16 loads or more, and saw {trial.store.loaded}")


@check(only=("partitioned_join",), stores=("memory",), because=SIGNATURE)
def the_fullest_slot_is_loaded(subject: Subject) -> None:
    """Below the threshold of a slot nothing is loaded; then the fullest slot comes first."""
    with subject.join(_master(), pending_rows=120, slot_rows=100) as trial:
        trial.push(_uneven())
        _expect_loads(trial, [])
        _steps(trial, 7)
        _expect_loads(trial, _FULLEST_FIRST[:7])


@check(only=("partitioned_join",), stores=("memory",), because=SIGNATURE)
def a_full_slot_is_loaded_at_once(subject: Subject) -> None:
    """A slot that reaches the threshold is loaded although the queue has room; the others wait."""
    with subject.join(_master(), pending_rows=120, slot_rows=12) as trial:
        trial.push(_uneven())
        full, seen = sorted(page for page, rows in _UNEVEN.items() if rows >= 12), sorted(trial.store.loaded)
        expect(seen == full, f"expected pages {full} to be loaded and no other, and saw {seen}")


@check(only=("partitioned_join",), stores=("memory",), because=SIGNATURE)
def a_slow_stream_is_answered_row_by_row(subject: Subject) -> None:
    """With a small backlog every slot is full with one row."""
    with subject.join(_master(), pending_rows=120) as trial:
        trial.push(of_keys([25]))
        trial.push(of_keys([311]))
        _expect_loads(trial, [2, 31])


@check(only=("ssij",), stores=("memory",), because=SIGNATURE)
def a_full_queue_is_emptied_in_one_phase(subject: Subject) -> None:
    """Nothing is loaded while there is room; then every page that is waited for, the fullest first."""
    with subject.join(_master(), pending_rows=sum(_UNEVEN.values())) as trial:
        trial.push(_uneven())
        _expect_loads(trial, [])
        trial.push(of_keys([399]))
        _expect_loads(trial, _FULLEST_FIRST)
        waiting = trial.join.waiting_rows
        expect(
            waiting == 1, f"expected the queue to be emptied but for the newest row, and saw {waiting} rows"
        )


@check(only=("meshjoin", "r_meshjoin"), stores=("memory",), because=SIGNATURE)
def the_master_is_scanned_in_a_cycle(subject: Subject) -> None:
    """Pages go by in order, over and over, whoever waits; each row is answered after one cycle."""
    with subject.join(_master(), how="left", pending_rows=PAGES) as trial:
        for i in range(60):
            trial.push(of_keys([7], first_row=i))
        trial.drain()
        loads = trial.store.loaded
        cycle = [load % PAGES for load in range(len(loads))]
        expect(loads == cycle, f"expected pages 0 to {PAGES - 1} over and over, and saw {loads}")
        answered = pa.Table.from_batches(trial.out).num_rows
        expect(answered == 60, f"expected 60 rows to be answered, and saw {answered}")


@check(only=("meshjoin",), stores=("memory",), because=SIGNATURE)
def a_chunk_comes_with_every_load(subject: Subject) -> None:
    """As many chunks as pages wait, and each page that goes by meets a new one: 40 loads, 40 rows."""
    _expect_turns(subject, loads_per_chunk=1)


@check(only=("r_meshjoin",), stores=("memory",), because=SIGNATURE)
def a_chunk_comes_with_every_few_loads(subject: Subject) -> None:
    """Chunks of one row would be too small: four pages go by for each chunk of four rows."""
    _expect_turns(subject, loads_per_chunk=4)


@check(only=("inlj",), stores=("memory",), because=SIGNATURE)
def each_row_has_its_own_load(subject: Subject) -> None:
    """Row by row in the order of arrival, one page each, and nothing waits."""
    keys = [399, 7, 7, 210, 9, 399]
    with subject.join(_master(), how="left") as trial:
        trial.push(of_keys(keys))
        _expect_loads(trial, [key // PAGE_ROWS for key in keys])
        rows = trial.table().column("row").to_pylist()
        expect(rows == list(range(6)), f"expected rows in the order of arrival, and saw {rows}")


# Rows that wait for each page; no two pages have as many.
_UNEVEN = {33: 3, 4: 20, 17: 9, 0: 14, 39: 1, 21: 30, 8: 12, 30: 5, 2: 7}
_FULLEST_FIRST = sorted(_UNEVEN, key=lambda page: -_UNEVEN[page])


def _master() -> MasterData:
    return ranked(PAGES * PAGE_ROWS, PAGE_ROWS)


def _mixed() -> list[int]:
    """Every page once, in no order."""
    return [(17 * i + 5) % PAGES for i in range(PAGES)]


def _uneven() -> pa.RecordBatch:
    return of_keys([page * PAGE_ROWS + i % PAGE_ROWS for page, rows in _UNEVEN.items() for i in range(rows)])


def _fill(trial: Trial, pages: Sequence[int]) -> None:
    trial.push(of_keys([page * PAGE_ROWS + page % PAGE_ROWS for page in pages]))


def _steps(trial: Trial, count: int) -> None:
    for _ in range(count):
        trial.step()


def _expect_loads(trial: Trial, expected: list[Any]) -> None:
    seen = trial.store.loaded
    expect(seen == expected, f"expected pages {expected} to be loaded, and saw {seen}")


def _expect_turns(subject: Subject, loads_per_chunk: int) -> None:
    with subject.join(_master(), how="left", pending_rows=PAGES) as trial:
        trial.push(of_keys([7]))
        before = len(trial.store.loaded)
        trial.step()
        loads = len(trial.store.loaded) - before
        expect(loads == loads_per_chunk, f"expected {loads_per_chunk} loads a chunk, and saw {loads}")
        trial.drain()
        trial.push(of_keys(range(0, 400, 2)))
        rows = trial.join.stats.rows_in - trial.join.waiting_rows - 1
        # A chunk goes through after a cycle: what is left waits, at most a queue of it.
        expect(rows >= 200 - PAGES, f"expected all but a queue of 200 rows to be answered, and saw {rows}")
