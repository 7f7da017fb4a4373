"""Masters that the key streams ask: rows of the papers' sizes, in key order, by frequency or scattered.

A row is a function of its key, so that whatever comes out of a join can be checked, and its key is a
function of the row's place: any part can be made alone, in bounded memory.

    key            int64    0 to keys - 1
    surrogate_key  int64    what the warehouse calls it
    price          float64
    supplier       int32
    description    string   as long as the row's size leaves room for
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from semistream.errors import ArgumentError
from semistream.workloads.base import Side, sized
from semistream.workloads.draws import purpose_key
from semistream.workloads.keys import KeyStream
from semistream.workloads.scatter import Scatter
from semistream.workloads.texts import texts

MasterOrder = Literal["key", "frequency", "scattered"]

ROW_BYTES = 120  # the papers' row of the master
FIXED_BYTES = 28  # of a row's columns but for its text; Arrow's own offsets aren't part of a row
SUPPLIERS = 997
PLACES, TEXTS = 300, 301  # what a seed is used for; `keys` and `arrivals` have the smaller numbers

SCHEMA = pa.schema(
    [
        pa.field("key", pa.int64(), nullable=False),
        pa.field("surrogate_key", pa.int64(), nullable=False),
        pa.field("price", pa.float64(), nullable=False),
        pa.field("supplier", pa.int32(), nullable=False),
        pa.field("description", pa.string(), nullable=False),
    ]
)


@dataclass(frozen=True)
class SyntheticMaster:
    """The master of a key stream, one row for each of its keys.

    order: how the rows lie: by their key; by how often the stream asks for them, the most frequent first
        (in its first rows, if it drifts); or in an order that has to do with neither.
    row_bytes: what a row's values take.

    >>> master = SyntheticMaster(KeyStream(1000, order="frequency", seed=1), order="scattered")
    >>> master.batch(0, 3)["key"].to_pylist()
    [148, 938, 56]
    >>> master.batch(0, 1).select(["surrogate_key", "price", "supplier"]).to_pylist()
    [{'surrogate_key': 1037, 'price': 37.25, 'supplier': 148}]
    """

    keys: KeyStream
    order: MasterOrder = "key"
    row_bytes: int = ROW_BYTES

    def __post_init__(self) -> None:
        if self.order not in get_args(MasterOrder):
            known = " or ".join(get_args(MasterOrder))
            raise ArgumentError(f"order={self.order!r} isn't known: give {known}")
        if self.row_bytes < FIXED_BYTES:
            raise ArgumentError(f"row_bytes={self.row_bytes} can't hold a row: give {FIXED_BYTES} or more")

    @property
    def rows(self) -> int:
        return self.keys.keys

    def keys_at(self, first: int, count: int) -> NDArray[np.int64]:
        """The keys of these rows."""
        places = np.arange(first, first + count)
        if self.order == "key":
            return places
        if self.order == "frequency":
            return self.keys.key_of_rank(places)
        return self._scatter.places(places)

    def batch(self, first: int, count: int) -> pa.RecordBatch:
        """These rows, which must be there."""
        return rows_of(self.keys_at(first, count), self.row_bytes)

    def side(self) -> Side:
        return sized(SCHEMA, self.rows, self.batch)

    @cached_property
    def _scatter(self) -> Scatter:
        return Scatter(self.rows, int(purpose_key(self.keys.seed, PLACES)))


def rows_of(keys: NDArray[np.int64], row_bytes: int = ROW_BYTES) -> pa.RecordBatch:
    """The master's rows that have these keys: what a test compares a join's output with."""
    return pa.RecordBatch.from_arrays(
        [
            pa.array(keys),
            pa.array(keys * 7 + 1),
            pa.array((keys % 4000 + 1) * 0.25),
            pa.array((keys % SUPPLIERS).astype(np.int32)),
            texts(purpose_key(0, TEXTS), keys, row_bytes - FIXED_BYTES),
        ],
        schema=SCHEMA,
    )
