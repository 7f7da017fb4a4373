"""Sides give their rows again and again, no batch larger than asked for, and no more than asked for."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest

from semistream.errors import ArgumentError
from semistream.workloads.base import Side, sized

SCHEMA = pa.schema({"n": pa.int64()})


def numbers(first: int, count: int) -> pa.RecordBatch:
    return pa.record_batch([pa.array(range(first, first + count), pa.int64())], schema=SCHEMA)


@pytest.mark.parametrize("rows", [0, 1, 9, 10, 11, 25])
def test_rows_by_number_come_in_batches(rows: int) -> None:
    side = sized(SCHEMA, rows, numbers)
    for _ in range(2):
        batches = list(side.batches(10))
        assert [batch.num_rows for batch in batches] == [10] * (rows // 10) + [rows % 10] * (rows % 10 > 0)
        assert side.table()["n"].to_pylist() == list(range(rows))


@pytest.mark.parametrize(
    ("rows", "made", "given"), [(0, 0, 0), (1, 1, 1), (10, 1, 10), (11, 2, 11), (99, 3, 25)]
)
def test_the_first_rows_cost_no_more_than_themselves(rows: int, made: int, given: int) -> None:
    seen: list[str] = []

    def counted(batch_rows: int) -> Iterator[pa.RecordBatch]:
        try:
            for batch in sized(SCHEMA, 25, numbers).batches(batch_rows):
                seen.append("batch")
                yield batch
        finally:
            seen.append("closed")

    found = [batch["n"].to_pylist() for batch in Side(SCHEMA, counted).first(rows).batches(10)]
    assert [number for numbers in found for number in numbers] == list(range(given))
    assert seen == ["batch"] * made + ["closed"] * (made > 0)


def test_no_limit_is_the_side_itself() -> None:
    side = sized(SCHEMA, 3, numbers)
    assert side.first(None) is side


def test_what_makes_no_rows_is_refused() -> None:
    side = sized(SCHEMA, 3, numbers)
    with pytest.raises(ArgumentError, match="batch_rows=0"):
        side.batches(0)
    with pytest.raises(ArgumentError, match="-1 rows"):
        side.first(-1)
    with pytest.raises(ArgumentError, match="-1 rows"):
        sized(SCHEMA, -1, numbers)
