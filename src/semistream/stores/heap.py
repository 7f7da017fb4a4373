"""A master in an order of its own, with a non-clustered index on the key [S2].

X-HYBRIDJOIN stores the master by access frequency, so that the first pages hold the hot rows; then
a key's place doesn't follow from its order. An index says on which page it is: rows (key, first
page, last page), clustered by key, on disk and paged like any clustered copy. What locating a key
reads of it counts as reads of the directory.

A heap lies like a clustered copy, with the index in a folder inside the version's.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from semistream.errors import ArgumentError, BudgetError
from semistream.keys import KeyCodec, Keys, order, same_as_previous, search
from semistream.stores.base import PageLayout, PageRun, Version
from semistream.stores.clustered import ClusteredStore, open_current
from semistream.stores.clustered_build import PAGE_BYTES, PageCutter
from semistream.stores.directory import Pages, places_of
from semistream.stores.directory_writer import fence_names, manifest_digest
from semistream.stores.leaves import LEAF_PAGES, LeafCache
from semistream.stores.manifest import Manifest, find_version, read_manifest, rebuild
from semistream.stores.page_reader import PageReader
from semistream.stores.page_writer import PageWriter
from semistream.stores.paged import PagedStore, page_chunks
from semistream.stores.publication import Publication
from semistream.stores.sorting import Source, checked_columns, checked_key, codec_of, key_text, one_batch
from semistream.structures.views import taken, taken_array

INDEX = "index"
_PLACES_BYTES = 256 << 10


class HeapDirectory:
    """Which pages a key is on, by reading the index. Exact: an absent key is on no page.

    A batch of keys costs at most one read for each page of the index that it touches.
    """

    def __init__(self, codec: KeyCodec, index: ClusteredStore, memory: int) -> None:
        self.codec: KeyCodec = codec
        self._index = index
        self._page_bytes = index.layout.max_bytes
        least = index.directory_bytes()[0] + index.held_bytes + self._page_bytes
        if memory < least:
            raise BudgetError(
                f"the index of a heap was allowed {memory} bytes; it needs {least}: allow as much"
            )
        self._inner = index.directory(memory - index.held_bytes - self._page_bytes)
        self._memory = memory
        self._page_reads = 0
        self._page_bytes_read = 0

    @property
    def held_bytes(self) -> int:
        return self._inner.held_bytes + self._index.held_bytes

    @property
    def bytes_read(self) -> int:
        return self._inner.bytes_read + self._page_bytes_read

    @property
    def reads(self) -> int:
        return self._inner.reads + self._page_reads

    def locate(self, keys: Keys) -> tuple[Pages, Pages]:
        """First and last page of each key; (-1, -1) where the master hasn't got it."""
        first, last = np.full(len(keys), -1, np.int64), np.full(len(keys), -1, np.int64)
        index_page, _ = self._inner.locate(keys)
        by_page = np.argsort(index_page, kind="stable")
        ordered = index_page[by_page]
        names = fence_names(len(self.codec.fields))
        wanted = np.unique(index_page[index_page >= 0])
        for part in page_chunks(wanted, self._page_bytes, self._memory - self.held_bytes):
            for run in self._index.read(part, [*names, "first", "last"]):
                self._page_reads += run.reads
                self._page_bytes_read += run.bytes_read
                begin, end = np.searchsorted(ordered, [run.first, run.first + run.pages])
                rows = by_page[begin:end]
                own = self.codec.encode([run.batch.column(name) for name in names])
                left, right = search(own, keys.take(rows))
                hit = np.flatnonzero(right > left)
                first[rows[hit]] = run.batch.column("first").to_numpy()[left[hit]]
                last[rows[hit]] = run.batch.column("last").to_numpy()[left[hit]]
        return first, last


