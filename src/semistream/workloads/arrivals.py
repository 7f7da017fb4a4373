"""When rows arrive: constantly, or in bursts that look alike at every scale (paper S3, appendix).

Time counts in steps. `OnOff` is the papers' generator: ten virtual streams, the i-th of bandwidth 2^i, are
each on or off for random lengths of time, and a step has as many rows as the bandwidths of those that are
on add up to: 1,023 on average. Two things are corrected (the pseudo-code would let bandwidth become
negative and lose a stream): each stream has a flag of its own, and the one that is due is the one that
is switched, all that are due in one step. Switching never waits for a queue: a length is a function of
(seed, stream, number of switches), so that the whole state is two numbers a stream.

`Position` is that state, with the number of rows so far: small, JSON, and enough to go on from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Protocol, get_args

import numpy as np
from numpy.typing import NDArray

from semistream.errors import ArgumentError
from semistream.workloads import onoff
from semistream.workloads.draws import purpose_key

Int64s = NDArray[np.int64]
Floats = NDArray[np.float64]
Lengths = Literal["pareto", "uniform"]

NAMES = ("constant", "bursty", "papers")
STREAMS = 10
FIRST_ON, LENGTHS = 100, 200  # what a seed is used for; `keys` has the small numbers


@dataclass(frozen=True)
class Position:
    """Behind `row` rows: the step of the last one, how many of that step came, and each stream's state."""

    row: int = 0
    step: int = 0
    taken: int = 0
    switches: tuple[int, ...] = ()
    until: tuple[int, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """As whole numbers in dictionaries: all that a Spark offset may hold.

        >>> Position(5, 5).to_json()
        {'row': 5, 'step': 5, 'taken': 0}
        >>> Position.from_json(Position(9, 1, 3, (1,), (7,)).to_json())
        Position(row=9, step=1, taken=3, switches=(1,), until=(7,))
        """
        made: dict[str, Any] = {"row": self.row, "step": self.step, "taken": self.taken}
        if self.switches:
            made["streams"] = {
                str(i): {"switches": switches, "until": until}
                for i, (switches, until) in enumerate(zip(self.switches, self.until, strict=True))
            }
        return made

    @staticmethod
    def from_json(made: Mapping[str, Any]) -> Position:
        streams = made.get("streams", {})
        states = [streams[str(i)] for i in range(len(streams))]
        return Position(
            made["row"],
            made["step"],
            made["taken"],
            tuple(state["switches"] for state in states),
            tuple(state["until"] for state in states),
        )


class Arrivals(Protocol):
    """How many rows come in each step, and when each of them does."""

    @property
    def rows_per_step(self) -> float:
        """On average."""
        ...

    def begin(self) -> Position: ...

    def counts(self, at: Position, steps: int) -> tuple[Int64s, Position]:
        """The rows of the next steps, and where that leads; the first step without what came of it."""
        ...

    def after(self, at: Position, rows: int) -> Position:
        """Where `rows` more rows lead: the same, whether they are taken at once or one by one."""
        ...

    def due(self, at: Position, latest: float) -> int:
        """How many more rows come at `latest`, in steps, or before."""
        ...

    def times(self, at: Position, rows: int) -> Floats:
        """When each of the next rows comes, in steps."""
        ...


@dataclass(frozen=True)
class Constant:
    """One row a step.

    >>> Constant().times(Position(3, 3), 2).tolist()
    [3.0, 4.0]
    """

    @property
    def rows_per_step(self) -> float:
        return 1.0

    def begin(self) -> Position:
        return Position()

    def counts(self, at: Position, steps: int) -> tuple[Int64s, Position]:
        return np.ones(steps, dtype=np.int64), self.after(at, steps)

    def after(self, at: Position, rows: int) -> Position:
        return Position(at.row + rows, at.step + rows)

    def due(self, at: Position, latest: float) -> int:
        return max(0, int(np.floor(latest)) + 1 - at.row)

    def times(self, at: Position, rows: int) -> Floats:
        return np.arange(at.row, at.row + rows, dtype=np.float64)


@dataclass(frozen=True)
class OnOff:
    """Bursty arrivals out of ten virtual streams that switch on and off.

    lengths: `pareto`: how long a stream stays on or off has a heavy tail (survival s^-shape), which makes the
        sum self-similar at every scale past a few steps, with a Hurst exponent of (3 - shape) / 2. `uniform`:
        the papers' form, a uniform share of `bandwidth` steps. No length is above 1,024 steps then: up to
        there bursts persist, but over more than that they average out like any independent noise
        (Hurst exponent 0.5 over blocks of 2,048 steps and more), so that it isn't self-similar.
    shape: of the Pareto lengths, above 1 and below 2.

    The Pareto form begins with each stream on or off by chance, so that every step expects the same number of
    rows; the papers' begins with all of them on.

    >>> arrivals = OnOff(seed=1)
    >>> counts, at = arrivals.counts(arrivals.begin(), 5)
    >>> more, at = arrivals.counts(at, 5)
    >>> [*counts.tolist(), *more.tolist()] == arrivals.counts(arrivals.begin(), 10)[0].tolist()
    True
    """

    seed: int = 0
    lengths: Lengths = "pareto"
    shape: float = 1.2

    def __post_init__(self) -> None:
        if self.lengths not in get_args(Lengths):
            known = " or ".join(get_args(Lengths))
            raise ArgumentError(f"lengths={self.lengths!r} isn't known: give {known}")
        if not 1 < self.shape < 2:
            raise ArgumentError(
                f"shape={self.shape} gives no self-similar stream: give more than 1, less than 2"
            )

    @property
    def rows_per_step(self) -> float:
        return float(2**STREAMS - 1)

    def begin(self) -> Position:
        if self.lengths == "uniform":
            on = [1] * STREAMS
        else:
            on = [int(purpose_key(self.seed, FIRST_ON + i)) & 1 for i in range(STREAMS)]
        switches, until = np.array(on, dtype=np.int64), np.zeros(STREAMS, dtype=np.int64)
        onoff.begin(switches, until, *self._law)
        return Position(0, 0, 0, _numbers(switches), _numbers(until))

    def counts(self, at: Position, steps: int) -> tuple[Int64s, Position]:
        switches, until = _state(at)
        out = np.empty(steps, dtype=np.int64)
        onoff.counts(switches, until, at.step, *self._law, out)
        if steps:
            out[0] -= at.taken
        taken = 0 if steps else at.taken
        row = at.row + int(out.sum())
        return out, Position(row, at.step + steps, taken, _numbers(switches), _numbers(until))

    def after(self, at: Position, rows: int) -> Position:
        if not rows:
            return at
        switches, until = _state(at)
        step, taken = onoff.take(switches, until, at.step, at.taken, rows, *self._law)
        return Position(at.row + rows, int(step), int(taken), _numbers(switches), _numbers(until))

    def due(self, at: Position, latest: float) -> int:
        switches, until = _state(at)
        return int(onoff.due(switches, until, at.step, at.taken, float(latest), *self._law))

    def times(self, at: Position, rows: int) -> Floats:
        switches, until = _state(at)
        out = np.empty(rows, dtype=np.float64)
        onoff.times(switches, until, at.step, at.taken, *self._law, out)
        return out

    @cached_property
    def _law(self) -> tuple[NDArray[np.uint64], Floats, float]:
        """Each stream's key and scale, and the shape; 0 stands for uniform lengths."""
        keys = np.array([purpose_key(self.seed, LENGTHS + i) for i in range(STREAMS)], dtype=np.uint64)
        uniform = self.lengths == "uniform"
        scales = np.array([2.0 ** (i + 1) if uniform else 1.0 for i in range(STREAMS)])
        return keys, scales, 0.0 if uniform else self.shape


def arrivals_named(name: str, seed: int = 0) -> Arrivals:
    """`constant`; `bursty`: self-similar; `papers`: the papers' form of it (see `OnOff`).

    >>> arrivals_named("papers", 3)
    OnOff(seed=3, lengths='uniform', shape=1.2)
    """
    if name not in NAMES:
        raise ArgumentError(f"arrivals={name!r} isn't known: give {', '.join(NAMES[:-1])} or {NAMES[-1]}")
    if name == "constant":
        return Constant()
    return OnOff(seed, "uniform" if name == "papers" else "pareto")


def _state(at: Position) -> tuple[Int64s, Int64s]:
    return np.array(at.switches, dtype=np.int64), np.array(at.until, dtype=np.int64)


def _numbers(values: Int64s) -> tuple[int, ...]:
    return tuple(int(value) for value in values)
