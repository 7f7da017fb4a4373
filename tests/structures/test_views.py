"""Taking rows out of arrays that pyarrow can't take from."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from semistream.structures.views import taken, taken_array

LONG = "a text too long for a view to hold"
ARRAYS: list[tuple[list[Any], pa.DataType]] = [
    (["a", None, LONG, ""], pa.string_view()),
    ([b"a", None, LONG.encode(), b""], pa.binary_view()),
    ([[LONG, None], None, [], ["b"]], pa.list_(pa.string_view())),
    ([[LONG], None, [], [None]], pa.large_list(pa.string_view())),
    ([[LONG], None, ["b"], [None]], pa.list_(pa.string_view(), 1)),
    ([{"a": LONG}, None, {"a": None}, {"a": "b"}], pa.struct([("a", pa.string_view())])),
    ([[(LONG, b"b")], None, [], [("c", None)]], pa.map_(pa.string_view(), pa.binary_view())),
    ([1, None, 3, 4], pa.int64()),
]


@pytest.mark.parametrize(("values", "kind"), ARRAYS)
def test_rows_come_in_the_order_asked_for(values: list[Any], kind: pa.DataType) -> None:
    array = pa.array([*values[:1], *values], kind).slice(1)
    out = taken_array(array, np.array([3, 0, 2, 1, 0]))
    assert out.type == kind
    assert out.to_pylist() == [array.to_pylist()[row] for row in (3, 0, 2, 1, 0)]
    batch = taken(pa.record_batch({"v": array}), np.array([1]))
    assert batch.to_pylist() == [{"v": None}]


def test_a_dictionary_of_views_keeps_its_dictionary() -> None:
    array = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0]), pa.array([LONG, "b"], pa.string_view()))
    out = taken_array(array, np.array([1, 2]))
    assert out.type == array.type
    assert out.to_pylist() == ["b", LONG]


def test_what_is_taken_holds_no_other_rows_bytes() -> None:
    array = pa.array(["x" * 100_000, LONG], pa.string_view())
    assert taken_array(array, np.array([1])).get_total_buffer_size() < 1000
