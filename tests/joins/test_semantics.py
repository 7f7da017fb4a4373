"""What the operator promises a caller: results by hand, errors that help, and nothing lost or changed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import semistream as ss
from semistream import SemiStreamJoin
from semistream.columns import HOWS
from semistream.errors import (
    ArgumentError,
    BudgetError,
    ColumnError,
    DuplicateKeyError,
    KeyTypeError,
    SchemaError,
    SemiStreamError,
    UsageError,
)
from semistream.stores.memory import MemoryStore
from tests.joins.runner import least_memory

EVERY = pytest.mark.parametrize("algorithm", ss.algorithms())
PRODUCTS = pa.table(
    {
        "product": [3, 1, None, 2, 3],
        "name": ["jam", "tea", "?", None, "honey"],
        "price": [1.5, 2.5, 0.0, 3.5, 4.5],
    }
)
ORDERS = pa.record_batch({"order": [10, 11, 12, 13], "product": pa.array([3, None, 9, 2], pa.int32())})


def joined(join: SemiStreamJoin, *batches: pa.RecordBatch) -> list[dict[str, Any]]:
    """All output rows, in an order that doesn't depend on the algorithm."""
    with join:
        out = [row for batch in batches for piece in join.push(batch) for row in piece.to_pylist()]
        out += [row for piece in join.drain() for row in piece.to_pylist()]
    return sorted(out, key=repr)


def numbered(rows: int, start: int = 0) -> pa.RecordBatch:
    return pa.record_batch({"id": np.arange(start, start + rows), "row": np.arange(start, start + rows)})


def master(rows: int = 1000, page_rows: int = 10) -> MemoryStore:
    return MemoryStore(pa.table({"id": np.arange(rows), "value": np.arange(rows) * 2}), "id", page_rows)


# -- results by hand ----------------------------------------------------------------------------


@EVERY
def test_the_four_kinds_of_join(algorithm: str) -> None:
    store = MemoryStore(PRODUCTS, "product", page_rows=1)
    by_how = {how: joined(SemiStreamJoin(store, how=how, algorithm=algorithm), ORDERS) for how in HOWS}
    jam = {"order": 10, "product": 3, "name": "jam", "price": 1.5}
    honey = {"order": 10, "product": 3, "name": "honey", "price": 4.5}
    nameless = {"order": 13, "product": 2, "name": None, "price": 3.5}
    alone: list[dict[str, Any]] = [{"order": 11, "product": None}, {"order": 12, "product": 9}]
    assert by_how["inner"] == sorted([jam, honey, nameless], key=repr)
    nothing: dict[str, Any] = {"name": None, "price": None}
    assert by_how["left"] == sorted([jam, honey, nameless, *({**row, **nothing} for row in alone)], key=repr)
    assert by_how["left_semi"] == [{"order": 10, "product": 3}, {"order": 13, "product": 2}]
    assert by_how["left_anti"] == alone


@EVERY
def test_status_says_what_became_of_each_row(algorithm: str) -> None:
    store = MemoryStore(PRODUCTS, "product", page_rows=2)
    join = SemiStreamJoin(store, how="left", columns=[], status="_match", algorithm=algorithm)
    found = {row["order"]: row["_match"] for row in joined(join, ORDERS)}
    assert found == {10: "matched", 11: "null_key", 12: "unmatched", 13: "matched"}


@EVERY
@pytest.mark.parametrize("how", HOWS)
def test_an_empty_master(algorithm: str, how: str) -> None:
    store = MemoryStore(PRODUCTS.slice(0, 0), "product")
    out = joined(SemiStreamJoin(store, how=how, columns=["name"], algorithm=algorithm), ORDERS)
    assert len(out) == (4 if how in ("left", "left_anti") else 0)


@EVERY
def test_batches_without_rows(algorithm: str) -> None:
    with SemiStreamJoin(master(), algorithm=algorithm) as join:
        assert not list(join.step())
        assert not list(join.drain())
        assert not list(join.push(numbered(0)))
        assert not list(join.drain())
        assert join.output_schema.names == ["id", "row", "value"]
        out = [*join.push(numbered(5)), *join.push(numbered(0)), *join.drain()]
        assert sum(batch.num_rows for batch in out) == 5
        assert join.stats.rows_in == 5


