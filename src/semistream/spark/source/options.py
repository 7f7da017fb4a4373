"""The options of `semistream-zipf`: from Spark's strings to a checked stream."""

from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, cast

from semistream.errors import ArgumentError
from semistream.workloads.arrivals import arrivals_named
from semistream.workloads.keys import KeyStream, Law, Order
from semistream.workloads.streams import DEFAULT_START, Stream

VIRTUAL_RATE = 1000.0  # rows a second by the stream's clock, where nobody asked for a rate
LIMITS = {"rows", "rows_per_batch", "partitions"}  # what may change from one start of a query to the next


@dataclass(frozen=True)
class SourceOptions:
    """What `semistream-zipf` is asked for.

    keys, exponent, law, order, drift_every, drift_share, unmatched, nulls, seed: see `KeyStream`.
    rows: how many rows there are; an endless stream unless given. A batch query needs it.
    rows_per_second: rows come at this rate by the wall clock, counted from the query's first start, and by
        the clock of `event_time`. Unless given every row is there from the beginning, and `event_time`
        moves on by a second every 1,000 rows. With the trigger `availableNow` a stream that has an end is
        there as a whole, and the rate is that of `event_time` only.
    arrivals: `constant`, `bursty` (self-similar) or `papers`, with `rows_per_second` on average: see `OnOff`.
    rows_per_batch: the most rows of a micro-batch; 100,000 for a stream without end and rate, else no limit.
    partitions: tasks of a micro-batch.
    start: the `event_time` at which the stream begins, in ISO 8601; UTC unless it says otherwise.

    >>> SourceOptions.parsed({"keys": "1000", "law": "continuous"}).stream().keys.law
    'continuous'
    """

    keys: int
    exponent: float = 1.0
    law: str = "exact"
    order: str = "scattered"
    drift_every: int | None = None
    drift_share: float = 0.1
    unmatched: float = 0.0
    nulls: float = 0.0
    rows: int | None = None
    rows_per_second: float | None = None
    arrivals: str = "constant"
    rows_per_batch: int | None = None
    seed: int = 0
    partitions: int = 2
    start: dt.datetime = DEFAULT_START

    @staticmethod
    def parsed(given: Mapping[str, str]) -> SourceOptions:
        """Options as Spark hands them over; every error says what was expected."""
        unknown = sorted(set(given) - set(_PARSERS))
        if unknown:
            raise ArgumentError(
                f"semistream-zipf doesn't know {', '.join(map(repr, unknown))}: its options are "
                f"{', '.join(_PARSERS)}"
            )
        if "keys" not in given:
            raise ArgumentError("semistream-zipf needs the option 'keys': how many rows the master has")
        options = SourceOptions(**{name: _PARSERS[name](name, text) for name, text in given.items()})
        options.stream()  # which checks what concerns the keys and the arrivals
        return options

    def __post_init__(self) -> None:
        for name, least in (("rows", 0), ("rows_per_batch", 1), ("partitions", 1)):
            value = getattr(self, name)
            if value is not None and value < least:
                raise ArgumentError(f"{name}={value} can't be: give {least} or more")

    def stream(self) -> Stream:
        """The stream without its end and its limits."""
        keys = KeyStream(
            self.keys,
            self.exponent,
            cast(Law, self.law),
            cast(Order, self.order),
            self.seed,
            self.drift_every,
            self.drift_share,
            self.unmatched,
            self.nulls,
        )
        arrivals = arrivals_named(self.arrivals, self.seed)
        rate = VIRTUAL_RATE if self.rows_per_second is None else self.rows_per_second
        return Stream(keys, arrivals, rate, self.start)

    def fingerprint(self) -> str:
        """The same for two sets of options if they make the same rows, whatever their limits.

        Only what differs from the default counts, so that a later version may have more options.
        """
        chosen = [
            (field.name, str(getattr(self, field.name)))
            for field in fields(self)
            if field.name not in LIMITS and getattr(self, field.name) != field.default
        ]
        return hashlib.sha256(repr(sorted(chosen)).encode()).hexdigest()[:16]


def _whole(name: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ArgumentError(f"{name}={text!r} is no whole number") from None


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ArgumentError(f"{name}={text!r} is no number") from None


def _word(_name: str, text: str) -> str:
    return text.strip().lower()


def _moment(name: str, text: str) -> dt.datetime:
    try:
        moment = dt.datetime.fromisoformat(text.strip())
    except ValueError:
        raise ArgumentError(
            f"{name}={text!r} is no time: give one such as {DEFAULT_START.isoformat()}"
        ) from None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=dt.UTC)


_BY_TYPE: dict[str, Callable[[str, str], Any]] = {
    "int": _whole,
    "float": _number,
    "str": _word,
    "dt.datetime": _moment,
}
_PARSERS = {field.name: _BY_TYPE[str(field.type).removesuffix(" | None")] for field in fields(SourceOptions)}
