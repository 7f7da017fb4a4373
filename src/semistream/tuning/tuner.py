"""The tuner: pages a load, and the split between front and waiting rows, for one join.

    a grid of choices that the memory has room for, judged in closed form
    the best of them, as many as time allows, judged by the algorithm's corrected model
    the neighbours of the best, at half the distance, and again
    the best of all, and the defaults, run over the master, if that is asked for

The closed form takes a front for the most frequent rows, and orders the choices well enough to throw most of
them away. A played model (`costs.schedules`) takes its time: some 100 ns a row that it plays.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from semistream.budget import parse_memory
from semistream.costs.base import FIXED_UNITS, MEASURED, WARM_UP, DeviceCosts, UnitCosts
from semistream.costs.schedules.playing import ROWS as LEAST_PLAYED
from semistream.errors import ArgumentError
from semistream.join import DEFAULT_ALGORITHM
from semistream.stores.base import Store
from semistream.stores.master import Master
from semistream.tuning.choices import PAGE_STEP, Choice, Point, around, grid, modelled, screened
from semistream.tuning.job import Job, Settings
from semistream.tuning.measuring import Trial
from semistream.tuning.sample import Sample, example_of, skew_of, table_of
from semistream.tuning.skew import Skew

SSD = DeviceCosts(80e-6, 2e9, 32)
PLAYED_ROWS = 300_000_000  # that all played models together may take: half a minute
LEAST_PLAYS = 6
ROUNDS = 2  # of neighbours
SHARE_STEP = 2.0  # of front to waiting rows, in a grid
LEAST_QUEUES = 2  # of waiting rows that the stream has to be longer than
WORTH_IT = 0.005  # a gain below it isn't one: the defaults stay


@dataclass(frozen=True, eq=False)
class Tuned:
    """What was chosen, and beside what.

    >>> import pyarrow as pa
    >>> import semistream as ss
    >>> master = ss.master(pa.table({"id": range(5000), "name": ["tea"] * 5000}), "id", page_rows=50)
    >>> tuned = tune(master, "512KiB", algorithm="hybridjoin", exponent=1.0)
    >>> sorted(tuned.settings)
    ['algorithm', 'memory', 'partition_pages']
    >>> with ss.SemiStreamJoin(master, **tuned.settings) as join:
    ...     rows = sum(out.num_rows for out in [*join.push(pa.record_batch({"id": [7]})), *join.drain()])
    >>> rows
    1
    """

    job: Job
    skew: Skew
    chosen: Choice
    default: Choice
    candidates: tuple[Choice, ...]  # the best first

    @property
    def settings(self) -> Settings:
        """What `SemiStreamJoin` and `lookup_join` take as keywords."""
        own = {name: value for name, value in self.chosen.settings.items() if value is not None}
        return {"memory": self.job.memory, "algorithm": self.job.algorithm, **own}

    @property
    def gain(self) -> float:
        """Times as many rows a second as with the default settings."""
        return self.default.seconds / self.chosen.seconds

    @property
    def measured(self) -> bool:
        """Whether that was measured, or only predicted."""
        return self.chosen.measured_seconds is not None

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        from semistream.tuning.explaining import reasons

        return {
            "settings": self.settings,
            "gain": self.gain,
            "measured": self.measured,
            "exponent": self.skew.exponent,
            "exponent_low": self.skew.low,
            "exponent_high": self.skew.high,
            "in_order": self.skew.in_order,
            "order": self.skew.order,
            "sample_rows": self.skew.sample_rows,
            "chosen": self.chosen.as_dict(),
            "default": self.default.as_dict(),
            "reasons": reasons(self),
            "candidates": [choice.as_dict() for choice in self.candidates],
        }

    def __str__(self) -> str:
        from semistream.tuning.explaining import text

        return text(self)


def tune(
    master: Master | Store,
    memory: int | str = "64MiB",
    *,
    algorithm: str = DEFAULT_ALGORITHM,
    exponent: float | None = None,
    order: str | None = None,
    sample: Sample | None = None,
    stream: pa.Schema | None = None,
    units: UnitCosts = FIXED_UNITS,
    device: DeviceCosts = SSD,
    measure: int = 0,
    real: bool = False,
    rows: int | None = None,
    seed: int = 0,
    progress: Callable[[str], None] = lambda step: None,
    arguments: dict[str, Any] | None = None,
    **given: Any,
) -> Tuned:
    """Choose `partition_pages` and the front's share for this join.

    exponent, order: of Zipf's law, and "frequency" if the master has the most frequent keys first, or
        "scattered"; what isn't given is estimated from the sample.
    sample: rows of the stream: a table, or the path of a Parquet or an Arrow file.
    stream: its schema; None: the sample's, or the key alone.
    units, device: what operations and loads cost; `semistream calibrate` measures them.
    measure: so many of the best choices are run, and the best of these is taken. 0: the model decides.
    real: run them on the master's own device by the wall clock, not on a virtual one.
    rows: of the stream that a choice has to be good for, cold start included; None: 40 times what can wait
        with the default settings. The first 5/8 of them warm it up.
    arguments: of the join beside its settings (on, how, columns, suffix).
    given: settings that are not to be chosen.
    """
    store = master.open() if isinstance(master, Master) else master
    owned = isinstance(master, Master) and not master.lends_store
    try:
        found = table_of(sample) if sample is not None else None
        arguments = dict(arguments or {})
        skew = _skew(store, exponent, order, found, arguments)
        like = stream or (found if found is not None else _keys_only(store, arguments))
        job = Job(
            store=store,
            memory=parse_memory(memory),
            algorithm=algorithm,
            example=example_of(like),
            key_shares=skew.key_shares(store.rows or 1, seed),
            units=units,
            device=device,
            seed=seed,
            arguments=arguments,
            given=given,
        )
        return _tuned(job, skew, measure, real, rows, progress)
    finally:
        if owned:
            store.close()


def _tuned(
    job: Job, skew: Skew, measure: int, real: bool, rows: int | None, progress: Callable[[str], None]
) -> Tuned:
    plan = job.plan(dict(job.given))
    rows = rows or (WARM_UP + MEASURED) * plan.pending_rows
    if rows < LEAST_QUEUES * plan.pending_rows:
        raise ArgumentError(
            f"rows={rows} is too short a stream to tell choices apart: {plan.pending_rows} could wait "
            f"with the default settings; give at least {LEAST_QUEUES * plan.pending_rows}"
        )
    job = replace(
        job,
        warm_up_rows=rows * WARM_UP // (WARM_UP + MEASURED),
        measured_rows=max(1, rows - rows * WARM_UP // (WARM_UP + MEASURED)),
    )
    situation = job.situation(dict(job.given), plan)
    prediction = job.costs.corrected(situation, job.units, job.device)
    default = Choice(dict(job.given), plan, situation, prediction)
    search = _Search(job, rows, progress)
    search.look_at(grid(job))
    page_step, share_step = PAGE_STEP, SHARE_STEP
    for _ in range(ROUNDS):
        page_step, share_step = math.sqrt(page_step), math.sqrt(share_step)
        search.look_at(around(search.best, job, page_step, share_step))
    candidates = search.ranked()
    if measure:
        progress(f"running the best {min(measure, len(candidates))} of {len(candidates)} and the defaults")
        candidates, default = _measured(job, candidates, default, measure, real)
    best = candidates[0]
    if best.seconds > default.seconds * (1 - WORTH_IT):
        best = default
    return Tuned(job, skew, best, default, tuple(candidates))


class _Search:
    """Choices seen so far, by the model."""

    def __init__(self, job: Job, rows: int, progress: Callable[[str], None]) -> None:
        self._job, self._progress = job, progress
        self._seen: dict[tuple[tuple[str, Any], ...], tuple[Point, Choice]] = {}
        self._plays = max(LEAST_PLAYS, PLAYED_ROWS // max(rows, LEAST_PLAYED))

    def look_at(self, points: Sequence[Point]) -> None:
        """Judge those that are new and promising."""
        fitting = screened(self._job, points)
        new = [(point, choice) for point, choice in fitting if _name(choice) not in self._seen]
        self._progress(f"{len(new)} choices of {len(points)} to look at")
        for point, choice in new[: self._plays]:
            self._seen[_name(choice)] = point, modelled(self._job, choice)

    @property
    def best(self) -> Point:
        return min(self._seen.values(), key=lambda pair: pair[1].seconds)[0]

    def ranked(self) -> list[Choice]:
        return sorted((choice for _, choice in self._seen.values()), key=lambda choice: choice.seconds)


def _measured(
    job: Job, candidates: Sequence[Choice], default: Choice, most: int, real: bool
) -> tuple[list[Choice], Choice]:
    assert job.warm_up_rows is not None
    assert job.measured_rows is not None
    trial = Trial(job, job.warm_up_rows, job.measured_rows, real=real, seed=job.seed)
    found = [replace(choice, measured_seconds=trial.seconds(choice.settings)) for choice in candidates[:most]]
    found.sort(key=lambda choice: choice.seconds)
    return [*found, *candidates[most:]], replace(
        default, measured_seconds=trial.seconds(dict(default.settings))
    )


def _name(choice: Choice) -> tuple[tuple[str, Any], ...]:
    return tuple(sorted(choice.settings.items()))


def _skew(
    store: Store, exponent: float | None, order: str | None, sample: pa.Table | None, arguments: Settings
) -> Skew:
    if order not in (None, "frequency", "scattered"):
        raise ArgumentError(f"order={order!r} isn't known: give 'frequency' or 'scattered'")
    in_order = None if order is None else float(order == "frequency")
    if sample is None:
        if exponent is None:
            raise ArgumentError(
                "how skewed the stream is isn't known: give the exponent of Zipf's law (0 for uniform keys, "
                "about 1 for most), or a sample of the stream"
            )
        return Skew(exponent, in_order or 0.0)
    found = skew_of(sample, store, arguments.get("on"))
    if in_order is not None:
        found = replace(found, in_order=in_order)
    return found if exponent is None else replace(found, exponent=exponent, low=None, high=None)


def _keys_only(store: Store, arguments: Settings) -> pa.Schema:
    from semistream.columns import key_pairs

    pairs = key_pairs(arguments.get("on"), store.key)
    return pa.schema([store.schema.field(master).with_name(stream) for master, stream in pairs.items()])
