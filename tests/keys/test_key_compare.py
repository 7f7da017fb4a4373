"""Sorting, repeats, fences, copies and hashing of encoded keys."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from semistream import keys as package
from semistream.errors import ArgumentError
from semistream.keys import KeyCodec, Keys, decimals, is_sorted, kernels, order, same_as_previous, search

PINNED = [
    "6d728200319b7266",
    "b162607a0f5dd26c",
    "0266d9562661a43e",
    "24715419c7c2a4e6",
    "3df9d68279288b64",
    "de30c7b2ee236951",
]
KINDS = {"exact": pa.int32(), "bytes": pa.binary()}
VALUES = {
    "exact": st.sampled_from([-(2**31), -1, 0, 1, 2**31 - 1]) | st.integers(-4, 4),
    "bytes": st.lists(st.sampled_from([0, 1, 255]), max_size=3).map(bytes)
    | st.binary(max_size=3).map(lambda end: b"a shared beginning" + end),
}
each_codec = pytest.mark.parametrize("name", KINDS)
few = settings(max_examples=60, deadline=None)


def codec_of(name: str) -> KeyCodec:
    return KeyCodec.of_master([pa.field("k", KINDS[name])])


def encode(name: str, values: list[Any]) -> Keys:
    return codec_of(name).encode([pa.array(values, KINDS[name])])


def same_hash_for_all(offsets: NDArray[np.int64], data: NDArray[np.uint8]) -> NDArray[np.uint64]:
    return np.full(len(offsets) - 1, 7, np.uint64)


@pytest.fixture(params=["hashed", "colliding"], autouse=True)
def hashing(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Every test here also holds when all keys have one hash: nothing is decided by it."""
    if request.param == "colliding":
        monkeypatch.setattr(package, "hash_bytes", same_hash_for_all)
    return str(request.param)


@each_codec
def test_order_is_the_stable_sort_with_nulls_last(name: str) -> None:
    @few
    @given(st.lists(st.none() | VALUES[name], max_size=30))
    def check(values: list[Any]) -> None:
        present = [row for row, value in enumerate(values) if value is not None]
        nulls = [row for row, value in enumerate(values) if value is None]
        expected = sorted(present, key=lambda row: values[row]) + nulls
        keys = encode(name, values)
        found = order(keys)
        assert found.dtype == np.int64
        assert found.tolist() == expected
        assert is_sorted(keys) == (expected_keys(values) == values)
        assert is_sorted(keys.take(found))

    def expected_keys(values: list[Any]) -> list[Any]:
        return sorted(value for value in values if value is not None) + [None] * values.count(None)

    check()


@each_codec
def test_same_as_previous_is_exact(name: str) -> None:
    @few
    @given(st.lists(st.none() | VALUES[name], max_size=30))
    def check(values: list[Any]) -> None:
        expected = [
            row > 0 and values[row] is not None and values[row] == values[row - 1]
            for row in range(len(values))
        ]
        assert same_as_previous(encode(name, values)).tolist() == expected

    check()


@each_codec
def test_search_is_bisect_on_both_sides(name: str) -> None:
    @few
    @given(st.lists(st.none() | VALUES[name], max_size=40), st.lists(st.none() | VALUES[name], max_size=10))
    def check(fences: list[Any], wanted: list[Any]) -> None:
        ascending = sorted(fence for fence in fences if fence is not None)
        nulls = [None] * fences.count(None)
        left, right = search(encode(name, ascending + nulls), encode(name, wanted))
        assert left.tolist() == [0 if v is None else bisect_left(ascending, v) for v in wanted]
        assert right.tolist() == [0 if v is None else bisect_right(ascending, v) for v in wanted]

    check()


@each_codec
def test_search_finds_the_ends_of_long_runs(name: str) -> None:
    low, middle, high = (-5, 0, 5) if name == "exact" else (b"a", b"b", b"c")
    for repeats in (1, 2, 3, 7, 8, 9, 100):
        for above in (0, 1, 50):
            fences = encode(name, [low] * 3 + [middle] * repeats + [high] * above)
            left, right = search(fences, encode(name, [middle, high, low]))
            assert left.tolist() == [3, 3 + repeats, 0]
            assert right.tolist() == [3 + repeats, 3 + repeats + above, 3]


def test_foreign_rows_sort_last_and_equal_nothing() -> None:
    codec = codec_of("exact")
    keys = codec.accepts([pa.field("s", pa.int64())]).encode([pa.array([2**40, 2**40, None, -3, -3])])
    assert order(keys).tolist() == [3, 4, 0, 1, 2]
    assert same_as_previous(keys).tolist() == [False, False, False, False, True]
    assert not is_sorted(keys)
    left, right = search(encode("exact", [-4, -3]), keys)
    assert (left.tolist(), right.tolist()) == ([0, 0, 0, 1, 1], [0, 0, 0, 2, 2])


def test_fences_and_keys_of_different_codecs_are_refused() -> None:
    with pytest.raises(ArgumentError, match="different codecs"):
        search(encode("exact", [1]), encode("bytes", [b"a"]))


def test_the_hash_is_looked_up_in_each_call(hashing: str) -> None:
    keys = encode("bytes", [b"a", b"b", None])
    assert (keys.codes[0] == keys.codes[1]) == (hashing == "colliding")
    assert keys.codes[2] == 0


@each_codec
def test_take_copies_rows_in_the_order_asked(name: str) -> None:
    @few
    @given(st.lists(st.none() | VALUES[name], min_size=1, max_size=12), st.data())
    def check(values: list[Any], data: st.DataObject) -> None:
        rows = data.draw(st.lists(st.integers(0, len(values) - 1), max_size=15))
        taken = encode(name, values).take(np.array(rows, np.int64))
        fresh = encode(name, [values[row] for row in rows])
        for part in ("codes", "offsets", "data", "null", "foreign"):
            assert np.array_equal(getattr(taken, part), getattr(fresh, part))

    check()


@pytest.mark.parametrize(
    "array",
    [
        pa.array([1, None, 3], pa.int16()),
        pa.array([1, 2, 3], pa.uint64()),
        pa.array([True, None]),
        pa.array(["a", None, "ccc"]),
        pa.array(["a", "b", "ccc"]).slice(1),
        pa.array([1, None], pa.decimal128(20, 0)),
        pa.array([], pa.string()),
        pa.array([], pa.int64()),
        pa.array([], pa.bool_()),
        pa.array([], pa.decimal32(3, 1)),
        pa.array([], pa.dictionary(pa.int8(), pa.string())),
        pa.nulls(3),
    ],
    ids=lambda array: f"{array.type}-{len(array)}",
)
def test_arrays_are_owned_writable_and_counted(array: pa.Array) -> None:
    master = pa.string() if pa.types.is_null(array.type) else array.type
    codec = KeyCodec.of_master([pa.field("k", master)]).accepts([pa.field("k", array.type)])
    encoded = codec.encode([array])
    for keys in (encoded, encoded.take(np.arange(len(array)))):
        assert len(keys) == len(array)
        parts = [keys.codes, keys.offsets, keys.data, keys.null, keys.foreign]
        present = [part for part in parts if part is not None]
        assert len(present) == (3 if codec.exact else 5)
        assert all(part.flags.owndata and part.flags.carray for part in present)
        assert keys.nbytes == sum(part.nbytes for part in present)


def test_kernels_compile_once_whatever_arrow_lends() -> None:
    sink = pa.BufferOutputStream()
    table = pa.table({"s": ["a", None, "a\0"], "d": pa.array([1, None, 2], pa.decimal128(9, 1))})
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    batch = pa.ipc.open_stream(sink.getvalue()).read_next_batch()
    decimal = pa.field("d", pa.decimal256(40, 3))
    for fields, columns in (
        ([batch.schema.field("s")], [batch.column(0)]),
        ([batch.schema.field("s"), decimal], [batch.column(0), batch.column(1)]),
    ):
        codec = KeyCodec.of_master(fields)
        stream = codec.accepts([batch.schema.field(place) for place in range(len(fields))])
        for keys in (stream.encode(columns), stream.encode([column.slice(1) for column in columns])):
            same_as_previous(keys.take(order(keys)))
            search(keys.take(np.array([], np.int64)), keys)
    compiled = {
        function: getattr(module, function).signatures
        for module in (kernels, decimals)
        for function in (
            "copy_rows",
            "escaped_lengths",
            "write_escaped",
            "write_words",
            "compare_with_previous",
            "search_rows",
            "_rescale",
        )
        if hasattr(module, function)
    }
    assert {function: len(signatures) for function, signatures in compiled.items()} == dict.fromkeys(
        compiled, 1
    )


def rows_of(keys: list[bytes]) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    offsets = np.zeros(len(keys) + 1, np.int64)
    np.cumsum([len(key) for key in keys], out=offsets[1:])
    return offsets, np.array(list(b"".join(keys)), np.uint8)


def test_the_hash_is_pinned_so_that_files_and_processes_agree() -> None:
    codes = kernels.hash_bytes(*rows_of([b"", b"a", b"12345678", b"123456789", b"\0" * 8, b"\0" * 9]))
    assert [f"{code:016x}" for code in codes.tolist()] == PINNED


def test_the_hash_spreads_keys_that_look_alike() -> None:
    numbers = np.arange(200_000)
    families = {
        "text": [b"customer-%012d" % number for number in numbers],
        "words": [int(number).to_bytes(16, "big") for number in numbers << 20],
        "zeros": [b"\0" * int(length) for length in range(2_000)],
        "sign bits": [bytes([a, 0, 0, 0, b, 0, 0, 0] * 2) for a in range(0, 256, 4) for b in range(256)],
    }
    for name, keys in families.items():
        codes = kernels.hash_bytes(*rows_of(keys))
        assert len(np.unique(codes)) == len(set(keys)), name
        for shift in (0, 32, 56):
            counts = np.bincount(
                (codes >> np.uint64(shift) & np.uint64(0xFF)).astype(np.int64), minlength=256
            )
            expected = len(keys) / 256
            assert np.sum((counts - expected) ** 2 / expected) < 400, (name, shift)
