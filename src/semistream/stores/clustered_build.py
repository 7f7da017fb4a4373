"""Writing a clustered copy: pages in key order, published at once or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from semistream.errors import ArgumentError, UsageError
from semistream.stores.clustered import ClusteredStore
from semistream.stores.directory_writer import manifest_digest
from semistream.stores.ipc_files import FILE_BYTES
from semistream.stores.key_runs import KeyRuns
from semistream.stores.leaves import LEAF_PAGES
from semistream.stores.page_writer import PageWriter
from semistream.stores.publication import Publication
from semistream.stores.sorting import (
    Source,
    checked_columns,
    checked_key,
    in_key_order,
    one_batch,
)

PAGE_BYTES = 64 << 10
PAGE_MAX_ROWS = 8192
_WRITE_ROWS = 64 << 10


def build(
    source: Source,
    path: str | os.PathLike[str],
    key: str | Sequence[str],
    *,
    columns: Sequence[str] | None = None,
    page_rows: int | None = None,
    page_bytes: int = PAGE_BYTES,
    leaf_pages: int = LEAF_PAGES,
    file_bytes: int = FILE_BYTES,
) -> ClusteredStore:
    """Sort `source` by `key` in memory and write it as the current version of the copy at `path`.

    Pages have `page_rows` rows, or about `page_bytes` bytes where that isn't given. Rows whose
    key is null match nothing: they are left out, and counted in the manifest.
    """
    names = checked_key(key)
    batch = one_batch(source)
    batch, _, dropped, _ = in_key_order(batch.select(checked_columns(batch.schema, names, columns)), names)
    with ClusteredWriter(
        path,
        batch.schema,
        names,
        page_rows=page_rows,
        page_bytes=page_bytes,
        leaf_pages=leaf_pages,
        file_bytes=file_bytes,
    ) as writer:
        writer.null_key_rows = dropped
        for begin in range(0, batch.num_rows, _WRITE_ROWS):
            writer.write(batch.slice(begin, _WRITE_ROWS))
    return ClusteredStore.open(path)


class ClusteredWriter:
    """Writes a clustered copy from batches that come in key order, in bounded memory.

    Leaving its `with` block publishes what was written; leaving it by an exception leaves the copy
    as it was. Holds the rows of at most one batch and one page.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        schema: pa.Schema,
        key: str | Sequence[str],
        *,
        page_rows: int | None = None,
        page_bytes: int = PAGE_BYTES,
        leaf_pages: int = LEAF_PAGES,
        file_bytes: int = FILE_BYTES,
    ) -> None:
        self.null_key_rows = 0  # left out by the caller, beside those that `write` leaves out
        self._key = checked_key(key)
        checked_columns(schema, self._key, None)
        self._runs = KeyRuns(
            schema, self._key, f"sort the batches by {', '.join(self._key)} first, or use build()"
        )
        self._cut = PageCutter(page_rows, page_bytes)
        if leaf_pages < 1:
            raise ArgumentError(f"leaf_pages={leaf_pages}; a leaf holds at least one page")
        self._publication: Publication | None = Publication(Path(path))
        try:
            self._pages = PageWriter(
                self._publication.folder,
                "clustered",
                schema,
                self._key,
                leaf_pages=leaf_pages,
                file_bytes=file_bytes,
            )
        except BaseException:
            self._publication.abandon()
            raise

    def __enter__(self) -> ClusteredWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.publish()
        else:
            self.abandon()

    def write(self, batch: pa.RecordBatch) -> None:
        """Append rows, the first not below the last one written before."""
        self._open()
        batch, same = self._runs.add(batch)
        if batch.num_rows == 0:
            return
        for page, continued in self._cut.add(batch, same):
            self._pages.add(page, continued)

    def publish(self) -> None:
        """Write what is left and make this the version that is read from now on."""
        publication = self._open()
        try:
            for page, continued in self._cut.rest():
                self._pages.add(page, continued)
            dropped = self.null_key_rows + self._runs.null_key_rows
            manifest = self._pages.finish(unique=self._runs.unique, null_key_rows=dropped)
            publication.publish(manifest.content, manifest_digest(publication.folder))
        except BaseException:
            self.abandon()
            raise
        self._publication = None

    def abandon(self) -> None:
        """Leave the copy as it was. Safe to call twice."""
        if self._publication is not None:
            self._pages.abandon()
            self._publication.abandon()
            self._publication = None

    def _open(self) -> Publication:
        if self._publication is None:
            raise UsageError("this writer has published or been abandoned; make a new one")
        return self._publication


class PageCutter:
    """Cuts batches into pages of `page_rows` rows, or of about `page_bytes` bytes.

    By bytes, the rows of a page follow from the mean row of the rows at hand; where rows differ
    so much that a page comes out at four times its size, it is halved until it doesn't.
    """

    def __init__(self, page_rows: int | None, page_bytes: int) -> None:
        if page_rows is not None and page_rows < 1:
            raise ArgumentError(f"page_rows={page_rows}; a page has at least one row")
        if page_bytes < 1:
            raise ArgumentError(f"page_bytes={page_bytes}; give a positive number of bytes")
        self._page_rows = page_rows
        self._page_bytes = page_bytes
        self._batch: pa.RecordBatch | None = None
        self._same: NDArray[np.bool_] = np.zeros(0, np.bool_)

    def add(self, batch: pa.RecordBatch, same: NDArray[np.bool_]) -> Iterator[tuple[pa.RecordBatch, bool]]:
        """The pages that are complete, and whether each begins with the key of the row before it."""
        if self._batch is not None:
            batch = pa.concat_batches([self._batch, batch])
            same = np.concatenate([self._same, same])
        rows = self._rows_of(batch)
        whole = batch.num_rows // rows * rows
        yield from self._pages(batch.slice(0, whole), same[:whole], rows)
        self._batch = batch.slice(whole) if whole < batch.num_rows else None
        self._same = same[whole:]

    def rest(self) -> Iterator[tuple[pa.RecordBatch, bool]]:
        """The last page, which may be short."""
        if self._batch is not None:
            yield from self._pages(self._batch, self._same, self._batch.num_rows)
            self._batch = None

    def _rows_of(self, batch: pa.RecordBatch) -> int:
        if self._page_rows is not None:
            return self._page_rows
        return rows_a_page(batch, self._page_bytes)

    def _pages(
        self, batch: pa.RecordBatch, same: NDArray[np.bool_], rows: int
    ) -> Iterator[tuple[pa.RecordBatch, bool]]:
        for begin in range(0, batch.num_rows, rows):
            page, flags = batch.slice(begin, rows), same[begin : begin + rows]
            if self._page_rows is None and page.num_rows > 1 and page.nbytes > 4 * self._page_bytes:
                yield from self._pages(page, flags, (page.num_rows + 1) // 2)
            else:
                yield page, bool(flags[0])


def rows_a_page(batch: pa.RecordBatch, page_bytes: int) -> int:
    """How many of these rows come closest to `page_bytes`, from 1 to 8192."""
    mean = batch.nbytes / max(batch.num_rows, 1)
    return int(min(max(page_bytes // max(mean, 1e-9), 1), PAGE_MAX_ROWS))