@EVERY
def test_stepping_until_idle_is_draining(algorithm: str) -> None:
    def run(step: bool) -> list[tuple[int, int]]:
        rng = np.random.default_rng(1)
        with SemiStreamJoin(master(), memory="256KiB", algorithm=algorithm, pending_rows=50) as join:
            out: list[pa.RecordBatch] = []
            for _ in range(4):
                keys = rng.integers(0, 1200, 100)
                out += join.push(pa.record_batch({"id": keys}))
                steps = 0
                while step and join.waiting_rows:
                    out += join.step()
                    steps += 1
                    assert steps < 10_000
            if step:
                assert not list(join.drain())
            out += join.drain()
            assert join.waiting_rows == 0
        rows = pa.Table.from_batches(out).to_pydict()
        return sorted(zip(rows["id"], rows["value"], strict=True))

    stepped = run(step=True)
    assert stepped == run(step=False)
    assert len(stepped) > 200


def test_inlj_keeps_the_order_of_arrival() -> None:
    keys = np.random.default_rng(2).permutation(1500)[:300]
    batch = pa.record_batch({"id": keys, "row": np.arange(300)})
    with SemiStreamJoin(master(), how="left", algorithm="inlj") as join:
        out = pa.Table.from_batches([*join.push(batch), *join.drain()])
    assert out["row"].to_pylist() == list(range(300))
    assert out["value"].null_count == (keys >= 1000).sum() > 50


@EVERY
def test_the_callers_batch_is_as_it_was(algorithm: str) -> None:
    texts = [f"text {n}" for n in range(300)]
    whole = pa.record_batch({"id": np.arange(300), "text": texts, "list": [[text] for text in texts]})
    batch = whole.slice(50, 200)
    buffers = [buffer for column in batch.columns for buffer in column.buffers() if buffer is not None]
    before = [buffer.to_pybytes() for buffer in buffers]
    with SemiStreamJoin(master(), how="left", memory="256KiB", algorithm=algorithm, pending_rows=20) as join:
        out = [*join.push(batch), *join.drain()]
    assert [buffer.to_pybytes() for buffer in buffers] == before
    assert sum(piece.num_rows for piece in out) == 200


@EVERY
def test_outputs_stay_as_they_were(algorithm: str) -> None:
    with SemiStreamJoin(master(), memory="256KiB", algorithm=algorithm, pending_rows=20) as join:
        kept: list[tuple[pa.RecordBatch, dict[str, Any]]] = []
        for start in range(0, 900, 100):
            kept += [(batch, batch.to_pydict()) for batch in join.push(numbered(100, start))]
        kept += [(batch, batch.to_pydict()) for batch in join.drain()]
    assert len(kept) > 1
    assert all(batch.to_pydict() == values for batch, values in kept)


def test_renamed_keys_and_suffixes() -> None:
    stream = pa.record_batch({"item": [3, 1], "name": ["a", "b"], "product": ["x", "y"]})
    store = MemoryStore(PRODUCTS, "product")
    join = SemiStreamJoin(store, {"item": "product"}, columns=["name", "product"], suffix="_of_product")
    schema = join.output_schema_for(stream.schema)
    out = joined(join, stream)
    assert schema.names == ["item", "name", "product", "name_of_product"]
    assert [row["name_of_product"] for row in out] == ["tea", "honey", "jam"]


def test_a_composite_key_is_given_in_any_order() -> None:
    table = pa.table({"a": [1, 1, 2], "b": ["x", "y", "x"], "v": [1, 2, 3]})
    stream = pa.record_batch({"b": ["x", "y", None], "a": [2, 1, 1]})
    for on in (None, ["b", "a"], ["a", "b"], {"b": "b", "a": "a"}):
        out = joined(SemiStreamJoin(MemoryStore(table, ["a", "b"]), on), stream)
        assert [row["v"] for row in out] == [3, 2]


# -- errors -------------------------------------------------------------------------------------


