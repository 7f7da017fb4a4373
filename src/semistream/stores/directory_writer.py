"""Writes what leads to pages: leaf blocks, root and manifest.

An *entry* is what a directory keeps of one page: its first key, whether that key began on the page
before, where the page lies, and its size. Entries come in batches, from pages written here and now or
by tasks on other machines. Memory is bounded by one leaf and the root.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from semistream.keys import KeyCodec
from semistream.stores.ipc_files import FILE_BYTES, PLACE_FIELDS, IpcFiles, place_arrays
from semistream.stores.leaves import LEAF_PAGES, Leaf, Places
from semistream.stores.manifest import MANIFEST, ROOT, FileEntry, Manifest, digest
from semistream.stores.publication import sync_folder, write_synced
from semistream.stores.stored import stored_schema

_SIZE_FIELDS = [pa.field("rows", pa.int64()), pa.field("bytes", pa.int64())]


def fence_names(count: int) -> list[str]:
    return [f"key_{part}" for part in range(count)]


def entry_schema(schema: pa.Schema, key: tuple[str, ...], fenced: bool) -> pa.Schema:
    """The columns of entries; `bytes` is what a page takes in memory."""
    types = [stored_schema(schema).field(column).type for column in key] if fenced else []
    fences = [pa.field(name, kind) for name, kind in zip(fence_names(len(types)), types, strict=True)]
    return pa.schema([*fences, pa.field("continued", pa.bool_()), *PLACE_FIELDS, *_SIZE_FIELDS])


class DirectoryWriter:
    """A folder's leaves, root and manifest, from entries in the order of the pages."""

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
        self._folder, self._kind, self._schema, self._key = folder, kind, schema, key
        self._fenced, self._leaf_pages = fenced, leaf_pages
        self._stored = stored_schema(schema)
        self._codec = KeyCodec.of_master([schema.field(name) for name in key])
        self._content = hashlib.blake2b(digest_size=16)
        self._content.update(self._stored.serialize().to_pybytes() + schema.serialize().to_pybytes())
        self._content.update("\0".join([kind, *key]).encode())
        fields = list(entry_schema(schema, key, fenced))
        self._root_schema = pa.schema(fields[: -len(_SIZE_FIELDS)])
        self._leaves = IpcFiles(folder, "leaves", pa.schema(fields[:-1]), file_bytes)
        self._waiting: list[pa.RecordBatch] = []
        self._waiting_pages = 0
        self._root: list[pa.RecordBatch] = []
        self._pages = self._rows = 0
        self._max_rows = self._max_bytes = self._leaf_bytes = self._key_bytes = 0

    def add(self, entries: pa.RecordBatch) -> None:
        """Take the entries of the next pages."""
        self._waiting.append(entries)
        self._waiting_pages += entries.num_rows
        if self._waiting_pages >= self._leaf_pages:
            together = pa.concat_batches(self._waiting)
            whole = together.num_rows // self._leaf_pages * self._leaf_pages
            for begin in range(0, whole, self._leaf_pages):
                self._end_leaf(together.slice(begin, self._leaf_pages))
            self._waiting_pages = together.num_rows - whole
            self._waiting = [together.slice(whole)] if self._waiting_pages else []

    def finish(
        self,
        data_files: tuple[FileEntry, ...],
        *,
        unique: bool,
        null_key_rows: int,
        inner_digest: str = "",
    ) -> Manifest:
        """Write what is left, then root and manifest, and sync everything to disk."""
        if self._waiting_pages:
            self._end_leaf(pa.concat_batches(self._waiting))
        leaf_files = self._leaves.close()
        root = _file_bytes(self._root_schema, self._root)
        write_synced(self._folder / ROOT, root)
        self._content.update(inner_digest.encode())
        manifest = Manifest(
            kind=self._kind,
            schema=self._schema,
            stored=self._stored,
            key=self._key,
            rows=self._rows,
            null_key_rows=null_key_rows,
            unique=unique,
            pages=self._pages,
            page_max_rows=self._max_rows,
            page_max_bytes=self._max_bytes,
            leaf_pages=self._leaf_pages,
            leaf_bytes=self._leaf_bytes,
            key_bytes=self._key_bytes,
            data_files=data_files,
            leaf_files=leaf_files,
            root_bytes=len(root),
            root_digest=digest(root),
            content=self._content.hexdigest(),
            inner_digest=inner_digest,
        )
        write_synced(self._folder / MANIFEST, manifest.to_json().encode())
        sync_folder(self._folder)
        return manifest

    def abandon(self) -> None:
        self._leaves.abandon()

    def _end_leaf(self, entries: pa.RecordBatch) -> None:
        self._count(entries)
        where = self._leaves.write(entries.select(self._leaves.schema.names))
        parts = len(self._key) if self._fenced else 0
        fences = entries.columns[:parts]
        first = [*(part.slice(0, 1) for part in fences), entries.column("continued").slice(0, 1)]
        # Concatenated, a root line is a copy of its own: a slice would keep its whole leaf alive.
        line = [*(pa.concat_arrays([part]) for part in first), *place_arrays([where])]
        self._root.append(pa.RecordBatch.from_arrays(line, schema=self._root_schema))
        self._measure(fences, entries.num_rows)

    def _count(self, entries: pa.RecordBatch) -> None:
        sums = np.empty((entries.num_rows, 2), "<u8")
        sums[:, 0], sums[:, 1] = entries.column("checksum").to_numpy(), entries.column("length").to_numpy()
        self._content.update(sums.tobytes())
        self._pages += entries.num_rows
        self._rows += pc.sum(entries.column("rows")).as_py()
        self._max_rows = max(self._max_rows, pc.max(entries.column("rows")).as_py())
        largest = (pc.max(entries.column(name)).as_py() for name in ("bytes", "length"))
        self._max_bytes = max(self._max_bytes, *largest)

    def _measure(self, fences: list[pa.Array], pages: int) -> None:
        """What this leaf will take in a reader's memory."""
        keys = None
        if fences:
            named = [
                fence.cast(self._schema.field(name).type)
                for fence, name in zip(fences, self._key, strict=True)
            ]
            keys = self._codec.encode(named)
            self._key_bytes += 0 if keys.data is None else len(keys.data)
        leaf = Leaf(keys, np.zeros(pages, np.bool_), Places.empty(pages))
        self._leaf_bytes = max(self._leaf_bytes, leaf.nbytes)


def manifest_digest(folder: Path) -> str:
    return digest((folder / MANIFEST).read_bytes())


def _file_bytes(schema: pa.Schema, batches: list[pa.RecordBatch]) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, schema) as writer:
        writer.write_table(pa.Table.from_batches(batches, schema=schema).combine_chunks())
    return bytes(sink.getvalue().to_pybytes())
