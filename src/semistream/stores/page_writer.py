"""Writes pages one after another: Arrow IPC files, leaf blocks beside them, root and manifest.

Memory is bounded by one page, one leaf and the root: what is known of a page goes to a leaf block
as soon as the block is full.
"""

from __future__ import annotations

import hashlib
import io
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from semistream.errors import StoreError
from semistream.keys import KeyCodec
from semistream.stores.checksums import checksums
from semistream.stores.leaves import LEAF_PAGES, Leaf, Places
from semistream.stores.manifest import MANIFEST, ROOT, FileEntry, Manifest, digest
from semistream.stores.publication import sync_folder, write_synced
from semistream.stores.stored import DictionaryLimits, stored, stored_schema

FILE_BYTES = 1 << 30

PLACE_FIELDS = [
    pa.field("file", pa.int32()),
    pa.field("offset", pa.int64()),
    pa.field("length", pa.int64()),
    pa.field("checksum", pa.uint64()),
]


def fence_names(count: int) -> list[str]:
    return [f"key_{part}" for part in range(count)]


@dataclass(frozen=True, slots=True)
class Place:
    file: int
    offset: int
    length: int
    checksum: int


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
        self._folder, self._kind, self._schema, self._key = folder, kind, schema, key
        self._fenced, self._leaf_pages = fenced, leaf_pages
        self._stored = stored_schema(schema)
        self._limits = DictionaryLimits(schema)
        self._codec = KeyCodec.of_master([schema.field(name) for name in key])
        self._content = hashlib.blake2b(digest_size=16)
        self._content.update(self._stored.serialize().to_pybytes() + schema.serialize().to_pybytes())
        self._content.update("\0".join([kind, *key]).encode())
        self._data = _IpcFiles(folder, "pages", self._stored, file_bytes)
        fences = [
            pa.field(name, self._stored.field(column).type)
            for name, column in zip(fence_names(len(key)), key, strict=True)
        ]
        leaf_fields = [*(fences if fenced else []), pa.field("continued", pa.bool_()), *PLACE_FIELDS]
        self._leaves = _IpcFiles(
            folder, "leaves", pa.schema([*leaf_fields, pa.field("rows", pa.int64())]), file_bytes
        )
        self._root_schema = pa.schema(leaf_fields)
        self._block: list[tuple[list[pa.Array], bool, Place, int]] = []
        self._root: list[pa.RecordBatch] = []
        self.pages = self.rows = 0
        self._max_rows = self._max_bytes = self._leaf_bytes = self._key_bytes = 0

    def add(self, batch: pa.RecordBatch, continued: bool) -> None:
        """Write one page, a batch of the master's schema with at least one row."""
        self._limits.add(batch)
        columns = [
            stored(array, field.type) for array, field in zip(batch.columns, self._stored, strict=True)
        ]
        page = pa.RecordBatch.from_arrays(columns, schema=self._stored)
        place = self._data.write(page)
        self._content.update(place.checksum.to_bytes(8, "little") + place.length.to_bytes(8, "little"))
        fence = [page.column(name).slice(0, 1) for name in self._key] if self._fenced else []
        # Concatenated, a fence is a copy of its own: a slice would keep its whole page alive.
        self._block.append(([pa.concat_arrays([part]) for part in fence], continued, place, page.num_rows))
        self.pages += 1
        self.rows += page.num_rows
        self._max_rows = max(self._max_rows, page.num_rows)
        self._max_bytes = max(self._max_bytes, batch.nbytes, place.length)
        if len(self._block) == self._leaf_pages:
            self._end_leaf()

    def finish(self, *, unique: bool, null_key_rows: int, inner_digest: str = "") -> Manifest:
        """Write what is left, then root and manifest, and sync everything to disk."""
        if self._block:
            self._end_leaf()
        data_files, leaf_files = self._data.close(), self._leaves.close()
        root = _file_bytes(self._root_schema, self._root)
        write_synced(self._folder / ROOT, root)
        self._content.update(inner_digest.encode())
        manifest = Manifest(
            kind=self._kind,
            schema=self._schema,
            stored=self._stored,
            key=self._key,
            rows=self.rows,
            null_key_rows=null_key_rows,
            unique=unique,
            pages=self.pages,
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
        self._data.abandon()
        self._leaves.abandon()

    def _end_leaf(self) -> None:
        parts = len(self._key) if self._fenced else 0
        fences = [pa.concat_arrays([entry[0][part] for entry in self._block]) for part in range(parts)]
        continued = pa.array([entry[1] for entry in self._block], pa.bool_())
        places = _place_arrays([entry[2] for entry in self._block])
        rows = pa.array([entry[3] for entry in self._block], pa.int64())
        batch = pa.RecordBatch.from_arrays([*fences, continued, *places, rows], schema=self._leaves.schema)
        where = self._leaves.write(batch)
        first = [*(part.slice(0, 1) for part in fences), continued.slice(0, 1), *_place_arrays([where])]
        self._root.append(
            pa.RecordBatch.from_arrays([pa.concat_arrays([part]) for part in first], schema=self._root_schema)
        )
        self._measure(fences)
        self._block = []

    def _measure(self, fences: list[pa.Array]) -> None:
        """What this leaf will take in a reader's memory."""
        keys = None
        if fences:
            named = [
                fence.cast(self._schema.field(name).type)
                for fence, name in zip(fences, self._key, strict=True)
            ]
            keys = self._codec.encode(named)
            self._key_bytes += 0 if keys.data is None else len(keys.data)
        pages = len(self._block)
        leaf = Leaf(keys, np.zeros(pages, np.bool_), Places.empty(pages))
        self._leaf_bytes = max(self._leaf_bytes, leaf.nbytes)


def manifest_digest(folder: Path) -> str:
    return digest((folder / MANIFEST).read_bytes())


def _place_arrays(places: list[Place]) -> list[pa.Array]:
    columns = zip(
        *((place.file, place.offset, place.length, place.checksum) for place in places), strict=True
    )
    return [pa.array(values, field.type) for values, field in zip(columns, PLACE_FIELDS, strict=True)]


def _file_bytes(schema: pa.Schema, batches: list[pa.RecordBatch]) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, schema) as writer:
        writer.write_table(pa.Table.from_batches(batches, schema=schema).combine_chunks())
    return bytes(sink.getvalue().to_pybytes())


