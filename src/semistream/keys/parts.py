"""One key column, brought into the domain of the master's column it is joined with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from semistream.keys.decimals import decimal_words
from semistream.keys.kinds import Counted, Kind, Scaled, Text
from semistream.keys.reading import bytes_of, numbers_of


@dataclass(frozen=True, slots=True, eq=False)
class FixedPart:
    """Words of `width` bytes each, most significant first; their order is the values' order."""

    words: tuple[NDArray[np.uint64], ...]
    width: int
    foreign: NDArray[np.bool_] | None


@dataclass(frozen=True, slots=True, eq=False)
class BytesPart:
    """Bytes of any length; null rows may have some too. `data` is borrowed: only to be read."""

    offsets: NDArray[np.int64]
    data: NDArray[np.uint8]
    foreign: NDArray[np.bool_] | None


def read_part(array: pa.Array, own: Kind, master: Kind) -> FixedPart | BytesPart:
    """The values of `array`, of kind `own`, as values of the master's kind of the same family."""
    if isinstance(master, Counted) and isinstance(own, Counted):
        return _counted(array, own, master)
    if isinstance(master, Scaled) and isinstance(own, Scaled):
        words, foreign = decimal_words(array, own, master)
        return FixedPart(words, 8, foreign)
    if isinstance(master, Text) and isinstance(own, Text):
        return _text(array, own, master)
    raise AssertionError(f"kinds {own} and {master} are of different families")


def _counted(array: pa.Array, own: Counted, master: Counted) -> FixedPart:
    if pa.types.is_boolean(array.type):
        array = array.cast(pa.uint8())
    values = numbers_of(array, f"{'i' if own.signed else 'u'}{own.width}")
    values, foreign = _rescaled(values, own.ticks, master.ticks)
    lowest, highest = master.bounds
    limits = np.iinfo(values.dtype)
    if limits.min < lowest:
        foreign = _either(foreign, values < lowest)
    if limits.max > highest:
        foreign = _either(foreign, values > highest)
    return FixedPart((_ordered(values, master),), master.width, foreign)


def _rescaled(values: NDArray[Any], own: int, master: int) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
    """Counts of other ticks as counts of the master's; foreign where that is not exact."""
    if own == master:
        return values, None
    if own > master:
        factor = own // master
        whole = values // factor
        return whole, whole * factor != values
    factor = master // own
    lowest, highest = -(2**63 // factor), (2**63 - 1) // factor
    foreign = None
    if np.iinfo(values.dtype).max > highest:
        foreign = (values < lowest) | (values > highest)
    return values.astype(np.int64) * factor, foreign


def _ordered(values: NDArray[Any], master: Counted) -> NDArray[np.uint64]:
    """Unsigned words in the order of the values; a foreign value's word means nothing."""
    if not master.signed:
        return values.astype(np.uint64)
    sign = 1 << (8 * master.width - 1)
    if master.width == 8:
        return values.astype(np.int64, copy=False).view(np.uint64) ^ np.uint64(sign)
    return values.astype(np.int64).view(np.uint64) + np.uint64(sign)


def _text(array: pa.Array, own: Text, master: Text) -> BytesPart:
    offsets, data = bytes_of(array)
    foreign = None
    if master.length is not None and own.length != master.length:
        foreign = np.diff(offsets) != master.length
    return BytesPart(offsets, data, foreign)


def _either(first: NDArray[np.bool_] | None, second: NDArray[np.bool_]) -> NDArray[np.bool_]:
    return second if first is None else first | second
