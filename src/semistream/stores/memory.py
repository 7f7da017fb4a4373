"""A master that is an Arrow table in memory."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from semistream.errors import ArgumentError
from semistream.keys import same_as_previous
from semistream.stores.base import PageLayout, PageRun, Version
from semistream.stores.clustered_build import PAGE_BYTES, rows_a_page
from semistream.stores.directory import FenceDirectory, Fences, Pages
from semistream.stores.paged import PagedStore, neighbours
from semistream.stores.sorting import Source, checked_columns, checked_key, in_key_order, one_batch
from semistream.structures.views import taken_array


class MemoryStore(PagedStore):
    """Pages are row ranges of one batch in key order, and reading one copies nothing.

    The table is sorted once if it isn't already; rows whose key is null are left out. A page has
    `page_rows` rows, or as many as take about 64 KiB. What the caller lent isn't counted as held,
    only what was copied.

    >>> store = MemoryStore(pa.table({"id": [3, 1, 2], "name": ["c", "a", "b"]}), "id", page_rows=2)
    >>> [run.batch.to_pydict() for run in store.read([1], ["name"])]
    [{'name': ['c']}]
    """

    def __init__(
        self,
        table: Source,
        key: str | Sequence[str],
        page_rows: int | None = None,
        columns: Sequence[str] | None = None,
    ) -> None:
        if page_rows is not None and page_rows < 1:
            raise ArgumentError(f"page_rows={page_rows}; a page has at least one row")
        names = checked_key(key)
        lent = (
            one_batch(table)
            if columns is None
            else one_batch(table, checked_columns(_schema_of(table), names, columns))
        )
        checked_columns(lent.schema, names, None)
        super().__init__(lent.schema, names)
        self._batch, keys, self.null_key_rows, copied = in_key_order(lent, names)
        # Joining chunks makes a copy too; then the caller's own may go.
        joined = _is_joined(table)
        self._copied_bytes = int(self._batch.nbytes) if copied or joined else 0
        same = same_as_previous(keys)
        self._unique = not bool(same.any())
        self._page_rows = page_rows or rows_a_page(self._batch, PAGE_BYTES)
        starts = np.arange(0, self._batch.num_rows, self._page_rows)
        self._fences = Fences.of_arrays(
            self._codec,
            [taken_array(self._batch.column(name), starts) for name in names],
            same[:: self._page_rows].copy(),
        )
        self._layout = self._measured(len(starts))
        self._version: Version | None = None

    @property
    def rows(self) -> int:
        return int(self._batch.num_rows)

    @property
    def unique(self) -> bool:
        return self._unique

    @property
    def layout(self) -> PageLayout:
        return self._layout

    @property
    def held_bytes(self) -> int:
        return super().held_bytes + self._copied_bytes + self._fences.root_bytes

    def version(self) -> Version:
        """A digest of the rows, taken on the first call. O(bytes)."""
        if self._version is None:
            digest = hashlib.blake2b("\0".join(self._key).encode(), digest_size=16)
            digest.update(self._schema.serialize().to_pybytes())
            with pa.ipc.new_stream(pa.PythonFile(_Hashed(digest), "w"), self._schema) as writer:
                for begin in range(0, self._batch.num_rows, self._page_rows):
                    writer.write_batch(self._batch.slice(begin, self._page_rows))
            self._version = Version(digest.hexdigest())
        return self._version

    def directory(self, memory: int) -> FenceDirectory:
        return FenceDirectory(self._fences, memory)

    def directory_bytes(self) -> tuple[int, int]:
        return self._fences.least_bytes, self._fences.flat_bytes

    def _runs(self, pages: Pages, columns: list[str]) -> Iterator[PageRun]:
        shown = self._batch.select(columns)
        for run in neighbours(pages):
            begin = int(run[0]) * self._page_rows
            end = min((int(run[-1]) + 1) * self._page_rows, self._batch.num_rows)
            offsets = np.minimum(np.arange(len(run) + 1, dtype=np.int64) * self._page_rows, end - begin)
            yield PageRun(int(run[0]), offsets, shown.slice(begin, end - begin), 0, 0)

    def _measured(self, pages: int) -> PageLayout:
        largest = max(
            (self._batch.slice(page * self._page_rows, self._page_rows).nbytes for page in range(pages)),
            default=0,
        )
        return PageLayout(pages, min(self._page_rows, self._batch.num_rows), int(largest))


class _Hashed:
    """A file that only digests what is written to it."""

    closed = False

    def __init__(self, digest: hashlib.blake2b) -> None:
        self._digest = digest

    def write(self, data: bytes) -> int:
        self._digest.update(data)
        return len(data)

    def flush(self) -> None:
        """Nothing waits: every write has been digested."""


def _schema_of(source: Source) -> pa.Schema:
    return source.schema if isinstance(source, pa.Table | pa.RecordBatch) else next(iter(source)).schema


def _is_joined(source: Source) -> bool:
    """Whether one contiguous batch of it had to be copied together."""
    if isinstance(source, pa.Table):
        return any(column.num_chunks > 1 for column in source.columns)
    return not isinstance(source, pa.RecordBatch) and len(source) > 1
