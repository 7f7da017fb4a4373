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
from semistream.stores.base import PageRun, RowFinder, Store

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
        self.payload = list(payload)
        self._columns = [*store.key, *payload]
        self._keys = len(store.key)
        self.exact = codec.exact
        self.threads: set[str] = set()
        schema = pa.schema([store.schema.field(name) for name in payload])
        self.schema = schema if codec.exact else schema.append(KEY_BYTES)

    def load(self, pages: Sequence[int] | Int64s, partition_pages: int = 1) -> Iterator[Loaded]:
        """The pages, ascending, in runs of neighbours as the store gives them.

        A store may end a run anywhere; with `partition_pages` runs are joined until one ends with a
        partition, all of whose pages have to be asked for.
        """
        self.threads.add(current_thread().name)
        layout = self.store.layout
        assert layout is not None
        runs: list[PageRun] = []
        for run in self.store.read(pages, self._columns):
            runs.append(run)
            end = run.first + run.pages
            if end % partition_pages == 0 or end == layout.pages:
                yield self._decode(_joined(runs))
                runs = []

    def load_together(self, first: int, last: int) -> Loaded:
        """Pages `first` to `last` as one."""
        self.threads.add(current_thread().name)
        return self._decode(_joined(list(self.store.read(np.arange(first, last + 1), self._columns))))

    def finder(self, pages: Int64s) -> RowFinder | None:
        """How to find single rows of these pages, if that is cheaper than loading them."""
        return self.store.finder(pages, self._columns)

    def found(self, batch: pa.RecordBatch) -> Loaded:
        """What a finder found, as if it had been loaded."""
        self.threads.add(current_thread().name)
        offsets = np.array([0, batch.num_rows], dtype=np.int64)
        return self._decode(PageRun(0, offsets, batch, int(batch.nbytes), 0))

    def _decode(self, run: PageRun) -> Loaded:
        keys = self._codec.encode(run.batch.columns[: self._keys])
        columns = run.batch.columns[self._keys :]
        if not self._codec.exact:
            columns = [*columns, key_bytes_array(keys)]
        batch = pa.RecordBatch.from_arrays(columns, schema=self.schema)
        # A page that is a view into what was read keeps all of it alive.
        held = max(run.batch.nbytes, run.bytes_read) + keys.nbytes
        return Loaded(run.first, run.offsets, batch, keys, held, run.bytes_read, run.reads)


def _joined(runs: list[PageRun]) -> PageRun:
    """Runs that follow one another as one."""
    if len(runs) == 1:
        return runs[0]
    offsets = [np.zeros(1, dtype=np.int64)]
    for run in runs:
        offsets.append(run.offsets[1:] - run.offsets[0] + offsets[-1][-1])
    return PageRun(
        first=runs[0].first,
        offsets=np.concatenate(offsets),
        batch=pa.concat_batches([run.batch for run in runs]),
        bytes_read=sum(run.bytes_read for run in runs),
        reads=sum(run.reads for run in runs),
    )
