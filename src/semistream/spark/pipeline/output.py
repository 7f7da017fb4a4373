"""From the rows behind the lookups to those of the warehouse, and those of the quarantine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from semistream.spark.pipeline.analysis import column, with_columns
from semistream.spark.pipeline.file import INTERNAL, NewRows, Pipeline
from semistream.spark.pipeline.lookups import REASON, ROW, WAS
from semistream.spark.pipeline.places import Place
from semistream.spark.pipeline.sinks import Sink
from semistream.spark.pipeline.sources import CORRUPT, SOURCE

QUARANTINE_SOURCE = "quarantine_source"
QUARANTINE_REASON = "quarantine_reason"
QUARANTINE_RECORD = "quarantine_record"
_QUARANTINE = (QUARANTINE_SOURCE, QUARANTINE_REASON, QUARANTINE_RECORD)


@dataclass(frozen=True)
class Output:
    """What the warehouse gets of a batch. It travels to where batches are written."""

    columns: tuple[str, ...]  # behind the lookups
    new_rows: NewRows | None
    derived: Mapping[str, str]
    derived_place: Place
    chosen: tuple[str, ...] | None  # by the sink, in its order
    key: tuple[str, ...]  # of the sink's table

    def checked(self, pipeline: Pipeline, empty: DataFrame) -> DataFrame:
        """The rows of a batch without rows, or an error that says what can't be."""
        for name in self.derived:
            if name.startswith(INTERNAL):
                raise self.derived_place.error(
                    name, f"names that begin with {INTERNAL} are ours: take another"
                )
        known = {*self.columns, *self.derived}
        if self.new_rows is not None:
            self._check_new_rows(self.new_rows)
            known.add(self.new_rows.column)
            empty = empty.withColumn(self.new_rows.column, F.lit(True))
        place = pipeline.sink.place
        needed = {"columns": self.chosen or (), "key": self.key}
        needed["latest"] = () if pipeline.sink.latest is None else (pipeline.sink.latest,)
        for key, names in needed.items():
            for name in names:
                among = known if key == "columns" else set(self.chosen or known)
                if name not in among:
                    raise place.error(
                        key, f"{name!r} is no column of the output: there are {', '.join(sorted(among))}"
                    )
        return self._with_derived(empty)

    def rows(self, batch: DataFrame, sink: Sink) -> DataFrame:
        """The warehouse's rows of a batch."""
        kept = batch.filter(column(REASON).isNull()) if REASON in batch.columns else batch
        if self.new_rows is not None:
            kept = _told_apart(kept, self.new_rows, sink)
        return self._with_derived(kept)

    def _with_derived(self, df: DataFrame) -> DataFrame:
        names = list(self.columns)
        if self.new_rows is not None:
            names.append(self.new_rows.column)
        df = with_columns(self.derived_place, df.select(*(column(name) for name in names)), self.derived)
        names += [name for name in self.derived if name not in names]
        return df.select(*(column(name) for name in (self.chosen or names)))

    def _check_new_rows(self, new_rows: NewRows) -> None:
        known = (
            self.columns if self.chosen is None else [name for name in self.columns if name in self.chosen]
        )
        for name in new_rows.key:
            if name not in known:
                raise new_rows.place.error(
                    "key",
                    f"{name!r} doesn't go from the lookups to the sink as it is: {', '.join(known)} do",
                )
            if name in self.derived:
                raise new_rows.place.error(
                    "key", f"{name!r} is changed by [columns]: give one that stays as it is"
                )
        if new_rows.column in (*self.columns, *self.derived):
            raise new_rows.place.error(
                "column", f"{new_rows.column!r} is a column already: give it another name"
            )


def _told_apart(df: DataFrame, new_rows: NewRows, sink: Sink) -> DataFrame:
    """Whether the warehouse lacked a row's key before this batch. A null key is never there."""
    known = sink.known(df.select(*(column(name) for name in new_rows.key)).distinct())
    if known is None:
        return df.withColumn(new_rows.column, F.lit(True))
    marked = df.join(F.broadcast(known.withColumn(new_rows.column, F.lit(False))), list(new_rows.key), "left")
    return marked.withColumn(new_rows.column, F.coalesce(column(new_rows.column), F.lit(True)))


def quarantined(batch: DataFrame, stream: tuple[str, ...], sources: tuple[str, ...]) -> DataFrame:
    """Rows for the quarantine as they came, with the source, the reason, and the record if it was corrupt."""
    rows = batch.filter(column(REASON).isNotNull())
    if ROW in batch.columns:
        rows = rows.dropDuplicates([ROW])
    numbers = F.array(*(F.lit(name) for name in sources))
    was = [column(WAS + name if WAS + name in batch.columns else name).alias(name) for name in stream]
    return rows.select(
        *was,
        F.element_at(numbers, column(SOURCE).cast("int") + 1).alias(QUARANTINE_SOURCE),
        column(REASON).alias(QUARANTINE_REASON),
        column(CORRUPT).alias(QUARANTINE_RECORD),
    )


def check_quarantine_names(place: Place, stream: tuple[str, ...]) -> None:
    for name in _QUARANTINE:
        if name in stream:
            raise place.error(
                "path", f"a column is called {name!r}, as the quarantine calls its own: rename it"
            )
