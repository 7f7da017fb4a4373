"""Encoded keys: what codecs make and everything else reads."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from semistream.keys.kernels import copy_rows


@dataclass(frozen=True, slots=True, eq=False)
class Keys:
    """A batch's keys, encoded. Every array is owned, writable and C-contiguous.

    codes: one uint64 a row. If the codec is `exact`, code order is key order and equal codes are
    equal keys; else it is a 64-bit hash of the row's key bytes.
    offsets, data: the order-preserving key bytes of row i are data[offsets[i]:offsets[i+1]];
    None when the codec is exact. null and foreign rows have code 0 and empty bytes.
    null: any part of the key is null. foreign: not null, but no value of the master's type can equal it.
    """

    codes: NDArray[np.uint64]
    offsets: NDArray[np.int64] | None
    data: NDArray[np.uint8] | None
    null: NDArray[np.bool_]
    foreign: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays together."""
        variable = 0 if self.offsets is None or self.data is None else self.offsets.nbytes + self.data.nbytes
        return self.codes.nbytes + variable + self.null.nbytes + self.foreign.nbytes

    def take(self, rows: NDArray[np.int64]) -> Keys:
        """The keys of `rows`, in that order, as a copy."""
        codes, null, foreign = self.codes[rows], self.null[rows], self.foreign[rows]
        if self.offsets is None or self.data is None:
            return Keys(codes, None, None, null, foreign)
        starts = self.offsets[:-1][rows]
        offsets = offsets_of(self.offsets[1:][rows] - starts)
        data = np.empty(offsets[-1], np.uint8)
        copy_rows(starts, self.data, offsets, data)
        return Keys(codes, offsets, data, null, foreign)


def offsets_of(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where rows of these lengths begin when they lie end to end, and where the last one ends."""
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets
