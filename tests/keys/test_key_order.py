"""Codes and key bytes against Python's own comparison of the same values."""

from __future__ import annotations

import pickle
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semistream.keys import KeyCodec, Keys, is_sorted, order

EPOCH = datetime(1970, 1, 1)
few = settings(max_examples=30, deadline=None)


def integers(bits: int, signed: bool) -> st.SearchStrategy[int]:
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    return st.sampled_from([low, low + 1, high - 1, high, 0, 1]) | st.integers(low, high)


def decimals(precision: int, scale: int) -> st.SearchStrategy[Decimal]:
    largest = 10**precision - 1
    unscaled = st.sampled_from([-largest, largest, 0, -1, 1]) | st.integers(-largest, largest)
    return unscaled.map(lambda value: Decimal((value < 0, tuple(map(int, str(abs(value)))), -scale)))


text = st.text("aé\0\x01\U0001f600z", max_size=20)
raw = st.binary(max_size=20) | st.lists(st.sampled_from([0, 1, 254, 255]), max_size=20).map(bytes)
moments = st.datetimes(datetime(1700, 1, 1), datetime(2250, 1, 1))
days = st.dates(date(1, 1, 1))

EXACT = [
    (pa.int8(), integers(8, True)),
    (pa.int16(), integers(16, True)),
    (pa.int32(), integers(32, True)),
    (pa.int64(), integers(64, True)),
    (pa.uint8(), integers(8, False)),
    (pa.uint16(), integers(16, False)),
    (pa.uint32(), integers(32, False)),
    (pa.uint64(), integers(64, False)),
    (pa.bool_(), st.booleans()),
    (pa.date32(), days),
    (pa.date64(), days),
    (pa.timestamp("s"), moments.map(lambda moment: moment.replace(microsecond=0))),
    (pa.timestamp("us"), moments),
    (pa.timestamp("ns", "Asia/Tokyo"), moments.map(lambda moment: moment.replace(tzinfo=UTC))),
    (pa.dictionary(pa.int8(), pa.int64()), integers(64, True)),
]
BYTES = [
    (pa.decimal32(9, 2), decimals(9, 2)),
    (pa.decimal64(18, 0), decimals(18, 0)),
    (pa.decimal128(38, 10), decimals(38, 10)),
    (pa.decimal256(76, 5), decimals(76, 5)),
    (pa.string(), text),
    (pa.large_string(), text),
    (pa.string_view(), text),
    (pa.binary(), raw),
    (pa.large_binary(), raw),
    (pa.binary_view(), raw),
    (pa.binary(3), st.binary(min_size=3, max_size=3)),
    (pa.dictionary(pa.int32(), pa.string()), text),
]


def array_of(values: list[Any], kind: pa.DataType) -> pa.Array:
    if pa.types.is_dictionary(kind):
        return pa.array(values, kind.value_type).dictionary_encode().cast(kind)
    return pa.array(values, kind)


def identities(keys: Keys) -> list[Any]:
    """What stands for each row's key: its code, or its bytes."""
    if keys.offsets is None or keys.data is None:
        return list(keys.codes.tolist())
    return [bytes(keys.data[a:b]) for a, b in zip(keys.offsets[:-1], keys.offsets[1:], strict=True)]


