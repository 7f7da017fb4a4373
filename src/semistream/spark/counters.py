"""A join's counters on their way from the workers into a query's progress.

Counters as ordinary columns cost up to half the throughput. Instead each task ends with one extra
row: all columns null but this struct. It is observed, and filtered away again. It is observed as a whole, by
one aggregate that passes nulls over, and added up where the batch ends: a sum for each counter would be 15
aggregates, for which every task makes code (docs/decisions/counters.md).
"""

from __future__ import annotations

from typing import TypeAlias

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StringType, StructField, StructType

from semistream.stats import Stats

COLUMN = "__semistream_counters"
OBSERVED = "counters"  # the observation's one value
SUMS = (
    "rows_in",
    "rows_out",
    "matched",
    "unmatched",
    "null_keys",
    "cache_hits",
    "cache_misses",
    "loads",
    "reads",
    "bytes_read",
    "promotions",
    "evictions",
)
MOSTS = ("held_bytes", "cached_rows")
VERSION = "master_version"

Counted: TypeAlias = dict[str, int | str | None]

STRUCT = StructType(
    [
        *(StructField(name, LongType()) for name in (*SUMS, *MOSTS)),
        StructField(VERSION, StringType()),
    ]
)
ARROW = pa.struct([*((name, pa.int64()) for name in (*SUMS, *MOSTS)), (VERSION, pa.string())])


def nothing() -> Counted:
    """What a task without rows did."""
    return {**dict.fromkeys((*SUMS, *MOSTS), 0), VERSION: None}


def since(before: Stats, after: Stats, version: str) -> Counted:
    """What a task did: the difference of two snapshots, and what is held at its end."""
    did: Counted = {name: getattr(after, name) - getattr(before, name) for name in SUMS}
    did["held_bytes"] = after.held_total
    did["cached_rows"] = after.cached_rows
    did[VERSION] = version
    return did


def one_after_another(parts: list[Counted]) -> Counted:
    """The counters of joins that took each other's place in a task."""
    total: Counted = {name: sum(_number(part, name) for part in parts) for name in SUMS}
    return {**parts[-1], **total}


def added_up(parts: list[Counted]) -> Counted:
    """The counters of several lookups over the same rows as one."""
    total: Counted = {name: sum(_number(part, name) for part in parts) for name in (*SUMS, *MOSTS)}
    total["rows_in"], total["rows_out"] = parts[0]["rows_in"], parts[-1]["rows_out"]
    total[VERSION] = ", ".join(str(part[VERSION]) for part in parts)
    return total


def _number(part: Counted, name: str) -> int:
    value = part[name]
    assert isinstance(value, int)
    return value


def last_row(schema: pa.Schema, counters: Counted) -> pa.RecordBatch:
    """The extra row: nulls, and the counters."""
    columns = [pa.nulls(1, type=field.type) for field in list(schema)[:-1]]
    columns.append(pa.array([dict(counters)], type=ARROW))
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def observed(joined: DataFrame, observation: Observation | str) -> DataFrame:
    """Report the counters under this observation, and drop their rows and their column."""
    seen = joined.observe(observation, _total(F.collect_list(COLUMN)).alias(OBSERVED))
    return seen.filter(F.col(COLUMN).isNull()).drop(COLUMN)


def _total(tasks: Column) -> Column:
    """One struct of the tasks' structs."""
    names = [*SUMS, *MOSTS]
    zero = F.struct(
        *(F.lit(0).cast(LongType()).alias(name) for name in names),
        F.lit(None).cast(StringType()).alias(VERSION),
    )

    def add(total: Column, task: Column) -> Column:
        added = [(total[name] + task[name]).alias(name) for name in SUMS]
        largest = [F.greatest(total[name], task[name]).alias(name) for name in (*MOSTS, VERSION)]
        return F.struct(*added, *largest)

    return F.aggregate(tasks, zero, add)
