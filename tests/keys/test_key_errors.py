"""What can't be a key, or can't be joined, says so: both columns, both types, what to do."""

from __future__ import annotations

import pyarrow as pa
import pytest

from semistream.errors import ArgumentError, KeyTypeError, SchemaError
from semistream.keys import KeyCodec

UNSUPPORTED = [
    (pa.float16(), "cast it to an integer or a decimal"),
    (pa.float64(), "cast it to an integer or a decimal"),
    (pa.time32("s"), "cast it to an integer"),
    (pa.time64("us"), "cast it to an integer"),
    (pa.duration("ms"), "cast it to an integer"),
    (pa.list_(pa.int64()), "columns of their own"),
    (pa.struct([("a", pa.int64())]), "columns of their own"),
    (pa.map_(pa.string(), pa.int64()), "columns of their own"),
    (pa.month_day_nano_interval(), "cast it to one of these"),
    (pa.uuid(), "cast it to its storage type"),
    (pa.dictionary(pa.int8(), pa.float32()), "cast it to an integer or a decimal"),
]


@pytest.mark.parametrize(("kind", "hint"), UNSUPPORTED, ids=lambda value: str(value)[:30])
def test_unsupported_types_name_column_type_kinds_and_a_way_out(kind: pa.DataType, hint: str) -> None:
    with pytest.raises(KeyTypeError) as caught:
        KeyCodec.of_master([pa.field("id", pa.int64()), pa.field("odd", kind)])
    message = str(caught.value)
    for part in ("master key column 'odd'", str(kind), "integers, bool, date, timestamp, decimal", hint):
        assert part in message
    with pytest.raises(KeyTypeError, match="stream key column 'odd'"):
        KeyCodec.of_master([pa.field("id", pa.int64())]).accepts([pa.field("odd", kind)])


def test_a_master_key_of_type_null_is_refused() -> None:
    with pytest.raises(KeyTypeError, match=r"'k' has type null.*cast it to the type"):
        KeyCodec.of_master([pa.field("k", pa.null())])


FAMILIES = [
    pa.int32(),
    pa.bool_(),
    pa.date32(),
    pa.timestamp("us"),
    pa.timestamp("us", "UTC"),
    pa.decimal128(10, 0),
    pa.string(),
    pa.binary(),
]


@pytest.mark.parametrize("master", FAMILIES, ids=str)
@pytest.mark.parametrize("stream", FAMILIES, ids=str)
def test_families_join_only_with_themselves(master: pa.DataType, stream: pa.DataType) -> None:
    codec = KeyCodec.of_master([pa.field("theirs", master)])
    if master == stream:
        assert codec.accepts([pa.field("ours", stream)]).exact == codec.exact
        return
    with pytest.raises(KeyTypeError) as caught:
        codec.accepts([pa.field("ours", stream)])
    message = str(caught.value)
    for part in (
        f"stream key column 'ours' has type {stream}",
        f"master key column 'theirs' has type {master}",
        "losing information",
        "cast",
    ):
        assert part in message


def test_timestamps_with_and_without_zone_speak_of_the_zone() -> None:
    codec = KeyCodec.of_master([pa.field("k", pa.timestamp("us"))])
    with pytest.raises(KeyTypeError, match=r"timestamp with zone.*timestamp without zone.*in which zone"):
        codec.accepts([pa.field("k", pa.timestamp("us", "UTC"))])


def test_the_number_of_columns_must_agree() -> None:
    codec = KeyCodec.of_master([pa.field("a", pa.int64()), pa.field("b", pa.int64())])
    expected = r"master's key has 2 columns \('a', 'b'\), but the stream's has 1 column \('x'\); name one"
    with pytest.raises(ArgumentError, match=expected):
        codec.accepts([pa.field("x", pa.int64())])
    with pytest.raises(ArgumentError, match="at least one key column"):
        KeyCodec.of_master([])
    with pytest.raises(SchemaError, match="1 key columns were given; expected 2 columns"):
        codec.encode([pa.array([1])])


def test_columns_must_come_as_declared() -> None:
    codec = KeyCodec.of_master([pa.field("a", pa.int64()), pa.field("b", pa.string())])
    with pytest.raises(SchemaError, match="'b' came as int64; expected string"):
        codec.encode([pa.array([1]), pa.array([1])])
    with pytest.raises(SchemaError, match="'b' has 1 rows, but 'a' has 2"):
        codec.encode([pa.array([1, 2]), pa.array(["x"])])


def test_dictionary_encoding_may_differ_from_the_declaration() -> None:
    codec = KeyCodec.of_master([pa.field("b", pa.string())])
    plain, encoded = pa.array(["x", "y"]), pa.array(["x", "y"]).dictionary_encode()
    assert codec.encode([plain]).codes.tolist() == codec.encode([encoded]).codes.tolist()