class HeapStore(PagedStore):
    """One version of a heap, open for reading. See `build` and `open`."""

    def __init__(self, path: Path, folder: Path, manifest: Manifest, io: str) -> None:
        super().__init__(manifest.schema, manifest.key)
        self._path, self._folder, self._io = path, folder, io
        self.manifest = manifest
        self._indexes: list[ClusteredStore] = [self._open_index()]
        self._reader = PageReader(folder, manifest, io, rebuild(path), fenced=False)
        self._leaves = LeafCache(
            self._reader.leaf, manifest.leaf_bytes, max(_PLACES_BYTES, manifest.leaf_bytes)
        )

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, io: str = "cached") -> HeapStore:
        """Open the current version of the heap at `path`."""
        root = Path(path)
        return open_current(root, lambda folder, seal: cls._open_folder(root, folder, seal, io))

    @classmethod
    def build(
        cls,
        source: Source,
        path: str | os.PathLike[str],
        key: str | Sequence[str],
        page_rows: int | None = None,
        order: str = "given",
        *,
        page_bytes: int = PAGE_BYTES,
    ) -> HeapStore:
        """Write `source` as the current version of the heap at `path`, in the order it is given, or
        by a column of access counts, named by `order`, from the largest down.

        The rows of one key must come to lie on neighbouring pages. Rows whose key is null match
        nothing and are left out.
        """
        names = checked_key(key)
        batch = one_batch(source)
        checked_columns(batch.schema, names, None)
        if order != "given":
            if order not in batch.schema.names:
                raise ArgumentError(
                    f"order={order!r} is neither 'given' nor a column; the columns are "
                    f"{', '.join(batch.schema.names)}"
                )
            # Ranks break ties as given: sorting by counts alone may not be stable.
            counts = batch.column(order)
            table = pa.table({"count": counts, "row": pa.array(np.arange(len(counts)))})
            batch = taken(
                batch, pc.sort_indices(table, [("count", "descending"), ("row", "ascending")]).to_numpy()
            )
        _write(Path(path), batch, names, PageCutter(page_rows, page_bytes))
        return cls.open(path)

    @property
    def rows(self) -> int:
        return self.manifest.rows

    @property
    def unique(self) -> bool:
        return self.manifest.unique

    @property
    def layout(self) -> PageLayout:
        return PageLayout(self.manifest.pages, self.manifest.page_max_rows, self.manifest.page_max_bytes)

    @property
    def held_bytes(self) -> int:
        return super().held_bytes + self._reader.held_bytes + self._leaves.held_bytes

    def version(self) -> Version:
        return Version(self.manifest.content)

    def at(self, version: Version) -> HeapStore:
        if version == self.version():
            return self
        folder, seal = find_version(self._path, version.token)
        return self._open_folder(self._path, folder, seal, self._io)

    def directory(self, memory: int) -> HeapDirectory:
        # An index of its own, so that each directory counts its own reads.
        index = self._open_index()
        try:
            directory = HeapDirectory(self._codec, index, memory)
        except BaseException:
            index.close()
            raise
        self._indexes.append(index)
        return directory

    def directory_bytes(self) -> tuple[int, int]:
        index = self._indexes[0]
        beside = index.held_bytes + index.layout.max_bytes
        least, everything = index.directory_bytes()
        return least + beside, everything + beside

    def close(self) -> None:
        if not self._closed:
            self._reader.close()
            for index in self._indexes:
                index.close()
        super().close()

    @classmethod
    def _open_folder(cls, path: Path, folder: Path, seal: str, io: str) -> HeapStore:
        manifest = read_manifest(folder, seal, rebuild(path))
        if manifest.kind != "heap":
            raise ArgumentError(f"{path} is a {manifest.kind} copy, not a heap; open it as what it is")
        return cls(path, folder, manifest, io)

    def _open_index(self) -> ClusteredStore:
        return ClusteredStore.open_folder(
            self._path, self._folder / INDEX, self.manifest.inner_digest, io=self._io, kind=INDEX
        )

    def _runs(self, pages: Pages, columns: list[str]) -> Iterator[PageRun]:
        reads, bytes_read = self._leaves.reads, self._leaves.bytes_read
        places = places_of(self._leaves, self.manifest.leaf_pages, pages)
        reads, bytes_read = self._leaves.reads - reads, self._leaves.bytes_read - bytes_read
        yield from self._reader.runs(pages, places, columns, reads, bytes_read)


def _write(path: Path, batch: pa.RecordBatch, key: tuple[str, ...], cut: PageCutter) -> None:
    codec = codec_of(batch.schema, key)
    null = codec.encode([batch.column(name) for name in key]).null
    dropped = int(np.count_nonzero(null))
    if dropped:
        batch = taken(batch, np.flatnonzero(~null))
    unordered = np.zeros(batch.num_rows, np.bool_)
    pages = [page for page, _ in cut.add(batch, unordered)] + [page for page, _ in cut.rest()]
    page_of_row = np.repeat(np.arange(len(pages)), [page.num_rows for page in pages])
    index, unique = _index_of(batch, key, codec, page_of_row)
    publication = Publication(path)
    writers: list[PageWriter] = []
    try:
        (publication.folder / INDEX).mkdir()
        inner = PageWriter(publication.folder / INDEX, INDEX, index.schema, tuple(fence_names(len(key))))
        writers.append(inner)
        for page, _ in _cut_index(index):
            inner.add(page, False)
        inner.finish(unique=True, null_key_rows=0)
        seal = manifest_digest(publication.folder / INDEX)
        outer = PageWriter(publication.folder, "heap", batch.schema, key, fenced=False, leaf_pages=LEAF_PAGES)
        writers.append(outer)
        for page in pages:
            outer.add(page, False)
        manifest = outer.finish(unique=unique, null_key_rows=dropped, inner_digest=seal)
        publication.publish(manifest.content, manifest_digest(publication.folder))
    except BaseException:
        for writer in writers:
            writer.abandon()
        publication.abandon()
        raise


def _cut_index(index: pa.RecordBatch) -> Iterator[tuple[pa.RecordBatch, bool]]:
    cut = PageCutter(None, PAGE_BYTES)
    yield from cut.add(index, np.zeros(index.num_rows, np.bool_))
    yield from cut.rest()


def _index_of(
    batch: pa.RecordBatch, key: tuple[str, ...], codec: KeyCodec, page_of_row: NDArray[np.int64]
) -> tuple[pa.RecordBatch, bool]:
    """One row a key, in key order: the key, its first and last page, and how many rows it has."""
    columns = [batch.column(name) for name in key]
    keys = codec.encode(columns)
    rows = order(keys)
    same = same_as_previous(keys.take(rows))
    pages = page_of_row[rows]
    torn = rows[np.flatnonzero(same & (np.diff(pages, prepend=0) > 1))]
    if len(torn):
        _, once = np.unique(np.cumsum(~same)[same & (np.diff(pages, prepend=0) > 1)], return_index=True)
        named = ", ".join(key_text(columns, int(row)) for row in torn[once[:10]])
        raise ArgumentError(
            f"in a heap the rows of one key must lie on neighbouring pages, but those of {named} don't: "
            "bring duplicates together, or build a clustered copy"
        )
    starts = np.flatnonzero(~same)
    ends = np.append(starts[1:], len(rows))
    arrays = [taken_array(column, rows[starts]) for column in columns]
    counts = [pa.array(values, pa.int64()) for values in (pages[starts], pages[ends - 1], ends - starts)]
    names = [*fence_names(len(key)), "first", "last", "rows"]
    return pa.RecordBatch.from_arrays([*arrays, *counts], names), not bool(same.any())
