"""`lookup_join`: a DataFrame's rows meet a master's, in the Python workers, inside a byte budget."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import pyarrow as pa
from pyspark.sql import DataFrame, Observation

from semistream.budget import parse_memory
from semistream.columns import On
from semistream.join import DEFAULT_ALGORITHM
from semistream.spark import counters, naming
from semistream.spark.checking import Lookup, checked_trip
from semistream.spark.worker import enrich
from semistream.stores.master import Master


def lookup(
    master: Master,
    on: On = None,
    how: str = "inner",
    *,
    columns: Sequence[str] | None = None,
    suffix: str | None = None,
    status: str | None = None,
    validate: Literal["m:1"] | None = None,
    algorithm: str = DEFAULT_ALGORITHM,
    **settings: Any,
) -> Lookup:
    """What `lookup_joins` does with one master; the parameters are those of `lookup_join`."""
    chosen = tuple(columns) if columns is not None else None
    return Lookup(
        master, on, how, chosen, suffix, status, validate, algorithm, tuple(sorted(settings.items()))
    )


def lookup_join(
    df: DataFrame,
    master: Master,
    on: On = None,
    how: str = "inner",
    *,
    columns: Sequence[str] | None = None,
    suffix: str | None = None,
    memory: int | str = "64MiB",
    algorithm: str = DEFAULT_ALGORITHM,
    validate: Literal["m:1"] | None = None,
    status: str | None = None,
    name: str | None = None,
    observation: Observation | None = None,
    probe: bool = True,
    **settings: Any,
) -> DataFrame:
    """Join a streaming or batch DataFrame with a master that may be far larger than memory.

    The output is what `df.join(master, on, how)` gives, in no particular order, with the stream's
    columns first and the master's, without its key, behind them. A micro-batch is complete when it ends.

    Parameters
    ----------
    memory: bytes for each Python worker, however many lookups and queries it serves.
    name: of the counters in a streaming query's progress; None: the master's, made unique.
    observation: takes the counters of a batch query, in the name's place.
    probe: ask the workers, in a little job, whether they can do it; see `semistream.spark.probe`.

    The others are those of `SemiStreamJoin`. Whatever can be known before the query starts is checked
    here: columns, key types, the master, the budget, the workers.
    """
    one = lookup(
        master,
        on,
        how,
        columns=columns,
        suffix=suffix,
        status=status,
        validate=validate,
        algorithm=algorithm,
        **settings,
    )
    return lookup_joins(df, [one], memory=memory, name=name, observation=observation, probe=probe)


def lookup_joins(
    df: DataFrame,
    lookups: Sequence[Lookup],
    *,
    memory: int | str = "64MiB",
    name: str | None = None,
    observation: Observation | None = None,
    probe: bool = True,
) -> DataFrame:
    """Several masters, one after the other, in one trip through Python and inside one budget.

    A later lookup may use columns of an earlier one. Chained `lookup_join` calls give the same rows,
    but each takes its own Python worker, with its own memory.
    """
    naming.check(df, name, observation)
    trip, made = checked_trip(df, lookups, parse_memory(memory), probe=probe)

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return enrich(batches, trip)

    observed_as = observation or name or naming.unique(one.master for one in lookups)
    return counters.observed(df.mapInArrow(work, made), observed_as)
