"""What a check is, and what it is run on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from inspect import cleandoc
from typing import Any

import pyarrow as pa

from semistream.checks.data import MasterData
from semistream.checks.recording import Before, RecordingStore
from semistream.join import SemiStreamJoin
from semistream.stores.base import Store

MEMORY = "2MiB"
PENDING_ROWS = 50
# The checks' masters are small, and some fronts would hold them whole: nothing would wait.
SMALL_FRONTS: Mapping[str, Mapping[str, Any]] = {
    "tuned_x_hybridjoin": {"pinned_partitions": 2},
    "partitioned_join": {"cache_partitions": 2},
    "ssij": {"cache_partitions": 2},
    **{
        name: {"cache_rows": 30}
        for name in ("cachejoin", "cachejoin_l", "cachejoin_pq", "sscj", "p_cachejoin", "op_cachejoin")
    },
}


class CheckFailure(AssertionError):
    """A join or a store doesn't do what it should; the message says what was expected and seen."""


def expect(holds: bool, message: str) -> None:
    """Fail unless this holds. Not an `assert`: checks run under `python -O` too."""
    if not holds:
        raise CheckFailure(message)


@dataclass
class Trial:
    """One join at work on one store: every call is read to its end, and what came out is kept."""

    join: SemiStreamJoin
    store: RecordingStore
    out: list[pa.RecordBatch] = field(default_factory=list)
    on_output: Callable[[pa.RecordBatch], None] | None = None

    def push(self, *batches: pa.RecordBatch) -> int:
        """Push batches; how many rows came out."""
        return sum(self._read(self.join.push(batch)) for batch in batches)

    def step(self) -> int:
        return self._read(self.join.step())

    def drain(self) -> int:
        return self._read(self.join.drain())

    def table(self) -> pa.Table:
        return pa.Table.from_batches(self.out, self.join.output_schema)

    def _read(self, batches: Iterator[pa.RecordBatch]) -> int:
        rows = 0
        for batch in batches:
            rows += batch.num_rows
            if self.on_output is not None:
                self.on_output(batch)
            else:
                self.out.append(batch)
        return rows


@dataclass(frozen=True)
class Subject:
    """How to make the joins that a check looks at.

    algorithm: its name, given to `make_join`.
    store: the kind of store, by name.
    open_store: gives a fresh open store of a master.
    make_join: called as `SemiStreamJoin` is; another one stands in for a join of one's own.
    """

    algorithm: str
    store: str
    open_store: Callable[[MasterData], Store]
    make_join: Callable[..., SemiStreamJoin] = SemiStreamJoin

    @contextmanager
    def join(
        self, master: MasterData, *, before: Before | None = None, small: bool = True, **options: Any
    ) -> Iterator[Trial]:
        """A join of this algorithm with this master; `options` as `SemiStreamJoin` takes them.

        `small` keeps queue and front small where `options` don't say otherwise.
        """
        name = self.algorithm
        kept = {"pending_rows": PENDING_ROWS, **SMALL_FRONTS.get(name, {})} if small else {}
        options = {"memory": MEMORY, **kept, **options}
        store = RecordingStore(self.open_store(master), before)
        try:
            join = self.make_join(store, algorithm=name, **options)
            try:
                yield Trial(join, store)
            finally:
                join.close()
        finally:
            store.close()


@dataclass(frozen=True, eq=False)
class Check:
    """One thing that has to hold, of every algorithm on every store unless it says otherwise."""

    name: str
    doc: str
    body: Callable[[Subject], None]
    algorithms: frozenset[str] | None = None  # None: every one
    stores: frozenset[str] | None = None
    because: str = ""  # why only those
    unless: Callable[[str], str | None] = field(default=lambda algorithm: None)

    def applies_to(self, algorithm: str) -> bool:
        """Whether it is a check of this algorithm."""
        return (self.algorithms is None or algorithm in self.algorithms) and self.unless(algorithm) is None

    def why_not(self, algorithm: str, store: str) -> str | None:
        """Why it isn't run on this pair; None: it is."""
        if not self.applies_to(algorithm):
            return self.unless(algorithm) or self.because
        if self.stores is not None and store not in self.stores:
            return self.because
        return None

    def run(self, subject: Subject) -> None:
        """Run it; anything but success is a `CheckFailure`."""
        where = f"{subject.algorithm}:{subject.store}:{self.name}"
        try:
            self.body(subject)
        except CheckFailure as failure:
            raise CheckFailure(f"{where}: {failure}") from failure.__cause__
        except Exception as error:
            raise CheckFailure(
                f"{where}: expected no error, and got {type(error).__name__}: {error}"
            ) from error


def check(
    *,
    only: Sequence[str] | None = None,
    stores: Sequence[str] | None = None,
    because: str = "",
    unless: Callable[[str], str | None] | None = None,
) -> Callable[[Callable[[Subject], None]], Check]:
    """Make a check of a function: its name and docstring are the check's."""
    if (only is not None or stores is not None) and not because:
        raise TypeError("a check that isn't run everywhere says why: give because=")

    def made(body: Callable[[Subject], None]) -> Check:
        return Check(
            name=body.__name__,
            doc=cleandoc(body.__doc__ or ""),
            body=body,
            algorithms=None if only is None else frozenset(only),
            stores=None if stores is None else frozenset(stores),
            because=because,
            **({} if unless is None else {"unless": unless}),
        )

    return made