def test_a_call_amid_a_push() -> None:
    with SemiStreamJoin(master(), how="left", output_rows=10) as join:
        running = join.push(pa.record_batch({"id": pa.nulls(100, pa.int64())}))  # no row has to wait
        out = [next(running)]
        calls: list[Callable[[], object]] = [lambda: join.push(numbered(1)), join.step, join.drain]
        for call in calls:
            with pytest.raises(UsageError, match="read to its end"):
                call()
        out += running
        out += join.drain()
        assert join.stats.rows_in == join.stats.rows_out == sum(batch.num_rows for batch in out) == 100


def test_a_push_that_nobody_reads_is_refused_later() -> None:
    with SemiStreamJoin(master()) as join:
        join.push(numbered(5))
        with pytest.raises(UsageError, match="read to its end"):
            join.drain()


def test_a_closed_join() -> None:
    join = SemiStreamJoin(master())
    list(join.push(numbered(5)))
    join.close()
    join.close()
    assert join.stats.rows_in == 5
    calls: list[Callable[[], object]] = [lambda: join.push(numbered(1)), join.step, join.drain]
    for call in calls:
        with pytest.raises(UsageError, match="closed"):
            call()


@EVERY
def test_closing_amid_a_push(algorithm: str) -> None:
    join = SemiStreamJoin(master(), how="left", algorithm=algorithm, output_rows=1, memory="512KiB")
    running = join.push(numbered(900))
    next(running, None)
    join.close()
    assert not list(running)


def test_the_output_schema_is_unknown_before_the_first_push() -> None:
    with SemiStreamJoin(master()) as join, pytest.raises(UsageError, match="output_schema_for"):
        _ = join.output_schema


@EVERY
def test_another_schema_is_refused_and_nothing_is_lost(algorithm: str) -> None:
    with SemiStreamJoin(master(), algorithm=algorithm) as join:
        out = list(join.push(numbered(5)))
        with pytest.raises(SchemaError, match=r"id: int64, row: int64.*cast it") as caught:
            join.push(pa.record_batch({"id": [1], "row": ["text"]}))
        assert "row: string" in str(caught.value)
        out += join.push(numbered(5, start=5))
        out += join.drain()
        assert sum(batch.num_rows for batch in out) == join.stats.rows_in == 10


def _join(**changes: Any) -> SemiStreamJoin:
    return SemiStreamJoin(**{"master": master(), **changes})


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"how": "outer"}, ArgumentError, "inner, left, left_semi, left_anti"),
        ({"how": "LEFT"}, ArgumentError, "inner, left, left_semi, left_anti"),
        ({"validate": "1:1"}, ArgumentError, "'m:1'"),
        ({"memory": 0}, ArgumentError, "64MiB"),
        ({"memory": "much"}, ArgumentError, "64MiB"),
        ({"memory": True}, ArgumentError, "64MiB"),
        ({"algorithm": "hashjoin"}, ArgumentError, "cachejoin_pq, hybridjoin"),
        ({"cash_rows": 3}, ArgumentError, "cache_rows"),
        ({"pending_rows": 0}, ArgumentError, "whole number"),
        ({"pending_rows": 2.5}, ArgumentError, "whole number"),
        ({"cache_share": "all"}, ArgumentError, "no number"),
        ({"on": "row"}, ColumnError, "stream column: master column"),
        ({"on": ["id", "row"]}, ColumnError, "every key column"),
        ({"on": {"a": "id", "b": "id"}}, ArgumentError, "twice"),
    ],
)
def test_arguments_that_cannot_be_used(changes: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=re.escape(words)) as caught:
        _join(**changes)
    assert isinstance(caught.value, SemiStreamError)
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({}, ColumnError, "suffix="),
        ({"columns": ["value", "weight"]}, ColumnError, "weight"),
        ({"columns": ["value", "value"]}, ColumnError, "twice"),
        ({"columns": [], "status": "row"}, ColumnError, "status="),
        ({"suffix": "_2", "status": "value_2"}, ColumnError, "status="),
        ({"on": {"nothing": "id"}}, ColumnError, "'nothing'"),
        ({"on": {"text": "id"}, "suffix": "_2"}, KeyTypeError, "'text'"),
        ({"on": {"float": "id"}, "suffix": "_2"}, KeyTypeError, "'float'"),
    ],
)
def test_streams_that_do_not_fit(changes: dict[str, Any], error: type[Exception], words: str) -> None:
    stream = pa.record_batch({"id": [1], "row": [1], "value": [1], "text": ["a"], "float": [1.0]})
    with _join(**changes) as join:
        with pytest.raises(error, match=re.escape(words)):
            join.push(stream)
        assert join.waiting_rows == 0


