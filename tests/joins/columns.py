"""Random columns: keys of every pair of types that can meet, and payload of every type Spark carries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa

Value = Callable[[int], Any]
DICTIONARY = pa.dictionary(pa.int32(), pa.string())


@dataclass(frozen=True)
class KeyKind:
    """A master's key column and a stream's that meet, with values by number.

    Equal numbers are equal keys on both sides. `foreign` are stream values that no master key of
    this type can equal, though a careless cast might make them so.
    """

    master: pa.DataType
    stream: pa.DataType
    value: Value
    foreign: tuple[Any, ...] = ()
    stream_value: Value | None = None
    distinct: int = 1 << 30  # how many numbers give different values

    def of_stream(self, number: int) -> Any:
        return (self.stream_value or self.value)(number)


def _around(width: int) -> Value:
    """Small numbers of both signs, wrapped into `width` bits."""
    return lambda n: (n + 1) // 2 * (1 if n % 2 else -1) % (1 << width) - (1 << width - 1)


def _text(n: int) -> str:
    """Empty, short, beyond ASCII, with NULs that only differ in number, and long with one prefix."""
    kind, rest = n % 6, n // 6
    if n == 0:
        return ""
    return (
        str(rest) + " ",
        "\0" * (rest % 5) + str(rest // 5) + "\0",
        str(rest),
        "ü€🙂" + str(rest),
        "a rather long prefix that all these keys share: " + str(rest),
        str(rest) + "\0",
    )[kind]


def _bytes(n: int) -> bytes:
    return b"\xff" * (n % 3) + b"\0" * (n % 2) + _text(n).encode()


def _four(n: int) -> bytes:
    return (n * 2654435761 % 2**32).to_bytes(4, "big")


def _same(n: int) -> int:
    return n


KEYS: dict[str, KeyKind] = {
    "int64": KeyKind(pa.int64(), pa.int64(), _around(64)),
    "int64 with int8": KeyKind(pa.int64(), pa.int8(), _around(8), distinct=256),
    "int8 with int64": KeyKind(
        pa.int8(), pa.int64(), _around(8), (128, -129, 256, 2**40, -(2**63)), distinct=256
    ),
    "int16 with uint16": KeyKind(
        pa.int16(), pa.uint16(), lambda n: n % 2**15, (2**15, 2**16 - 1), distinct=2**15
    ),
    "int32 with uint64": KeyKind(pa.int32(), pa.uint64(), lambda n: n % 2**31, (2**64 - 1, 2**31, 2**32)),
    "uint64": KeyKind(pa.uint64(), pa.uint64(), lambda n: 2**64 - 1 - n if n % 2 else n),
    "uint64 with int64": KeyKind(pa.uint64(), pa.int64(), _same, (-1, -(2**63))),
    "int64 with uint64": KeyKind(pa.int64(), pa.uint64(), _same, (2**64 - 1, 2**63)),
    "uint8 with int32": KeyKind(
        pa.uint8(), pa.int32(), lambda n: n % 256, (-1, 256, 2**31 - 1), distinct=256
    ),
    "int32 dictionary": KeyKind(
        pa.int32(), pa.dictionary(pa.int8(), pa.int64()), lambda n: n % 100, (2**40,)
    ),
    "bool": KeyKind(pa.bool_(), pa.bool_(), lambda n: n % 2 == 0, distinct=2),
    "date32": KeyKind(pa.date32(), pa.date32(), lambda n: n - 500),
    "date32 with date64": KeyKind(
        pa.date32(), pa.date64(), _same, (1, 86_400_001, 2**40 * 86_400_0), lambda n: n * 86_400_000
    ),
    "date64 with date32": KeyKind(pa.date64(), pa.date32(), lambda n: n * 86_400_000, (), _same),
    "timestamp s with ns": KeyKind(
        pa.timestamp("s"), pa.timestamp("ns"), _same, (1, 10**9 + 1, -1), lambda n: n * 10**9
    ),
    "timestamp ns with s": KeyKind(
        pa.timestamp("ns"), pa.timestamp("s"), lambda n: n * 10**9, (2**62, -(2**60)), _same
    ),
    "timestamp us with ms": KeyKind(
        pa.timestamp("us", "UTC"), pa.timestamp("ms", "Europe/Berlin"), lambda n: n * 1000, (2**62,), _same
    ),
    "decimal": KeyKind(pa.decimal128(12, 2), pa.decimal128(12, 2), lambda n: Decimal(n - 50) / 4),
    "decimal of other scale": KeyKind(
        pa.decimal128(20, 3),
        pa.decimal256(40, 6),
        lambda n: Decimal(n - 50) / 8,
        (Decimal("0.000001"), Decimal(10) ** 20),
    ),
    "decimal with a narrow one": KeyKind(
        pa.decimal256(60, 4), pa.decimal128(10, 1), lambda n: Decimal(n) / 2
    ),
    "decimal32 with decimal64": KeyKind(pa.decimal32(7, 2), pa.decimal64(16, 4), lambda n: Decimal(n) / 4),
    "string": KeyKind(pa.string(), pa.string(), _text),
    "string with large_string": KeyKind(pa.string(), pa.large_string(), _text),
    "string_view with string": KeyKind(pa.string_view(), pa.string(), _text),
    "large_string with string_view": KeyKind(pa.large_string(), pa.string_view(), _text),
    "string dictionary": KeyKind(pa.string(), DICTIONARY, _text),
    "both dictionaries": KeyKind(
        pa.dictionary(pa.int16(), pa.large_string()), DICTIONARY, lambda n: _text(n % 1000), distinct=1000
    ),
    "binary": KeyKind(pa.binary(), pa.binary(), _bytes),
    "binary_view with large_binary": KeyKind(pa.binary_view(), pa.large_binary(), _bytes),
    "fixed with binary": KeyKind(pa.binary(4), pa.binary(), _four, (b"", b"\0\0\0", b"\0\0\0\0\0")),
    "binary with fixed": KeyKind(pa.binary(), pa.binary(4), _four),
    "null": KeyKind(pa.int64(), pa.null(), _same, stream_value=lambda n: None),
}


def _list(n: int) -> list[str | None]:
    return [None if i % 4 == 3 else f"item {i}" for i in range(n % 6)]


PAYLOAD: dict[str, tuple[pa.DataType, Value]] = {
    "int64": (pa.int64(), lambda n: n * 1_000_003),
    "int8": (pa.int8(), lambda n: n % 256 - 128),
    "uint64": (pa.uint64(), lambda n: 2**64 - 1 - n),
    "bool": (pa.bool_(), lambda n: n % 3 == 0),
    "float": (pa.float32(), lambda n: (float("nan"), -0.0, 0.0, n / 8)[n % 4]),
    "double": (pa.float64(), lambda n: (float("nan"), float("inf"), -0.0, n / 7)[n % 4]),
    "date": (pa.date32(), _same),
    "time": (pa.time64("us"), lambda n: n % 86_400_000_000),
    "timestamp": (pa.timestamp("us", "UTC"), lambda n: n * 1_000_001),
    "nanoseconds": (pa.timestamp("ns"), lambda n: n * 1_000_000_007),
    "duration": (pa.duration("us"), lambda n: timedelta(microseconds=n)),
    "decimal": (pa.decimal128(30, 4), lambda n: Decimal(n) / 16),
    "wide decimal": (pa.decimal256(70, 2), lambda n: Decimal(n) / 4),
    "string": (pa.string(), _text),
    "long string": (pa.string(), lambda n: f"{n}:" + "x" * (n % 700)),
    "large_string": (pa.large_string(), _text),
    "string_view": (pa.string_view(), lambda n: _text(n) * (n % 4)),
    "binary": (pa.binary(), _bytes),
    "large_binary": (pa.large_binary(), _bytes),
    "binary_view": (pa.binary_view(), lambda n: _bytes(n) * (n % 4)),
    "fixed": (pa.binary(4), _four),
    "null": (pa.null(), lambda n: None),
    "dictionary": (DICTIONARY, lambda n: ("red", "green", "blue", "")[n % 4]),
    "number dictionary": (pa.dictionary(pa.uint8(), pa.int64()), lambda n: n % 5 * 10**12),
    "list": (pa.list_(pa.string()), _list),
    "large_list": (pa.large_list(pa.int16()), lambda n: list(range(n % 5))),
    "pair": (pa.list_(pa.int32(), 2), lambda n: [n, None]),
    "struct": (
        pa.struct([("a", pa.int64()), ("b", pa.string())]),
        lambda n: {"a": None if n % 3 else n, "b": _text(n)},
    ),
    "map": (
        pa.map_(pa.string(), pa.int32()),
        lambda n: [(f"k{i}", None if i % 2 else n) for i in range(n % 3)],
    ),
    "deep": (
        pa.list_(pa.struct([("m", pa.map_(pa.int8(), pa.list_(pa.bool_()))), ("t", pa.timestamp("ms"))])),
        lambda n: [{"m": [(n % 100, [True, None])], "t": n}] * (n % 3),
    ),
}


def column(kind: pa.DataType, values: list[Any]) -> pa.Array:
    """An array of this type; times are given as counts."""
    if pa.types.is_dictionary(kind):
        plain = column(kind.value_type, values)
        if pa.types.is_large_string(kind.value_type):
            return plain.dictionary_encode().cast(kind)
        return plain.dictionary_encode().cast(kind)
    if pa.types.is_date32(kind):
        return pa.array(values, pa.int32()).cast(kind)
    if pa.types.is_date64(kind):
        return pa.Array.from_buffers(kind, len(values), pa.array(values, pa.int64()).buffers())
    if pa.types.is_timestamp(kind):
        return pa.array(values, pa.int64()).cast(kind)
    return pa.array(values, kind)


def payload(name: str, rows: int, rng: Random, nulls: float = 0.15) -> pa.Array:
    """Random values of a kind of `PAYLOAD`."""
    kind, value = PAYLOAD[name]
    return column(kind, [None if rng.random() < nulls else value(rng.randrange(5000)) for _ in range(rows)])
