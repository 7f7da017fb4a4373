"""Stream batches cut into pieces that fit the budget, with their keys encoded."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from semistream.keys import Keys, StreamCodec
from semistream.structures.sizes import row_sizes

Int64s = NDArray[np.int64]

KEY_BYTES = pa.field("__key_bytes", pa.large_binary())  # behind the columns where codes are hashes


def key_bytes_array(keys: Keys) -> pa.Array:
    """The key bytes of hashed keys, as a column that travels with its rows."""
    assert keys.offsets is not None
    assert keys.data is not None
    buffers = [None, pa.py_buffer(keys.offsets), pa.py_buffer(keys.data)]
    return pa.Array.from_buffers(KEY_BYTES.type, len(keys), buffers, 0)


@dataclass(frozen=True, slots=True)
class Arrivals:
    """A piece of the stream: its columns (key bytes behind them where codes are hashes), its keys."""

    batch: pa.RecordBatch
    keys: Keys

    @property
    def rows(self) -> int:
        return len(self.keys)


@dataclass(frozen=True, slots=True)
class Misses:
    """Rows the front could not answer: a compact copy, and the partition each has to meet."""

    batch: pa.RecordBatch
    codes: NDArray[np.uint64]
    partitions: Int64s

    def __len__(self) -> int:
        return len(self.codes)


class ArrivalEncoder:
    """Cuts and encodes the batches of one stream schema."""

    def __init__(self, schema: pa.Schema, key: tuple[int, ...], codec: StreamCodec) -> None:
        self._key = key
        self._codec = codec
        self.schema = schema if codec.exact else schema.append(KEY_BYTES)

    def encode(self, batch: pa.RecordBatch) -> Arrivals:
        keys = self._codec.encode([batch.column(i) for i in self._key])
        if not self._codec.exact:
            columns = [*batch.columns, key_bytes_array(keys)]
            batch = pa.RecordBatch.from_arrays(columns, schema=self.schema)
        return Arrivals(batch, keys)

    def pieces(self, batch: pa.RecordBatch, most_rows: int, most_bytes: int) -> Iterator[Arrivals]:
        """The batch in pieces; a row above `most_bytes` makes a piece of its own."""
        for start, end in cuts(batch, most_rows, most_bytes):
            yield self.encode(batch.slice(start, end - start))


def cuts(batch: pa.RecordBatch, most_rows: int, most_bytes: int) -> Iterator[tuple[int, int]]:
    """Row ranges of at most so many rows and bytes, in order."""
    count = batch.num_rows
    if batch.nbytes <= most_bytes:
        yield from ((start, min(start + most_rows, count)) for start in range(0, count, most_rows))
        return
    start = 0
    while start < count:
        window = batch.slice(start, most_rows)
        ends = np.cumsum(row_sizes(window))
        end = start + max(1, int(np.searchsorted(ends, most_bytes, side="right")))
        yield start, end
        start = end
