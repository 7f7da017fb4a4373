"""Which Arrow types can be keys, and which of them can be joined with each other."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import pyarrow as pa

from semistream.errors import KeyTypeError

SUPPORTED = (
    "integers, bool, date, timestamp, decimal, string and binary, dictionary-encoded or not, "
    "and composites of them"
)
DAY = 86_400_000
TICKS = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}


@dataclass(frozen=True, slots=True)
class Counted:
    """A whole number of ticks in `width` bytes: integers, bool, dates and timestamps."""

    family: str
    width: int
    signed: bool
    ticks: int = 1  # to a unit that all types of the family share: a day, a second, one

    @property
    def bounds(self) -> tuple[int, int]:
        bits = 8 * self.width
        return (-(1 << bits - 1), (1 << bits - 1) - 1) if self.signed else (0, (1 << bits) - 1)


@dataclass(frozen=True, slots=True)
class Scaled:
    """A decimal. `stored` is its bytes in Arrow; its key takes 16 bytes, or 32 for decimal256."""

    precision: int
    scale: int
    stored: int
    family: str = "decimal"

    @property
    def width(self) -> int:
        return max(self.stored, 16)


@dataclass(frozen=True, slots=True)
class Text:
    """Bytes of any length, or of `length` for fixed_size_binary."""

    family: str
    length: int | None = None


@dataclass(frozen=True, slots=True)
class Nothing:
    """A column of type null: a stream may have one, and all its keys are null."""

    family: str = "null"


Kind = Counted | Scaled | Text | Nothing


def value_type(kind: pa.DataType) -> pa.DataType:
    """The type itself, or that of a dictionary's values."""
    return kind.value_type if pa.types.is_dictionary(kind) else kind


@lru_cache(256)  # asked for every page
def master_kind(field: pa.Field) -> Kind:
    """The kind of a master's key column, or `KeyTypeError`."""
    found = _kind(value_type(field.type))
    if found is None or isinstance(found, Nothing):
        raise _unsupported(field, "master")
    return found


@lru_cache(256)
def stream_kind(field: pa.Field, master: pa.Field) -> Kind:
    """The kind of a stream's key column, or `KeyTypeError` if it can't be joined with the master's."""
    found = _kind(value_type(field.type))
    if found is None:
        raise _unsupported(field, "stream")
    expected = master_kind(master)
    if isinstance(found, Nothing) or found.family == expected.family:
        return found
    raise KeyTypeError(
        f"stream key column {field.name!r} has type {field.type} and master key column {master.name!r} "
        f"has type {master.type}: {found.family} keys can't be joined with {expected.family} keys without "
        f"losing information; {_reconciliation(found.family, expected.family, master.type)}"
    )


def _kind(kind: pa.DataType) -> Kind | None:
    types = pa.types
    found: Kind | None = None
    if types.is_integer(kind):
        found = Counted("integer", kind.bit_width // 8, types.is_signed_integer(kind))
    elif types.is_boolean(kind):
        found = Counted("bool", 1, signed=False)
    elif types.is_date32(kind):
        found = Counted("date", 4, signed=True)
    elif types.is_date64(kind):
        found = Counted("date", 8, signed=True, ticks=DAY)
    elif types.is_timestamp(kind):
        family = "timestamp without zone" if kind.tz is None else "timestamp with zone"
        found = Counted(family, 8, signed=True, ticks=TICKS[kind.unit])
    elif types.is_decimal(kind):
        found = Scaled(kind.precision, kind.scale, kind.byte_width)
    elif types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        found = Text("string")
    elif types.is_fixed_size_binary(kind):
        found = Text("binary", kind.byte_width)
    elif types.is_binary(kind) or types.is_large_binary(kind) or types.is_binary_view(kind):
        found = Text("binary")
    elif types.is_null(kind):
        found = Nothing()
    return found


def _unsupported(field: pa.Field, side: str) -> KeyTypeError:
    return KeyTypeError(
        f"{side} key column {field.name!r} has type {field.type}, which can't be a key; "
        f"supported are {SUPPORTED}; {_hint(value_type(field.type))}"
    )


def _hint(kind: pa.DataType) -> str:
    types = pa.types
    if types.is_floating(kind):
        hint = "equality of floats is not exact: cast it to an integer or a decimal on both sides"
    elif types.is_time(kind) or types.is_duration(kind):
        hint = "cast it to an integer on both sides"
    elif types.is_null(kind):
        hint = "cast it to the type that its values should have"
    elif types.is_nested(kind):
        hint = "make the parts that identify a row columns of their own and use these as the key"
    elif isinstance(kind, pa.BaseExtensionType):
        hint = f"cast it to its storage type {kind.storage_type}"
    else:
        hint = "cast it to one of these on both sides"
    return hint


def _reconciliation(stream: str, master: str, kind: pa.DataType) -> str:
    if stream.startswith("timestamp") and master.startswith("timestamp"):
        return "say in which zone the one without zone was written, or cast both to UTC without zone"
    return f"cast one side, for example the stream's to {value_type(kind)}"
