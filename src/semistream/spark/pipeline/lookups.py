"""A pipeline's lookups, fused into as few trips through Python as can be.

A lookup of one source's rows sees null keys in the others' place, so that all lookups share one trip. A
column that takes another's place, or that lookups of several sources fill together, has its value only
behind the trip: a lookup that needs it begins the next one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from semistream.spark.checking import Lookup
from semistream.spark.lookup_join import lookup, lookup_joins
from semistream.spark.pipeline.analysis import column, told
from semistream.spark.pipeline.file import INTERNAL, LookupTable, Pipeline
from semistream.spark.pipeline.sources import CORRUPT, SOURCE, user_columns
from semistream.stores.master import Master, master

REASON = f"{INTERNAL}_reason"  # why a row goes to the quarantine; null: it doesn't
ROW = f"{INTERNAL}_row"  # tells the rows of a batch apart, where a lookup may have multiplied them
WAS = f"{INTERNAL}_was_"  # before the name of a column of the stream whose place another has taken
CORRUPT_RECORD = "corrupt record"
_MATCHED = "matched"


@dataclass(frozen=True, slots=True)
class LookedUp:
    """The stream behind its lookups."""

    df: DataFrame
    columns: tuple[str, ...]  # what the file may speak of from here on
    trips: int


def look_up(df: DataFrame, pipeline: Pipeline) -> LookedUp:
    """All lookups of the pipeline, in order."""
    masters = [told(one.place, "master", partial(_Opened.of, one), one.master) for one in pipeline.lookups]
    trips = _Trips(pipeline, _numbered(df, pipeline, masters))
    for number, one in enumerate(pipeline.lookups):
        trips.add(number, one, masters[number])
    trips.make()
    gone = {name for one in pipeline.lookups for name in one.replaces} - trips.taken
    columns = tuple(name for name in user_columns(trips.df) if name not in gone)
    return LookedUp(_without_dropped(trips.df, pipeline), columns, trips.made)


@dataclass(frozen=True, slots=True)
class _Opened:
    """A master, and what can be known of it without reading rows."""

    master: Master
    payload: tuple[str, ...]  # its columns without the key
    unique: bool

    @staticmethod
    def of(one: LookupTable) -> _Opened:
        key: Any = one.key[0] if len(one.key) == 1 else list(one.key)
        made = master(one.master, key, columns=one.columns, **dict(one.options))
        store = made.open()
        try:
            payload = tuple(name for name in store.schema.names if name not in made.key)
            return _Opened(made, payload, bool(store.unique or one.validate))
        finally:
            store.close()


def _numbered(df: DataFrame, pipeline: Pipeline, masters: list[_Opened]) -> DataFrame:
    """Tell rows apart where one that goes to the quarantine may meet a master that multiplies it."""
    for number, one in enumerate(pipeline.lookups):
        if one.unmatched == "quarantine" and not all(found.unique for found in masters[number + 1 :]):
            return df.withColumn(ROW, F.expr("uuid()"))
    return df


@dataclass
class _Trip:
    """Lookups that are made together, and the columns that have their values behind it."""

    specs: list[Lookup] = field(default_factory=list)
    names: set[str] = field(default_factory=set)  # every column there is by now
    found: list[tuple[LookupTable, str, str]] = field(default_factory=list)  # column, and what it is called
    masks: list[str] = field(default_factory=list)

    @property
    def later(self) -> set[str]:
        return {name for _, name, _ in self.found}


class _Trips:
    """The trips made so far, and the one that is being put together."""

    def __init__(self, pipeline: Pipeline, df: DataFrame) -> None:
        self.pipeline = pipeline
        self.df = df
        self.made = 0
        self.taken: set[str] = set()  # replaced columns whose place a master's column has taken
        self._stream = set(user_columns(df))
        self._shared: set[str] = set()  # columns that only lookups of single sources fill
        self._trip = _Trip(names=set(self.df.columns))

    def add(self, number: int, one: LookupTable, opened: _Opened) -> None:
        """Put a lookup into the trip, or into the next one."""
        place = one.place
        pairs = one.pairs
        self._check_columns(one, pairs)
        # A mask is made before the trip, of a column that must be there by then.
        masked = one.source is not None
        if self._trip.later & set(pairs) or (masked and set(pairs) - set(self.df.columns)):
            self.make()
        trip = self._trip
        on = self._masked(number, one, pairs) if masked else pairs
        suffix = one.suffix or f"{INTERNAL}_of_{number}"
        for name in opened.payload if one.how in ("left", "inner") else ():
            self._place(one, name, suffix)
        status = _status(number) if _needs_status(one, self.pipeline) else None
        if one.status is not None:
            if one.status in trip.names:
                raise place.error("status", f"{one.status!r} is a column already: give it another name")
            trip.found.append((one, one.status, _status(number)))
            trip.names.add(one.status)
        trip.specs.append(
            lookup(
                opened.master,
                on,
                _how(one, self.pipeline),
                columns=one.columns,
                suffix=suffix,
                status=status,
                validate="m:1" if one.validate else None,
                algorithm=one.algorithm,
            )
        )
        # Checked one by one, so that an error is told of the lookup that has it.
        told(place, "on", self._joined, one.master)

    def make(self) -> None:
        """Make the trip, and give its columns the names that the file speaks of."""
        trip = self._trip
        if trip.specs:
            joined = self._joined()
            self.made += 1
            self.df = self._named(trip, joined)
        self._trip = _Trip(names=set(self.df.columns))

    def _check_columns(self, one: LookupTable, pairs: Mapping[str, str]) -> None:
        known = {name for name in self._trip.names if not name.startswith(INTERNAL)}
        for key, names in (("on", tuple(pairs)), ("replaces", one.replaces)):
            for name in names:
                if name not in known:
                    raise one.place.error(
                        key, f"{name!r} is no column of the stream here: there are {', '.join(sorted(known))}"
                    )

    def _place(self, one: LookupTable, name: str, suffix: str) -> None:
        """Say what becomes of a column of the master."""
        trip = self._trip
        if name not in trip.names:
            trip.names.add(name)
            if one.source is not None:
                self._shared.add(name)
            return
        called = name + suffix
        trip.names.add(called)
        if name in one.replaces:
            self.taken.add(name)
        elif one.source is None or name not in self._shared:
            if one.suffix is not None:
                return
            raise one.place.error(
                "columns",
                f"{name!r} is in the stream and in the master: leave it out with columns = [...], give "
                f"suffix = '_{one.name}', or say replaces where it takes the place of the stream's",
            )
        trip.found.append((one, name, called))

    def _masked(self, number: int, one: LookupTable, pairs: Mapping[str, str]) -> dict[str, str]:
        """Key columns that are null for the rows of other sources."""
        mine, on = _is_of(self.pipeline, one), {}
        for part, (name, key) in enumerate(pairs.items()):
            mask = f"{INTERNAL}_key_{number}_{part}"
            self.df = self.df.withColumn(mask, F.when(mine, column(name)))
            self._trip.masks.append(mask)
            on[mask] = key
        return on

    def _joined(self) -> DataFrame:
        number = f" {self.made + 1}" if self.made else ""
        joined = lookup_joins(
            self.df,
            self._trip.specs,
            memory=self.pipeline.memory,
            name=f"{self.pipeline.name} lookups{number}",
        )
        return joined

    def _named(self, trip: _Trip, joined: DataFrame) -> DataFrame:
        values: dict[str, Column] = {}
        for one, name, called in trip.found:
            before = values.get(name, column(name) if name in joined.columns else F.lit(None))
            values[name] = (
                column(called)
                if one.source is None
                else F.when(_is_of(self.pipeline, one), column(called)).otherwise(before)
            )
        if self.pipeline.quarantine is not None:
            kept = [name for name in values if name in self._stream and WAS + name not in joined.columns]
            values |= {WAS + name: column(name) for name in kept}
        suffixed = {called for _, name, called in trip.found if called.startswith(name)}
        return joined.withColumns(values).drop(*suffixed, *trip.masks)


def _without_dropped(df: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Rows for the quarantine get their reason, the first there is; rows to be dropped go."""
    reason, dropped = F.lit(None).cast("string"), F.lit(False)
    for number, one in reversed(list(enumerate(pipeline.lookups))):
        if not _needs_status(one, pipeline) or one.unmatched == "keep":
            continue
        missed = column(_status(number)) != _MATCHED
        if one.source is not None:
            missed = missed & _is_of(pipeline, one)
        if one.unmatched == "drop":
            dropped = dropped | missed
            continue
        reason = F.when(missed, F.concat(F.lit(f"{one.name}: "), column(_status(number)))).otherwise(reason)
    if pipeline.quarantine is not None:
        reason = F.when(column(CORRUPT).isNotNull(), F.lit(CORRUPT_RECORD)).otherwise(reason)
        df = df.withColumn(REASON, reason)
        dropped = dropped & column(REASON).isNull()
    return df.filter(~dropped)


def _status(number: int) -> str:
    return f"{INTERNAL}_status_{number}"


def _needs_status(one: LookupTable, pipeline: Pipeline) -> bool:
    if one.unmatched == "quarantine" or one.status is not None:
        return True
    return one.unmatched == "drop" and _how(one, pipeline) == "left"


def _how(one: LookupTable, pipeline: Pipeline) -> str:
    """A lookup may drop rows itself only where none of another source, and none on its way to the quarantine,
    would go with them."""
    if one.how in ("left_semi", "left_anti"):
        return one.how
    alone = one.source is None and pipeline.quarantine is None
    return "inner" if one.unmatched == "drop" and alone else "left"


def _is_of(pipeline: Pipeline, one: LookupTable) -> Column:
    names = [source.name for source in pipeline.sources]
    return column(SOURCE) == F.lit(names.index(str(one.source)))