def comparable(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode()
    return tuple(map(comparable, value)) if isinstance(value, tuple) else value


def check_order(codec: KeyCodec, columns: list[pa.Array], values: list[Any]) -> None:
    keys = codec.encode(columns)
    assert not keys.foreign.any()
    assert keys.null.tolist() == [value is None for value in values]
    found = identities(keys)
    assert all(not found[row] and not keys.codes[row] for row in range(len(keys)) if keys.null[row])
    present = [(comparable(value), found[row]) for row, value in enumerate(values) if value is not None]
    for value, key in present:
        for other, other_key in present:
            assert (key < other_key, key == other_key) == (value < other, value == other)
    rows = [row for row, value in enumerate(values) if value is not None]
    nulls = [row for row, value in enumerate(values) if value is None]
    assert order(keys).tolist() == sorted(rows, key=lambda row: comparable(values[row])) + nulls
    assert is_sorted(keys.take(order(keys)))


@pytest.mark.parametrize(("kind", "strategy"), EXACT + BYTES, ids=lambda value: str(value)[:40])
def test_single_keys_order_as_their_values(kind: pa.DataType, strategy: st.SearchStrategy[Any]) -> None:
    codec = KeyCodec.of_master([pa.field("k", kind)])
    assert codec.exact == any(kind is known for known, _ in EXACT)

    @few
    @given(st.lists(st.none() | strategy, max_size=12))
    def check(values: list[Any]) -> None:
        check_order(codec, [array_of(values, kind)], values)

    check()


COMPOSITES = [
    (True, [(pa.int32(), integers(32, True)), (pa.date32(), days)]),
    (True, [(pa.int8(), integers(8, True)), (pa.bool_(), st.booleans()), (pa.uint16(), integers(16, False))]),
    (False, [(pa.int64(), integers(64, True)), (pa.bool_(), st.booleans())]),
    (False, [(pa.binary(), raw), (pa.int16(), integers(16, True))]),
    (False, [(pa.string(), text), (pa.string(), text)]),
    (False, [(pa.decimal128(20, 3), decimals(20, 3)), (pa.binary(), raw), (pa.timestamp("us"), moments)]),
    (False, [(pa.binary(2), st.binary(min_size=2, max_size=2)), (pa.decimal256(50, 0), decimals(50, 0))]),
]


@pytest.mark.parametrize(("exact", "parts"), COMPOSITES)
def test_composites_order_as_tuples(exact: bool, parts: list[tuple[pa.DataType, Any]]) -> None:
    codec = KeyCodec.of_master([pa.field(f"k{place}", kind) for place, (kind, _) in enumerate(parts)])
    assert codec.exact == exact

    @few
    @given(st.lists(st.tuples(*(st.none() | strategy for _, strategy in parts)), max_size=10))
    def check(rows: list[tuple[Any, ...]]) -> None:
        columns = [array_of([row[place] for row in rows], kind) for place, (kind, _) in enumerate(parts)]
        check_order(codec, columns, [None if None in row else row for row in rows])

    check()


def test_the_first_part_weighs_most_and_close_composites_differ() -> None:
    codec = KeyCodec.of_master([pa.field("a", pa.binary()), pa.field("b", pa.binary())])
    rows = [(b"", b"\0"), (b"\0", b""), (b"\0\0", b""), (b"\0", b"\0"), (b"", b"\0\0"), (b"\0\xff", b"")]
    keys = codec.encode([pa.array(column) for column in zip(*rows, strict=True)])
    assert len(set(identities(keys))) == len(rows)
    assert [rows[row] for row in order(keys)] == sorted(rows)


def test_a_single_string_is_its_own_key_bytes() -> None:
    keys = KeyCodec.of_master([pa.field("k", pa.string())]).encode([pa.array(["a\0", "", None, "é"])])
    assert identities(keys) == [b"a\0", b"", b"", "é".encode()]


def test_int64_codes_are_the_values_with_the_sign_flipped() -> None:
    keys = KeyCodec.of_master([pa.field("k", pa.int64())]).encode([pa.array([-(2**63), -1, 0, 2**63 - 1])])
    assert keys.codes.tolist() == [0, 2**63 - 1, 2**63, 2**64 - 1]


@pytest.mark.parametrize(("kind", "strategy"), EXACT + BYTES, ids=lambda value: str(value)[:40])
def test_slices_give_what_fresh_arrays_give(kind: pa.DataType, strategy: st.SearchStrategy[Any]) -> None:
    codec = KeyCodec.of_master([pa.field("k", kind)])

    @settings(max_examples=12, deadline=None)
    @given(st.lists(st.none() | strategy, min_size=1, max_size=25), st.data())
    def check(values: list[Any], data: st.DataObject) -> None:
        first = data.draw(st.integers(0, len(values)))
        count = data.draw(st.integers(0, len(values) - first))
        array = array_of(values, kind)
        sliced, fresh = (
            codec.encode([array.slice(first, count)]),
            codec.encode([array]).take(np.arange(first, first + count)),
        )
        assert identities(sliced) == identities(fresh)
        assert sliced.codes.tolist() == fresh.codes.tolist()
        assert sliced.null.tolist() == fresh.null.tolist()
        assert sliced.nbytes == fresh.nbytes
        assert sliced.offsets is None or sliced.offsets[0] == 0

    check()


def test_null_slots_that_hide_bytes_are_empty() -> None:
    offsets = pa.array([0, 2, 5, 6], pa.int32()).buffers()[1]
    hidden = pa.StringArray.from_buffers(3, offsets, pa.py_buffer(b"aabbbc"), pa.py_buffer(b"\x05"))
    keys = KeyCodec.of_master([pa.field("k", pa.string())]).encode([hidden])
    assert identities(keys) == [b"aa", b"", b"c"]
    pair = KeyCodec.of_master([pa.field("k", pa.string()), pa.field("n", pa.int64())])
    assert [len(key) for key in identities(pair.encode([hidden, pa.array([1, 2, 3])]))] == [12, 0, 11]


def test_nulls_within_a_dictionary_are_nulls() -> None:
    array = pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 0]), pa.array(["a", None], pa.string_view()))
    keys = KeyCodec.of_master([pa.field("k", array.type)]).encode([array])
    assert keys.null.tolist() == [False, True, True, False]
    assert identities(keys) == [b"a", b"", b"", b"a"]


def test_dates_before_the_epoch_keep_their_order() -> None:
    moments = [EPOCH - timedelta(days=1), EPOCH, EPOCH + timedelta(microseconds=1)]
    keys = KeyCodec.of_master([pa.field("k", pa.timestamp("us"))]).encode([pa.array(moments)])
    assert np.all(keys.codes[:-1] < keys.codes[1:])


def test_codecs_pickle_and_compare() -> None:
    fields = [pa.field("a", pa.decimal256(50, 2)), pa.field("b", pa.timestamp("us", "UTC"))]
    codec = KeyCodec.of_master(fields)
    stream = codec.accepts([pa.field("x", pa.decimal32(5, 1)), pa.field("y", pa.timestamp("ns", "UTC"))])
    assert pickle.loads(pickle.dumps(codec)) == codec
    assert pickle.loads(pickle.dumps(stream)) == stream
    assert codec.fields == tuple(fields)
    assert codec != KeyCodec.of_master(fields[:1])
    assert codec.accepts(fields) != stream
