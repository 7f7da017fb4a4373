"""Writes pages one after another: Arrow IPC files, and a directory to them.

Memory is bounded by one page, one leaf and the root: what is known of a page goes to a leaf block
as soon as the block is full.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from semistream.stores.directory_writer import DirectoryWriter, entry_schema
from semistream.stores.ipc_files import FILE_BYTES, IpcFiles, Place, place_arrays
from semistream.stores.leaves import LEAF_PAGES
from semistream.stores.manifest import FileEntry, Manifest
from semistream.stores.stored import DictionaryLimits, restored_batch, stored, stored_schema


class PageFilesWriter:
    """Pages in files of a folder, without a directory: `entries` gives what it has to know of them."""

    def __init__(
        self,
        folder: Path,
        schema: pa.Schema,
        key: tuple[str, ...],
        *,
        fenced: bool = True,
        file_bytes: int = FILE_BYTES,
    ) -> None:
        self.entry_schema = entry_schema(schema, key, fenced)
        self._key = key if fenced else ()
        self._schema = schema
        self._stored = stored_schema(schema)
        self._limits = DictionaryLimits(schema)
        self._files = IpcFiles(folder, "pages", self._stored, file_bytes)
        self._block: list[tuple[list[pa.Array], bool, Place, int, int]] = []

    @property
    def waiting(self) -> int:
        """The pages whose entries haven't been asked for."""
        return len(self._block)

    def add(self, batch: pa.RecordBatch, continued: bool) -> None:
        """Write one page, a batch of the master's schema with at least one row."""
        self._limits.add(batch)
        columns = [
            stored(array, field.type) for array, field in zip(batch.columns, self._stored, strict=True)
        ]
        page = pa.RecordBatch.from_arrays(columns, schema=self._stored)
        place = self._files.write(page)
        # Concatenated, a fence is a copy of its own: a slice would keep its whole page alive.
        fence = [pa.concat_arrays([page.column(name).slice(0, 1)]) for name in self._key]
        # As it will be read: what comes in may drag along bytes of other rows (views, dictionaries).
        size = restored_batch(page, self._schema).nbytes
        self._block.append((fence, continued, place, page.num_rows, size))

    def entries(self) -> pa.RecordBatch:
        """The entries of the pages written since the last call."""
        block, self._block = self._block, []
        if not block:
            return pa.RecordBatch.from_pylist([], self.entry_schema)
        fences = [pa.concat_arrays([entry[0][part] for entry in block]) for part in range(len(self._key))]
        continued = pa.array([entry[1] for entry in block], pa.bool_())
        places = place_arrays([entry[2] for entry in block])
        sizes = [pa.array([entry[at] for entry in block], pa.int64()) for at in (3, 4)]
        return pa.RecordBatch.from_arrays([*fences, continued, *places, *sizes], schema=self.entry_schema)

    def close(self) -> tuple[FileEntry, ...]:
        """Sync the files to disk; what they are."""
        return self._files.close()

    def abandon(self) -> None:
        self._files.abandon()


class PageWriter:
    """A folder of pages. `fenced` pages are in key order, and leaves hold the first key of each."""

    def __init__(
        self,
        folder: Path,
        kind: str,
        schema: pa.Schema,
        key: tuple[str, ...],
        *,
        fenced: bool = True,
        leaf_pages: int = LEAF_PAGES,
        file_bytes: int = FILE_BYTES,
    ) -> None:
        self._leaf_pages = leaf_pages
        self._pages = PageFilesWriter(folder, schema, key, fenced=fenced, file_bytes=file_bytes)
        self._directory = DirectoryWriter(
            folder, kind, schema, key, fenced=fenced, leaf_pages=leaf_pages, file_bytes=file_bytes
        )

    def add(self, batch: pa.RecordBatch, continued: bool) -> None:
        """Write one page, a batch of the master's schema with at least one row."""
        self._pages.add(batch, continued)
        if self._pages.waiting == self._leaf_pages:
            self._directory.add(self._pages.entries())

    def finish(self, *, unique: bool, null_key_rows: int, inner_digest: str = "") -> Manifest:
        """Write what is left, then root and manifest, and sync everything to disk."""
        if self._pages.waiting:
            self._directory.add(self._pages.entries())
        return self._directory.finish(
            self._pages.close(), unique=unique, null_key_rows=null_key_rows, inner_digest=inner_digest
        )

    def abandon(self) -> None:
        self._pages.abandon()
        self._directory.abandon()
