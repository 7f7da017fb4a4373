"""Which thread does what: phases that run side by side do, and the others don't."""

from __future__ import annotations

import threading

from semistream.algorithms import names
from semistream.checks.base import Subject, Trial, check, expect
from semistream.checks.data import of_keys, ranked
from semistream.checks.recording import Delay, Gate

PARALLEL = ("p_cachejoin", "op_cachejoin")
SIGNATURE = "it is the schedule of these algorithms, which no store changes"
PATIENCE = 2.0  # seconds that a read is held up for what should happen meanwhile
QUEUE = 40


@check(only=PARALLEL, stores=("memory",), because=SIGNATURE)
def pages_have_a_thread_of_their_own(subject: Subject) -> None:
    """The front works on the caller's thread, the page phase and every read on others."""
    here = threading.current_thread().name
    with subject.join(ranked(400, 10), pending_rows=QUEUE) as trial:
        _busy(trial)
        seen = trial.join.stats.threads
        front, pages = seen.get("front", ()), seen.get("pages", ())
        expect(front == (here,), f"expected the front on the caller's thread {here!r}, and saw {front}")
        good = len(pages) == 1 and here not in pages
        expect(good, f"expected the pages on one thread that isn't {here!r}, and saw {pages}")
        readers = {read.thread for read in trial.store.reads}
        expect(here not in readers, f"expected no read on the caller's thread {here!r}, and saw {readers}")


@check(
    only=[name for name in names() if name not in PARALLEL],
    stores=("memory",),
    because="these algorithms run side by side",
)
def everything_is_done_on_the_callers_thread(subject: Subject) -> None:
    """A join without parallel phases starts no thread."""
    here = threading.current_thread().name
    with subject.join(ranked(400, 10), pending_rows=QUEUE) as trial:
        _busy(trial)
        readers = {read.thread for read in trial.store.reads}
        readers.update(name for seen in trial.join.stats.threads.values() for name in seen)
        expect(readers == {here}, f"expected work on the caller's thread {here!r} only, and saw {readers}")


@check(only=PARALLEL, stores=("memory",), because=SIGNATURE)
def rows_are_taken_in_while_a_page_is_loading(subject: Subject) -> None:
    """A push returns while the load that it made necessary is still under way."""
    gate = Gate(PATIENCE)
    with subject.join(ranked(400, 10), pending_rows=QUEUE, before=gate) as trial:
        trial.push(of_keys(range(0, 10 * QUEUE, 10)))
        trial.push(of_keys([5]))  # no room: a page has to be loaded
        loading = gate.wait_for(1)
        gate.open()
        trial.drain()
    expect(
        loading and not gate.ran_out,
        f"expected a push to return while its load is held up, and it took until the load went on "
        f"after {PATIENCE} s",
    )


@check(only=("op_cachejoin",), stores=("memory",), because=SIGNATURE)
def two_loads_are_in_flight(subject: Subject) -> None:
    """While the first load is held up a second one is asked for, of another page."""
    gate = Gate(PATIENCE)
    with subject.join(ranked(400, 10), pending_rows=QUEUE, before=gate) as trial:
        trial.push(of_keys(range(0, 10 * QUEUE, 10)))
        trial.push(of_keys([5]))
        both = gate.wait_for(2)
        gate.open()
        trial.drain()
        reads = trial.store.reads
        twice = [
            a.pages for i, a in enumerate(reads) for b in reads[:i] if a.pages == b.pages and a.overlaps(b)
        ]
    expect(both, f"expected two loads in flight at once, and saw {gate.most_waiting}")
    expect(not twice, f"expected no page to be loaded twice at once, and saw {twice}")


@check(only=("p_cachejoin",), stores=("memory",), because=SIGNATURE)
def one_load_is_in_flight(subject: Subject) -> None:
    """One page thread, one buffer: loads follow one another."""
    with subject.join(ranked(400, 10), pending_rows=QUEUE, before=Delay(0.002)) as trial:
        _busy(trial)
        reads = trial.store.reads
        apart = not any(a.overlaps(b) for i, a in enumerate(reads) for b in reads[:i])
        expect(apart, "expected loads one after the other, and saw two at once")


def _busy(trial: Trial) -> None:
    for i in range(4):
        trial.push(of_keys([(10 * j + i) % 400 for j in range(2 * QUEUE)], first_row=2 * QUEUE * i))
    trial.drain()