def test_only_batches_are_pushed() -> None:
    with SemiStreamJoin(master()) as join, pytest.raises(ArgumentError, match="RecordBatch"):
        join.push(pa.table({"id": [1]}))


def test_duplicate_keys_are_shown_up_to_ten() -> None:
    keys = [n for n in range(40) for _ in range(1 + (n >= 25))]
    table = pa.table({"id": keys})
    with pytest.raises(DuplicateKeyError) as caught:
        SemiStreamJoin(ss.master(table, key="id"), validate="m:1")
    shown = re.findall(r"\b\d+\b", str(caught.value).split("among them")[1])
    assert len(shown) == 10
    assert all(25 <= int(key) < 40 for key in shown)
    few = pa.table({"id": ["a", "b", "b", "c", "c", "c"]})
    with pytest.raises(DuplicateKeyError, match="among them 'b', 'c';"):
        SemiStreamJoin(ss.master(few, key="id"), validate="m:1")
    out = joined(
        SemiStreamJoin(ss.master(few.slice(0, 2), key="id"), validate="m:1"), pa.record_batch({"id": ["b"]})
    )
    assert out == [{"id": "b"}]


# -- budgets ------------------------------------------------------------------------------------


@EVERY
def test_a_tiny_budget_names_the_least_that_works(algorithm: str) -> None:
    with pytest.raises(BudgetError, match=algorithm) as caught:
        SemiStreamJoin(master(), memory=100, algorithm=algorithm)
    least = least_memory(caught.value)
    with pytest.raises(BudgetError, match=algorithm):
        SemiStreamJoin(master(), memory=least - 1, algorithm=algorithm)
    with SemiStreamJoin(master(), memory=least, algorithm=algorithm) as join:
        with pytest.raises(BudgetError, match=algorithm) as wider:  # than rows without columns
            join.push(numbered(100))
        assert least < least_memory(wider.value) < 2 * least
    with SemiStreamJoin(master(), memory=least_memory(wider.value), algorithm=algorithm) as join:
        out = [*join.push(numbered(100)), *join.drain()]
    assert sum(batch.num_rows for batch in out) == 100


def _wide(texts: list[str], start: int = 0) -> pa.RecordBatch:
    return pa.record_batch({"id": np.arange(start, start + len(texts)), "text": texts})


@EVERY
def test_a_row_above_the_budget_is_an_error_that_loses_nothing(algorithm: str) -> None:
    with SemiStreamJoin(master(), memory="512KiB", algorithm=algorithm) as join:
        out = list(join.push(_wide(["short"] * 50)))
        with pytest.raises(BudgetError, match=r"row.*give (it )?more memory"):
            out += join.push(_wide(["short", "x" * 2**20, "short"], start=50))
        out += join.push(_wide(["short"] * 50, start=53))
        out += join.drain()
        ids = sorted(key for batch in out for key in batch.column("id").to_pylist())
        assert [key for key in ids if not 50 <= key < 53] == [*range(50), *range(53, 103)]


@EVERY
def test_wide_rows_among_narrow_ones_stay_within_the_budget(algorithm: str) -> None:
    rng = np.random.default_rng(3)

    def batches() -> Iterator[pa.RecordBatch]:
        yield _wide(["narrow"] * 50)
        for start in range(50, 650, 100):
            yield _wide(["x" * int(rng.choice([0, 10, 3000, 9000])) for _ in range(100)], start)

    with SemiStreamJoin(master(), memory="768KiB", algorithm=algorithm) as join:
        out: list[int] = []
        for batch in batches():
            for piece in join.push(batch):
                out += piece.column("id").to_pylist()
                assert join.stats.peak_bytes <= 768 * 1024
        for piece in join.drain():
            out += piece.column("id").to_pylist()
    assert sorted(out) == list(range(650))
