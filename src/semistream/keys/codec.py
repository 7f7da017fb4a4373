"""Codecs: key columns in, `Keys` in the master's key domain out.

A key that packs into eight bytes is its own code (*exact*). Any other becomes order-preserving
bytes and a hash of them: fixed parts big-endian with the sign bit flipped; a string or binary alone
as it is; within a composite, variable parts escaped and terminated, so that bytes order as tuples do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from semistream import keys as package  # for `hash_bytes`, looked up in each call
from semistream.errors import ArgumentError, SchemaError
from semistream.keys.encoded import Keys, offsets_of
from semistream.keys.kernels import copy_rows, escaped_lengths, write_escaped, write_words
from semistream.keys.kinds import Counted, Kind, master_kind, stream_kind, value_type
from semistream.keys.parts import BytesPart, FixedPart, read_part
from semistream.keys.reading import decoded, nulls_of

Fields = tuple[pa.Field, ...]


@dataclass(frozen=True)
class KeyCodec:
    """How keys of a master's type become codes and key bytes. Picklable, comparable."""

    fields: Fields

    def __post_init__(self) -> None:
        if not self.fields:
            raise ArgumentError("a master needs at least one key column; none was given")
        self.kinds()

    @classmethod
    def of_master(cls, fields: Sequence[pa.Field]) -> KeyCodec:
        """The codec of these key columns, or `KeyTypeError` naming the one that can't be a key."""
        return cls(tuple(fields))

    def kinds(self) -> tuple[Kind, ...]:
        """What each key column holds."""
        return tuple(master_kind(field) for field in self.fields)

    @property
    def exact(self) -> bool:
        """Whether the code is the whole key: order and equality of codes are those of keys."""
        widths = [kind.width if isinstance(kind, Counted) else 9 for kind in self.kinds()]
        return sum(widths) <= 8

    def encode(self, columns: Sequence[pa.Array]) -> Keys:
        """Encode master key columns."""
        return _encoded(columns, self.fields, self)

    def accepts(self, fields: Sequence[pa.Field]) -> StreamCodec:
        """A codec for stream key columns, or `KeyTypeError` naming both columns and types."""
        return StreamCodec(self, tuple(fields))


@dataclass(frozen=True)
class StreamCodec:
    """How a stream's keys become codes and key bytes of a master's. Picklable, comparable."""

    master: KeyCodec
    fields: Fields

    def __post_init__(self) -> None:
        if len(self.fields) != len(self.master.fields):
            raise ArgumentError(
                f"the master's key has {_listed(self.master.fields)}, "
                f"but the stream's has {_listed(self.fields)}; "
                "name one stream column for each of the master's, in the same order"
            )
        for field, master in zip(self.fields, self.master.fields, strict=True):
            stream_kind(field, master)

    @property
    def exact(self) -> bool:
        """Whether the code is the whole key, as the master's codec says."""
        return self.master.exact

    def encode(self, columns: Sequence[pa.Array]) -> Keys:
        """Encode stream key columns; a value that no master key can equal is foreign."""
        return _encoded(columns, self.fields, self.master)


def _encoded(columns: Sequence[pa.Array], fields: Fields, master: KeyCodec) -> Keys:
    _check(columns, fields)
    arrays = [decoded(column) for column in columns]
    rows = len(arrays[0])
    null = np.zeros(rows, np.bool_)
    for array in arrays:
        null |= nulls_of(array)
    foreign = np.zeros(rows, np.bool_)
    if any(pa.types.is_null(array.type) for array in arrays):
        return _all_null(null, foreign, master.exact)
    own = [stream_kind(field, expected) for field, expected in zip(fields, master.fields, strict=True)]
    parts = [read_part(*part) for part in zip(arrays, own, master.kinds(), strict=True)]
    for part in parts:
        if part.foreign is not None:
            foreign |= part.foreign
    foreign &= ~null
    absent = null | foreign
    if master.exact:
        return Keys(_packed(parts, absent), None, None, null, foreign)
    only = parts[0]
    if len(parts) == 1 and isinstance(only, BytesPart):
        offsets, data = _raw(only, absent)
    else:
        offsets, data = _composite(parts, absent)
    codes = package.hash_bytes(offsets, data)
    codes[absent] = 0
    return Keys(codes, offsets, data, null, foreign)


def _check(columns: Sequence[pa.Array], fields: Fields) -> None:
    if len(columns) != len(fields):
        raise SchemaError(f"{len(columns)} key columns were given; expected {_listed(fields)}")
    for column, field in zip(columns, fields, strict=True):
        if value_type(column.type) not in (value_type(field.type), pa.null()):
            raise SchemaError(
                f"key column {field.name!r} came as {column.type}; expected {field.type}, the type it was "
                "declared with: cast it, or begin anew with the new type"
            )
        if len(column) != len(columns[0]):
            raise SchemaError(
                f"key column {field.name!r} has {len(column)} rows, but {fields[0].name!r} has "
                f"{len(columns[0])}; expected columns of one batch"
            )


def _listed(fields: Fields) -> str:
    names = ", ".join(repr(field.name) for field in fields)
    return f"{len(fields)} column{'' if len(fields) == 1 else 's'} ({names})"


def _all_null(null: NDArray[np.bool_], foreign: NDArray[np.bool_], exact: bool) -> Keys:
    codes = np.zeros(len(null), np.uint64)
    if exact:
        return Keys(codes, None, None, null, foreign)
    return Keys(codes, np.zeros(len(null) + 1, np.int64), np.empty(0, np.uint8), null, foreign)


def _packed(parts: Sequence[FixedPart | BytesPart], absent: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """The words of all parts side by side in one; the first part is the most significant."""
    codes: NDArray[np.uint64] | None = None
    for part in parts:
        assert isinstance(part, FixedPart)
        codes = part.words[0] if codes is None else codes << np.uint64(8 * part.width) | part.words[0]
    assert codes is not None
    if absent.any():
        codes[absent] = 0
    return codes


def _raw(part: BytesPart, absent: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    lengths = np.diff(part.offsets)
    if not lengths[absent].any():
        first, end = part.offsets[0], part.offsets[-1]
        return part.offsets - first, part.data[first:end].copy()
    lengths[absent] = 0
    offsets = offsets_of(lengths)
    data = np.empty(offsets[-1], np.uint8)
    copy_rows(part.offsets[:-1], part.data, offsets, data)
    return offsets, data


def _composite(
    parts: Sequence[FixedPart | BytesPart], absent: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    fixed = sum(part.width * len(part.words) for part in parts if isinstance(part, FixedPart))
    lengths = np.full(len(absent), fixed, np.int64)
    for part in parts:
        if isinstance(part, BytesPart):
            escaped_lengths(part.offsets, part.data, lengths)
    lengths[absent] = 0
    offsets = offsets_of(lengths)
    data = np.empty(offsets[-1], np.uint8)
    cursor = offsets[:-1].copy()
    skipped = absent.view(np.uint8)
    for part in parts:
        if isinstance(part, BytesPart):
            write_escaped(part.offsets, part.data, skipped, cursor, data)
        else:
            for words in part.words:
                write_words(words, part.width, skipped, cursor, data)
    return offsets, data
