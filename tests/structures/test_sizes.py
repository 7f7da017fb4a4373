"""What Arrow data takes: nothing counted twice, nothing forgotten."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from semistream.structures.sizes import batch_bytes, is_flat, row_sizes
from tests.structures.samples import NESTED, PLAIN, TYPES, array


@pytest.mark.parametrize("name", [name for name in TYPES if name != "dictionary"])
def test_rows_are_charged_at_least_what_they_take(name: str) -> None:
    rng = np.random.default_rng(5)
    values = array(name, rng, 60)
    sizes = row_sizes(pa.RecordBatch.from_arrays([values], ["column"]))
    for some in (np.arange(60), rng.integers(0, 60, 20), np.arange(30, 34)):
        taken = values.take(pa.array(some))
        arrays = 1 + 2 * (name in NESTED)
        assert taken.nbytes <= sizes[some].sum() + 16 * arrays
        assert sizes[some].sum() <= 3 * taken.nbytes + 16 * len(some)


def test_a_row_is_charged_for_its_own_values() -> None:
    lists = pa.array([["x" * 500], [], None, ["y", "z" * 90]])
    pairs = pa.array([["a" * 40, ""], None, ["", "b" * 7]], type=pa.list_(pa.string(), 2))
    for values, lengths in ((lists, [500, 0, 0, 91]), (lists.slice(1), [0, 0, 91]), (pairs, [40, 0, 7])):
        sizes = row_sizes(pa.RecordBatch.from_arrays([values], ["column"]))
        assert np.all((sizes >= lengths) & (sizes <= np.array(lengths) + 24))


def test_a_dictionary_is_shared_among_its_rows() -> None:
    values = pa.array(["x" * 1000] * 100).dictionary_encode()
    sizes = row_sizes(pa.RecordBatch.from_arrays([values], ["column"]))
    assert np.all((sizes >= 14) & (sizes < 20))


def test_no_rows() -> None:
    for data_type in TYPES.values():
        empty = pa.RecordBatch.from_arrays([pa.array([], type=data_type)], ["column"])
        assert len(row_sizes(empty)) == 0
    assert list(row_sizes(pa.RecordBatch.from_arrays([], schema=pa.schema([])))) == []


def test_batch_bytes_count_a_shared_buffer_once_and_a_slice_whole() -> None:
    numbers = pa.array(np.arange(1000))
    one = pa.RecordBatch.from_arrays([numbers], ["a"])
    assert batch_bytes(one) == 8000
    assert batch_bytes(pa.RecordBatch.from_arrays([numbers, numbers], ["a", "b"])) == 8000
    assert batch_bytes(one.slice(10, 1)) == 8000


def test_batch_bytes_count_dictionaries() -> None:
    words = pa.array(["x" * 1000, "y"]).dictionary_encode()
    assert batch_bytes(pa.RecordBatch.from_arrays([words], ["a"])) >= 1001 + 2 * 4


def test_which_types_are_flat() -> None:
    assert [name for name, data_type in PLAIN.items() if not is_flat(data_type)] == []
    assert [name for name, data_type in NESTED.items() if is_flat(data_type)] == []


@pytest.mark.parametrize("kind", [pa.string_view(), pa.binary_view()])
def test_a_window_into_views_is_charged_for_its_own_rows(kind: pa.DataType) -> None:
    column = pa.array(["x" * 10_000] * 50 + ["short", None, "y" * 100], pa.string()).cast(kind)
    window = pa.record_batch({"v": column.slice(49)})
    assert row_sizes(window).tolist() == [10_017, 22, 17, 117]
