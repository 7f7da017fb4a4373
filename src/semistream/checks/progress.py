"""Every row is answered: by steps, by a drain, and before its turn passes for ever."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from semistream.algorithms import algorithm as find_algorithm
from semistream.algorithms import names
from semistream.checks.base import CheckFailure, Subject, check, expect
from semistream.checks.data import in_pieces, of_keys, plain, ranked, stream_of
from semistream.checks.expected import expect_rows, expected_rows
from semistream.checks.recording import Failing
from semistream.errors import StoreError, UsageError

ROWS = 130
# Partitioned Join takes the fullest slot, and bounds a row's wait only where it is told to.
BOUNDS: dict[str, dict[str, Any]] = {"partitioned_join": {"max_age": 400}}


def _loads_early(algorithm: str) -> str | None:
    """Why an algorithm may load although rows have room to wait."""
    if algorithm in names() and find_algorithm(algorithm).eager:
        return "its class says that it loads early (`eager`)"
    return None


@check()
def stepping_answers_every_row(subject: Subject) -> None:
    """Steps without input answer all rows, within a load a row and two cycles of the master."""
    master, stream = plain(), stream_of(plain(), ROWS, seed=1)
    most = ROWS + 2 * master.pages
    with subject.join(master, how="left") as trial:
        trial.push(*in_pieces(stream, 40))
        steps = 0
        while trial.join.waiting_rows:
            expect(
                steps < most, f"expected no row to wait after {most} steps, and saw {trial.join.waiting_rows}"
            )
            trial.step()
            steps += 1
        expect(trial.step() == 0, "expected a step of an idle join to put nothing out, and saw rows")
        expect_rows(trial.table(), _expected(stream), "pushing, then stepping until idle")


@check()
def draining_is_stepping_until_idle(subject: Subject) -> None:
    """A drain answers all that waits, in the middle of the stream too, and then has nothing to do."""
    stream = stream_of(plain(), ROWS, seed=2)
    with subject.join(plain(), how="left") as trial:
        for batch in in_pieces(stream, 70):
            trial.push(batch)
            trial.drain()
            waiting = trial.join.waiting_rows
            expect(waiting == 0, f"expected no row to wait after a drain, and saw {waiting}")
            expect(trial.drain() == 0, "expected a second drain to put nothing out, and saw rows")
        expect_rows(trial.table(), _expected(stream), "draining after each batch")


@check()
def few_rows_are_drained_too(subject: Subject) -> None:
    """A drain doesn't wait for more rows: one row alone is answered."""
    stream = of_keys([3])
    with subject.join(plain(), how="left") as trial:
        trial.push(stream)
        trial.drain()
        waiting = trial.join.waiting_rows
        expect(waiting == 0, f"expected one row alone to be answered by a drain, and saw {waiting} waiting")
        expect_rows(trial.table(), _expected(stream), "one row alone")


@check(unless=_loads_early)
def loads_only_while_the_queue_is_full(subject: Subject) -> None:
    """Rows for which there is room wait: loading early meets fewer rows."""
    with subject.join(ranked(600, 30), pending_rows=200) as trial:
        trial.push(of_keys([599]))
        before = trial.join.stats.loads  # pinned partitions are loaded at the beginning
        trial.push(of_keys(range(1, 598, 6)), of_keys(range(2, 598, 12)))
        loads = trial.join.stats.loads - before
        expect(loads == 0, f"expected no load while 150 rows wait in a queue of 200, and saw {loads}")


@check()
def a_rare_row_is_answered(subject: Subject) -> None:
    """A row of a page that nobody else asks for is answered while popular rows keep coming."""
    options = BOUNDS.get(subject.algorithm, {})
    with subject.join(ranked(600, 30), pending_rows=40, **options) as trial:
        trial.push(of_keys([599], first_row=-1))
        for i in range(60):
            trial.push(of_keys([(i * 29 + j * 53) % 420 for j in range(40)], first_row=40 * i))
            if any(-1 in batch.column("row").to_pylist() for batch in trial.out):
                return
            trial.out.clear()
        raise CheckFailure("expected a rare row to be answered within 60 queues of rows, and it still waits")


@check()
def failures_reach_the_caller(subject: Subject) -> None:
    """An error of the store is raised from the call that is being made; then closing works."""
    raised = None
    with subject.join(plain(), before=Failing(after=2)) as trial:
        try:
            for batch in in_pieces(stream_of(plain(), ROWS, seed=3), 60):
                trial.push(batch)
            trial.drain()
        except StoreError as error:
            raised = error
    expect(raised is not None, "expected a failing read to raise its StoreError, and saw none")
    expect("by a check" in str(raised), f"expected the store's own error, and saw {raised}")


@check()
def closing_ends_it(subject: Subject) -> None:
    """Closing with rows that wait and output unread ends at once; later calls say that it is closed."""
    with subject.join(plain(), how="left") as trial:
        trial.push(stream_of(plain(), 60, seed=5))
        unread = trial.join.push(stream_of(plain(), 90, seed=6))
        next(unread, None)
        trial.join.close()
        refused = None
        try:
            trial.join.push(of_keys([3]))
        except UsageError as error:
            refused = error
        expect(
            "closed" in str(refused), f"expected a closed join to refuse a push as closed, and saw {refused}"
        )
        trial.join.close()


def _expected(stream: pa.RecordBatch) -> Any:
    master = plain()
    return expected_rows(pa.table(stream), master.table, master.key, "left")
