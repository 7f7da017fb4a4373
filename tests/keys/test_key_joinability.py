"""Keys of other types than the master's: equal exactly when the values are, foreign when none can be."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Context, Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semistream.keys import KeyCodec, Keys

SIGNED = [pa.int8(), pa.int16(), pa.int32(), pa.int64()]
UNSIGNED = [pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]
UNITS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
DAY = 86_400_000
WIDE = Context(prec=200)


def bounds(kind: pa.DataType) -> tuple[int, int]:
    bits = kind.bit_width
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if kind in SIGNED else (0, (1 << bits) - 1)


EDGES = sorted({edge + near for kind in SIGNED + UNSIGNED for edge in bounds(kind) for near in (-1, 0, 1)})


def identities(keys: Keys) -> list[Any]:
    if keys.offsets is None or keys.data is None:
        return list(keys.codes.tolist())
    return [bytes(keys.data[a:b]) for a, b in zip(keys.offsets[:-1], keys.offsets[1:], strict=True)]


def codecs(master: pa.DataType, stream: pa.DataType) -> tuple[Any, Any]:
    codec = KeyCodec.of_master([pa.field("m", master)])
    return codec, codec.accepts([pa.field("s", stream)])


def check(master: pa.Array, stream: pa.Array, values: list[Any], others: list[Any], fits: Any) -> None:
    """`values` are what the master's rows mean, `others` what the stream's do, in one Python type."""
    codec, accepted = codecs(master.type, stream.type)
    left, right = codec.encode([master]), accepted.encode([stream])
    assert codec.exact == accepted.exact
    assert right.null.tolist() == [other is None for other in others]
    assert right.foreign.tolist() == [other is not None and not fits(other) for other in others]
    assert not left.foreign.any()
    keys, other_keys = identities(left), identities(right)
    for row, value in enumerate(values):
        for at, other in enumerate(others):
            absent = left.null[row] or right.null[at] or right.foreign[at]
            equal = bool(not absent and keys[row] == other_keys[at])
            assert equal == (value is not None and value == other)
            assert not equal or left.codes[row] == right.codes[at]
    gone = right.null | right.foreign
    assert not right.codes[gone].any()
    assert right.offsets is None or not np.diff(right.offsets)[gone].any()


@pytest.mark.parametrize("master", SIGNED + UNSIGNED, ids=str)
@pytest.mark.parametrize("stream", SIGNED + UNSIGNED, ids=str)
def test_integers_of_all_widths(master: pa.DataType, stream: pa.DataType) -> None:
    (low, high), (other_low, other_high) = bounds(master), bounds(stream)
    values = [edge for edge in EDGES if low <= edge <= high] + [None]
    others = [edge for edge in EDGES if other_low <= edge <= other_high] + [None]
    check(pa.array(values, master), pa.array(others, stream), values, others, lambda v: low <= v <= high)


def test_uint64_never_equals_a_negative_int64() -> None:
    codec, stream = codecs(pa.int64(), pa.uint64())
    assert stream.encode([pa.array([2**64 - 1, 1], pa.uint64())]).foreign.tolist() == [True, False]
    codec, stream = codecs(pa.uint64(), pa.int64())
    keys = stream.encode([pa.array([-1, 1], pa.int64())])
    assert keys.foreign.tolist() == [True, False]
    assert keys.codes[1] == codec.encode([pa.array([1], pa.uint64())]).codes[0]


@pytest.mark.parametrize("zone", [None, "Europe/Rome"], ids=str)
@pytest.mark.parametrize("master", UNITS)
@pytest.mark.parametrize("stream", UNITS)
def test_timestamp_units_compare_exactly(master: str, stream: str, zone: str | None) -> None:
    factor, other_factor = UNITS[master], UNITS[stream]
    other_zone = zone and "UTC"
    near = st.integers(-3, 3).flatmap(lambda n: st.sampled_from([n, n * 1000, n * 10**6, n * 10**9]))
    counts = st.lists(near | st.integers(-(2**63), 2**63 - 1) | st.none(), max_size=8)

    @settings(max_examples=15, deadline=None)
    @given(counts, counts)
    def compare(values: list[int | None], others: list[int | None]) -> None:
        check(
            pa.array(values, pa.int64()).cast(pa.timestamp(master, zone)),
            pa.array(others, pa.int64()).cast(pa.timestamp(stream, other_zone)),
            [None if value is None else value * factor for value in values],
            [None if other is None else other * other_factor for other in others],
            lambda v: v % factor == 0 and -(2**63) <= v // factor < 2**63,
        )

    compare()


def test_the_coarsest_instants_at_the_finest_unit() -> None:
    most = (2**63 - 1) // 10**9
    stream = codecs(pa.timestamp("ns"), pa.timestamp("s"))[1]
    edges = pa.array([most, most + 1, -most, -most - 1, 2**63 - 1, -(2**63)], pa.int64())
    found = stream.encode([edges.cast(pa.timestamp("s"))])
    assert found.foreign.tolist() == [False, True, False, True, True, True]


def test_zones_are_only_ways_to_write_an_instant() -> None:
    codec, stream = codecs(pa.timestamp("us", "America/New_York"), pa.timestamp("ms", "Asia/Kolkata"))
    moment = datetime(2024, 7, 1, 12, tzinfo=UTC)
    master_keys = codec.encode([pa.array([moment], pa.timestamp("us", "America/New_York"))])
    stream_keys = stream.encode([pa.array([moment], pa.timestamp("ms", "Asia/Kolkata"))])
    assert master_keys.codes.tolist() == stream_keys.codes.tolist()


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.none() | st.integers(-3, 3) | st.integers(-(2**31), 2**31 - 1), max_size=8),
    st.lists(
        st.none() | st.integers(-3, 3).map(lambda n: n * DAY) | st.integers(-(2**63), 2**63 - 1), max_size=8
    ),
)
def test_dates_of_both_widths(days: list[int | None], milliseconds: list[int | None]) -> None:
    short = pa.array(days, pa.int32()).cast(pa.date32())
    buffer = pa.array(milliseconds, pa.int64())
    long = pa.Array.from_buffers(pa.date64(), len(buffer), buffer.buffers())
    values = [None if day is None else day * DAY for day in days]
    check(short, long, values, milliseconds, lambda v: v % DAY == 0 and -(2**31) <= v // DAY < 2**31)
    check(long, short, milliseconds, values, lambda v: True)


DECIMALS = [
    pa.decimal32(3, 0),
    pa.decimal32(9, 4),
    pa.decimal64(18, 2),
    pa.decimal128(5, 1),
    pa.decimal128(6, -2),
    pa.decimal128(38, 0),
    pa.decimal128(38, 37),
    pa.decimal256(20, 1),
    pa.decimal256(76, 38),
]


def exact_decimal(unscaled: int, scale: int) -> Decimal:
    return Decimal((unscaled < 0, tuple(map(int, str(abs(unscaled)))), -scale))


def unscaled_values(kind: pa.DataType) -> st.SearchStrategy[int]:
    largest = 10**kind.precision - 1
    powers = st.sampled_from([s * 10**p for p in range(kind.precision) for s in (-1, 1)])
    edges = st.sampled_from([0, largest, -largest])
    multiples = st.integers(-9, 9).flatmap(lambda n: powers.map(lambda power: n * power))
    return (edges | powers | multiples | st.integers(-largest, largest)).filter(lambda n: abs(n) <= largest)


@pytest.mark.parametrize("master", DECIMALS, ids=str)
@pytest.mark.parametrize("stream", DECIMALS, ids=str)
def test_decimals_compare_exactly(master: pa.DataType, stream: pa.DataType) -> None:
    def fits(value: Decimal) -> bool:
        _, digits, exponent = value.as_tuple()
        assert isinstance(exponent, int)
        shift = exponent + master.scale
        unscaled = int("".join(map(str, digits)))
        if shift < 0 and unscaled % 10**-shift:
            return False
        at_scale = unscaled * 10**shift if shift >= 0 else unscaled // 10**-shift
        return bool(at_scale < 10**master.precision)

    @settings(max_examples=8, deadline=None)
    @given(
        st.lists(unscaled_values(master) | st.none(), max_size=6),
        st.lists(unscaled_values(stream) | st.none(), max_size=6),
    )
    def compare(left: list[int | None], right: list[int | None]) -> None:
        values = [None if value is None else exact_decimal(value, master.scale) for value in left]
        others = [None if value is None else exact_decimal(value, stream.scale) for value in right]
        both = values + [other for other in others if other is not None and fits(other)]
        check(decimal_array(both, master), decimal_array(others, stream), both, others, fits)

    compare()


def decimal_array(values: list[Decimal | None], kind: pa.DataType) -> pa.Array:
    """As `pa.array`, which refuses some values of negative scale: built from unscaled integers."""
    width = kind.byte_width
    unscaled = [0 if value is None else int(value.scaleb(kind.scale, WIDE)) for value in values]
    data = b"".join(number.to_bytes(width, "little", signed=True) for number in unscaled)
    present = np.array([value is not None for value in values], np.bool_)
    valid = np.packbits(present, bitorder="little").tobytes()
    return pa.Array.from_buffers(kind, len(values), [pa.py_buffer(valid), pa.py_buffer(data)])


def test_a_number_beyond_its_precision_equals_nothing_narrower() -> None:
    oversized = pa.Array.from_buffers(
        pa.decimal256(10, 0), 1, [None, pa.py_buffer((2**128 + 5).to_bytes(32, "little"))]
    )
    stream = codecs(pa.decimal128(10, 0), pa.decimal256(10, 0))[1]
    assert stream.encode([oversized]).foreign.tolist() == [True]


STRINGS = [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string_view())]
BINARIES = [pa.binary(), pa.large_binary(), pa.binary_view(), pa.dictionary(pa.int16(), pa.binary())]


def array_of(values: list[Any], kind: pa.DataType) -> pa.Array:
    if not pa.types.is_dictionary(kind):
        return pa.array(values, kind)
    known = sorted({value for value in values if value is not None})
    indices = [None if value is None else known.index(value) for value in values]
    return pa.DictionaryArray.from_arrays(
        pa.array(indices, kind.index_type), pa.array(known, kind.value_type)
    )


@pytest.mark.parametrize("master", STRINGS, ids=str)
@pytest.mark.parametrize("stream", STRINGS, ids=str)
def test_strings_of_all_kinds(master: pa.DataType, stream: pa.DataType) -> None:
    values = ["", "a", "a\0", "a long string that no view holds inline", "é", None]
    others = ["a", None, "A", "a long string that no view holds inline", "", "é"]
    check(array_of(values, master), array_of(others, stream), values, others, lambda v: True)


@pytest.mark.parametrize("master", BINARIES, ids=str)
@pytest.mark.parametrize("stream", BINARIES, ids=str)
def test_binaries_of_all_kinds(master: pa.DataType, stream: pa.DataType) -> None:
    values, others = [b"", b"\0", b"ab", None], [b"ab", b"\0\0", None, b"", b"\xff" * 20]
    check(array_of(values, master), array_of(others, stream), values, others, lambda v: True)


def test_fixed_size_binaries_join_binaries_and_other_lengths_are_foreign() -> None:
    short, long = [b"ab", None, b"\0\0"], [b"abc", b"ab\0"]
    any_length = [b"ab", b"a", None, b"abc"]
    check(pa.array(short, pa.binary(2)), pa.array(any_length), short, any_length, lambda v: len(v) == 2)
    check(pa.array(any_length), pa.array(short, pa.binary(2)), any_length, short, lambda v: True)
    check(pa.array(short, pa.binary(2)), pa.array(long, pa.binary(3)), short, long, lambda v: False)


def test_bool_with_bool() -> None:
    values, others = [True, False, None], [False, None, True]
    check(pa.array(values), pa.array(others), values, others, lambda v: True)


@pytest.mark.parametrize("master", [pa.int64(), pa.string(), pa.decimal128(5, 2)], ids=str)
def test_a_column_of_type_null_is_all_null(master: pa.DataType) -> None:
    stream = codecs(master, pa.null())[1]
    keys = stream.encode([pa.nulls(3)])
    assert keys.null.all()
    assert not keys.foreign.any()
    assert not keys.codes.any()
    assert keys.offsets is None or keys.offsets.tolist() == [0, 0, 0, 0]


def test_null_wins_over_foreign_in_a_composite() -> None:
    codec = KeyCodec.of_master([pa.field("a", pa.int8()), pa.field("b", pa.string())])
    stream = codec.accepts([pa.field("x", pa.int64()), pa.field("y", pa.large_string())])
    keys = stream.encode([pa.array([1000, 1000, 1]), pa.array([None, "b", "b"], pa.large_string())])
    assert keys.null.tolist() == [True, False, False]
    assert keys.foreign.tolist() == [False, True, False]
    assert identities(keys) == [b"", b"", b"\x81b\0\0"]


def test_composites_join_part_by_part() -> None:
    codec = KeyCodec.of_master([pa.field("a", pa.int32()), pa.field("b", pa.date32())])
    stream = codec.accepts([pa.field("x", pa.uint64()), pa.field("y", pa.date64())])
    days = pa.array([DAY, DAY, DAY + 1], pa.int64()).buffers()
    keys = stream.encode([pa.array([7, 2**40, 7], pa.uint64()), pa.Array.from_buffers(pa.date64(), 3, days)])
    assert keys.foreign.tolist() == [False, True, True]
    master = codec.encode([pa.array([7], pa.int32()), pa.array([1], pa.int32()).cast(pa.date32())])
    assert keys.codes.tolist() == [master.codes[0], 0, 0]