class _Tee(io.RawIOBase):
    """A file that keeps what was written since it was last asked, so that checksums are taken of
    the very bytes that go to disk."""

    def __init__(self, path: Path) -> None:
        self._file = open(path, "xb")  # noqa: SIM115 - closed by close()
        self._fresh = bytearray()
        self.size = 0

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        with memoryview(data) as view:  # type: ignore[arg-type]
            self._fresh += view
            self.size += view.nbytes
            return view.nbytes

    def take(self) -> bytearray:
        """Pass on to the file what is fresh, and give it back."""
        fresh, self._fresh = self._fresh, bytearray()
        self._file.write(fresh)
        return fresh

    def seal(self) -> None:
        self.take()
        self._file.flush()
        os.fsync(self._file.fileno())
        self.close()

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


class _IpcFiles:
    """Arrow IPC files of bounded size, one record batch a page, uncompressed."""

    def __init__(self, folder: Path, stem: str, schema: pa.Schema, file_bytes: int) -> None:
        self.schema = schema
        self._folder, self._stem, self._file_bytes = folder, stem, file_bytes
        self._entries: list[FileEntry] = []
        self._tee: _Tee | None = None
        self._writer: pa.RecordBatchFileWriter | None = None
        self._name, self._pages, self._rows = "", 0, 0

    def write(self, batch: pa.RecordBatch) -> Place:
        if self._tee is not None and self._tee.size >= self._file_bytes:
            self._end_file()
        if self._tee is None or self._writer is None:
            self._name = f"{self._stem}-{len(self._entries):05d}.arrow"
            self._tee = _Tee(self._folder / self._name)
            self._writer = pa.ipc.new_file(self._tee, self.schema)
        self._writer.write_batch(batch)
        length = pa.ipc.get_record_batch_size(batch)
        fresh = self._tee.take()
        offset = self._tee.size - length
        if length % 8 or offset % 8 or (self._pages and len(fresh) != length):
            raise StoreError(
                f"pyarrow {pa.__version__} lays record batches out in a way that isn't known here "
                f"({len(fresh)} bytes at {offset}, {length} expected); use another version of pyarrow"
            )
        page = np.frombuffer(fresh, np.uint8, length, len(fresh) - length).copy()
        checksum = checksums(page, np.zeros(1, np.int64), np.array([length], np.int64))[0]
        self._pages += 1
        self._rows += batch.num_rows
        return Place(len(self._entries), offset, length, int(checksum))

    def close(self) -> tuple[FileEntry, ...]:
        if self._tee is not None:
            self._end_file()
        return tuple(self._entries)

    def abandon(self) -> None:
        if self._tee is not None:
            self._tee.close()

    def _end_file(self) -> None:
        assert self._writer is not None
        assert self._tee is not None
        self._writer.close()
        self._tee.seal()
        self._entries.append(FileEntry(self._name, self._tee.size, self._pages, self._rows))
        self._tee, self._writer, self._pages, self._rows = None, None, 0, 0
