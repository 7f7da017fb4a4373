"""Every check over every algorithm and every kind of store."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from semistream.algorithms import names
from semistream.checks import exactness, fronts, loads, memory, order, progress, schema, threads
from semistream.checks.base import Check, CheckFailure, Subject
from semistream.checks.stores import KINDS, Stores
from semistream.errors import ArgumentError
from semistream.join import SemiStreamJoin

TOPICS = (exactness, schema, progress, memory, order, loads, fronts, threads)


@cache
def all_checks() -> tuple[Check, ...]:
    """Every check, topic by topic, in the order in which they are written."""
    return tuple(item for topic in TOPICS for item in vars(topic).values() if isinstance(item, Check))


@dataclass(frozen=True)
class Case:
    """One check of one algorithm on one kind of store; call it with the stores to run it."""

    algorithm: str
    store: str
    check: Check
    make_join: Callable[..., SemiStreamJoin] = SemiStreamJoin

    @property
    def id(self) -> str:
        return f"{self.algorithm}:{self.store}:{self.check.name}"

    def __call__(self, stores: Stores) -> None:
        """Raises `CheckFailure` where something doesn't hold."""
        self.check.run(
            Subject(
                self.algorithm, self.store, lambda master: stores.open(self.store, master), self.make_join
            )
        )


@dataclass(frozen=True)
class Outcome:
    """How a check came out: passed, failed or, with the reason, not to be had on this machine."""

    id: str
    passed: bool | None
    message: str = ""
    seconds: float = 0.0


def cases(
    algorithm: str | None = None,
    store: str | None = None,
    *,
    make_join: Callable[..., SemiStreamJoin] = SemiStreamJoin,
) -> list[Case]:
    """The cases of one algorithm or all, on one kind of store or all."""
    return [
        Case(one, kind, item, make_join)
        for one in _chosen("algorithm", algorithm, names())
        for kind in _chosen("store", store, KINDS)
        for item in all_checks()
        if item.why_not(one, kind) is None
    ]


def not_run(algorithm: str | None = None, store: str | None = None) -> dict[str, str]:
    """The ids that `cases` leaves out, and why."""
    return {
        f"{one}:{kind}:{item.name}": reason
        for one in _chosen("algorithm", algorithm, names())
        for kind in _chosen("store", store, KINDS)
        for item in all_checks()
        if (reason := item.why_not(one, kind)) is not None
    }


def run(
    algorithm: str | None = None, store: str | None = None, *, folder: Path | None = None
) -> list[Outcome]:
    """Run the cases; files of stores go to `folder`, or to one that is removed afterwards."""
    if folder is None:
        with tempfile.TemporaryDirectory(prefix="semistream-checks-") as made:
            return run(algorithm, store, folder=Path(made))
    stores = Stores(folder)
    return [_outcome(case, stores) for case in cases(algorithm, store)]


def _outcome(case: Case, stores: Stores) -> Outcome:
    refused = stores.why_not(case.store)
    if refused is not None:
        return Outcome(case.id, None, refused)
    began = time.perf_counter()
    try:
        case(stores)
    except CheckFailure as failure:
        return Outcome(case.id, False, str(failure), time.perf_counter() - began)
    return Outcome(case.id, True, "", time.perf_counter() - began)


def _chosen(what: str, name: str | None, known: tuple[str, ...]) -> tuple[str, ...]:
    if name is None:
        return known
    if name not in known:
        raise ArgumentError(f"{what}={name!r} is not known; there are {', '.join(known)}")
    return (name,)
