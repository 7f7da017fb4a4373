"""Reading pages into a form that can be matched: payload columns, and the keys' codes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from threading import current_thread

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from semistream.keys import KeyCodec, Keys
from semistream.phases.arrivals import KEY_BYTES, key_bytes_array
from semistream.stores.base import PageRun, Store

Int64s = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Loaded:
    """Neighbouring pages in memory. Page `first + i` is the rows offsets[i]:offsets[i + 1]."""

    first: int
    offsets: Int64s
    batch: pa.RecordBatch
    keys: Keys
    held: int
    bytes_read: int
    reads: int

    @property
    def rows(self) -> int:
        return len(self.keys)

    @property
    def last(self) -> int:
        """The last page."""
        return self.first + len(self.offsets) - 2


class Loader:
    """Reads from one store what one join needs of it. Thread-safe: it keeps nothing but who read."""

    def __init__(self, store: Store, codec: KeyCodec, payload: Sequence[str]) -> None:
        self.store = store
        self._codec = codec
        self._payload = list(payload)
        self._columns = [*store.key, *payload]
        self._keys = len(store.key)
        self.exact = codec.exact
        self.threads: set[str] = set()
        schema = pa.schema([store.schema.field(name) for name in payload])
        self.schema = schema if codec.exact else schema.append(KEY_BYTES)

    def load(self, pages: Sequence[int] | Int64s) -> Iterator[Loaded]:
        """The pages, ascending, in runs of neighbours as the store gives them."""
        self.threads.add(current_thread().name)
        for run in self.store.read(pages, self._columns):
            yield self._decode(run)

    def load_together(self, first: int, last: int) -> Loaded:
        """Pages `first` to `last` as one."""
        self.threads.add(current_thread().name)
        runs = list(self.store.read(np.arange(first, last + 1), self._columns))
        if len(runs) == 1:
            return self._decode(runs[0])
        offsets = [np.zeros(1, dtype=np.int64)]
        for run in runs:
            offsets.append(run.offsets[1:] - run.offsets[0] + offsets[-1][-1])
        together = PageRun(
            first=first,
            offsets=np.concatenate(offsets),
            batch=pa.concat_batches([run.batch for run in runs]),
            bytes_read=sum(run.bytes_read for run in runs),
            reads=sum(run.reads for run in runs),
        )
        return self._decode(together)

    def _decode(self, run: PageRun) -> Loaded:
        keys = self._codec.encode(run.batch.columns[: self._keys])
        columns = run.batch.columns[self._keys :]
        if not self._codec.exact:
            columns = [*columns, key_bytes_array(keys)]
        batch = pa.RecordBatch.from_arrays(columns, schema=self.schema)
        # A page that is a view into what was read keeps all of it alive.
        held = max(run.batch.nbytes, run.bytes_read) + keys.nbytes
        return Loaded(run.first, run.offsets, batch, keys, held, run.bytes_read, run.reads)
