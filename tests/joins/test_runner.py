"""The judges judged: the oracle against Arrow and DuckDB, and the runner against broken joins."""

from __future__ import annotations

import ctypes
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from semistream import SemiStreamJoin
from semistream.columns import HOWS
from semistream.phases.page_phase import PagePhase
from semistream.stats import Stats
from tests.joins.cases import Case
from tests.joins.oracle import Expected, rows_of
from tests.joins.runner import run_case

ARROW_HOW = {"inner": "inner", "left": "left outer", "left_semi": "left semi", "left_anti": "left anti"}
DUCKDB_HOW = {"inner": "JOIN", "left": "LEFT JOIN", "left_semi": "SEMI JOIN", "left_anti": "ANTI JOIN"}


def _tables(parts: int) -> tuple[pa.Table, pa.Table, list[str]]:
    """A stream and a master with duplicates, nulls and rows that nobody answers."""
    rng = np.random.default_rng(parts)
    keys = ["k0", "k1"][:parts]

    def side(rows: int, payload: str) -> pa.Table:
        columns: dict[str, Any] = {}
        for name in keys:
            columns[name] = pa.array(rng.integers(0, 30, rows), mask=rng.random(rows) < 0.1)
        columns[payload] = pa.array([f"{payload}{n}" for n in rng.integers(0, 99, rows)])
        return pa.table(columns)

    return side(400, "s"), side(100, "m"), keys


@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("how", HOWS)
def test_the_oracle_agrees_with_arrow(how: str, parts: int) -> None:
    stream, master, keys = _tables(parts)
    payload = ["m"] if how in ("inner", "left") else []
    expected = Expected(stream, master, {name: name for name in keys}, how, payload)
    joined = stream.join(master, keys, join_type=ARROW_HOW[how])
    assert Counter(rows_of(joined.select([*keys, "s", *payload]))) == expected.rows
    assert expected.matched + expected.unmatched + expected.null_keys == 400
    assert min(expected.matched, expected.unmatched, expected.null_keys) > 20


@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("how", HOWS)
def test_the_oracle_agrees_with_duckdb(how: str, parts: int) -> None:
    stream, master, keys = _tables(parts)
    payload = ["m"] if how in ("inner", "left") else []
    expected = Expected(stream, master, {name: name for name in keys}, how, payload)
    with duckdb.connect() as database:
        database.register("stream", stream)
        database.register("master", master)
        on = " AND ".join(f"stream.{name} = master.{name}" for name in keys)
        shown = ", ".join([*(f"stream.{name}" for name in keys), "s", *payload])
        found = database.sql(f"SELECT {shown} FROM stream {DUCKDB_HOW[how]} master ON {on}").fetchall()
    assert Counter(found) == expected.rows


def test_the_oracle_tells_payloads_apart() -> None:
    values = [float("nan"), 0.0, -0.0, None]
    lists = [[True], [1], [None], None]
    assert len(set(rows_of(pa.table({"x": values})))) == 4
    assert len({*rows_of(pa.table({"x": [[True]]})), *rows_of(pa.table({"x": lists[1:]}))}) == 4
    nested = pa.table({"x": pa.array([{"a": None}, None], pa.struct([("a", pa.int8())]))})
    assert len(set(rows_of(nested))) == 2


WORKING = Case(
    algorithm="hybridjoin",
    how="left",
    seed=5,
    keys=("string",),
    renamed=True,
    master_rows=60,
    distinct=40,
    hot_rows=5,
    master_payload=("string", "list"),
    master_form="shuffled",
    batches=(40, 0, 70),
    calls=("", "step", "step"),
    skew="even",
    hit_share=0.7,
    null_share=0.05,
    stream_payload=("int64",),
    sliced=True,
    columns=None,
    collide=False,
    status=True,
    on_disk=False,
    page_rows=4,
    spare=1.0,
    hash_mask=3,
    settings=(("pending_rows", 10),),
)

Drain = Callable[[SemiStreamJoin], Iterator[pa.RecordBatch]]
real_drain = SemiStreamJoin.drain


def _loses_a_batch(join: SemiStreamJoin) -> Iterator[pa.RecordBatch]:
    yield from list(real_drain(join))[1:]


def _says_a_row_twice(join: SemiStreamJoin) -> Iterator[pa.RecordBatch]:
    batches = list(real_drain(join))
    yield from [*batches, batches[0].slice(0, 1)]


def _swaps_payload(join: SemiStreamJoin) -> Iterator[pa.RecordBatch]:
    for batch in real_drain(join):
        column = batch.column("c0")
        at = batch.schema.get_field_index("c0")
        yield batch.set_column(at, batch.schema.field(at), column.take(pa.array(range(len(column))[::-1])))


def _reuses_memory(join: SemiStreamJoin) -> Iterator[pa.RecordBatch]:
    for batch in real_drain(join):
        yield batch
        values = batch.column("c0").buffers()[1]
        ctypes.memset(values.address, 7, values.size)


def _changes_the_schema(join: SemiStreamJoin) -> Iterator[pa.RecordBatch]:
    for batch in real_drain(join):
        yield batch.replace_schema_metadata({})


def _forgets_rows(join: SemiStreamJoin) -> Iterator[pa.RecordBatch]:
    yield from ()


@pytest.mark.parametrize(
    "drain",
    [_loses_a_batch, _says_a_row_twice, _swaps_payload, _reuses_memory, _changes_the_schema, _forgets_rows],
)
def test_the_runner_rejects_a_broken_join(drain: Drain, monkeypatch: pytest.MonkeyPatch) -> None:
    tally = run_case(WORKING)
    assert tally.waited
    assert min(tally.matched, tally.unmatched, tally.null_keys) > 3
    monkeypatch.setattr(SemiStreamJoin, "drain", drain)
    with pytest.raises(AssertionError):
        run_case(WORKING)


@pytest.mark.parametrize("counter", ["rows_in", "rows_out", "matched", "unmatched", "null_keys"])
def test_the_runner_rejects_a_wrong_counter(counter: str, monkeypatch: pytest.MonkeyPatch) -> None:
    real = SemiStreamJoin.stats.fget  # type: ignore[attr-defined]

    def wrong(join: SemiStreamJoin) -> Stats:
        stats: Stats = real(join)
        setattr(stats.counters, counter, getattr(stats.counters, counter) + 1)
        return stats

    monkeypatch.setattr(SemiStreamJoin, "stats", property(wrong))
    with pytest.raises(AssertionError):
        run_case(WORKING)


def test_the_runner_rejects_a_join_above_its_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    real = SemiStreamJoin.stats.fget  # type: ignore[attr-defined]

    def wrong(join: SemiStreamJoin) -> Stats:
        stats: Stats = real(join)
        stats.held_bytes["something"] = stats.memory_limit + 1
        return stats

    monkeypatch.setattr(SemiStreamJoin, "stats", property(wrong))
    with pytest.raises(AssertionError):
        run_case(WORKING)


def test_the_runner_rejects_a_join_that_trusts_its_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    def all_same(phase: PagePhase, waiting: Any, number: int, rows: Any) -> Any:
        return np.ones(len(rows), np.bool_)

    monkeypatch.setattr(PagePhase, "same_keys", all_same)
    with pytest.raises(AssertionError):
        run_case(WORKING)
