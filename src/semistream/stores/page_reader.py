"""Reads the pages and leaves of one version's folder. Its counterpart is `page_writer`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from semistream.errors import CorruptStoreError, StoreError
from semistream.keys import KeyCodec
from semistream.stores.base import PageRun
from semistream.stores.device import PageFiles, Stretch
from semistream.stores.directory import Fences, Pages
from semistream.stores.directory_writer import fence_names
from semistream.stores.leaves import Leaf, Places
from semistream.stores.manifest import ROOT, FileEntry, Manifest, digest
from semistream.stores.stored import restored, restored_batch


class PageReader:
    """The open files of one version. Thread-safe for reading."""

    def __init__(
        self, folder: Path, manifest: Manifest, io: str, remedy: str, *, fenced: bool = True
    ) -> None:
        self._manifest, self._remedy, self._fenced = manifest, remedy, fenced
        self._codec = KeyCodec.of_master([manifest.schema.field(name) for name in manifest.key])
        root = _read_root(folder / ROOT, manifest, remedy)
        self._root_places = _places(root)
        self._root = root
        leaf_fields = [*root.schema, pa.field("rows", pa.int64())]
        self._leaf_schema = pa.schema(leaf_fields)
        self.data = _open(folder, manifest.data_files, io, remedy)
        try:
            self._leaves = _open(folder, manifest.leaf_files, io, remedy)
        except BaseException:
            self.data.close()
            raise

    @property
    def held_bytes(self) -> int:
        """The root, which is held as long as the files are open."""
        return int(self._root.nbytes) + self._root_places.nbytes

    def fences(self) -> Fences:
        manifest = self._manifest
        keys = self._codec.encode(self._keys(self._root))
        return Fences(
            self._codec,
            manifest.pages,
            keys,
            _flags(self._root),
            self.leaf,
            manifest.leaf_bytes,
            manifest.key_bytes,
            placed=True,
            leaf_pages=manifest.leaf_pages,
        )

    def leaf(self, number: int) -> Leaf:
        """Leaf `number`, read and verified."""
        rows = np.array([number], np.int64)
        stretch = next(self._leaves.stretches(rows, self._root_places.take(rows)))
        batch = self._parse(stretch, 0, self._leaf_schema)
        fences = self._codec.encode(self._keys(batch)) if self._fenced else None
        return Leaf(fences, _flags(batch), _places(batch), 1, stretch.bytes_read)

    def runs(
        self, pages: Pages, places: Places, columns: list[str], reads: int, bytes_read: int
    ) -> Iterator[PageRun]:
        """The rows of `pages`, which lie at `places`. `reads` and `bytes_read` were spent on finding
        the places, and count with the first run."""
        manifest = self._manifest
        schema = pa.schema(
            [manifest.schema.field(name) for name in columns], metadata=manifest.schema.metadata
        )
        for stretch in self.data.stretches(pages, places):
            parsed = [
                self._parse(stretch, at, manifest.stored).select(columns) for at in range(len(stretch.begins))
            ]
            offsets = np.zeros(len(parsed) + 1, np.int64)
            np.cumsum([batch.num_rows for batch in parsed], out=offsets[1:])
            batch = parsed[0] if len(parsed) == 1 else pa.concat_batches(parsed)
            yield PageRun(
                stretch.first,
                offsets,
                restored_batch(batch, schema),
                stretch.bytes_read + bytes_read,
                1 + reads,
            )
            reads, bytes_read = 0, 0

    def close(self) -> None:
        self.data.close()
        self._leaves.close()

    def _keys(self, batch: pa.RecordBatch) -> list[pa.Array]:
        schema, key = self._manifest.schema, self._manifest.key
        columns = zip(fence_names(len(key)), key, strict=True)
        return [restored(batch.column(name), schema.field(column).type) for name, column in columns]

    def _parse(self, stretch: Stretch, at: int, schema: pa.Schema) -> pa.RecordBatch:
        begin, end = int(stretch.begins[at]), int(stretch.ends[at])
        try:
            return pa.ipc.read_record_batch(pa.py_buffer(stretch.data[begin:end]), schema)
        except (pa.ArrowException, OSError) as error:
            raise CorruptStoreError(
                f"page {stretch.first + at} can't be parsed ({error}); {self._remedy}"
            ) from error


def _open(folder: Path, entries: tuple[FileEntry, ...], io: str, remedy: str) -> PageFiles:
    return PageFiles(
        [folder / entry.name for entry in entries], [entry.bytes for entry in entries], io, remedy
    )


def _read_root(path: Path, manifest: Manifest, remedy: str) -> pa.RecordBatch:
    try:
        data = path.read_bytes()
    except FileNotFoundError as error:
        raise StoreError(f"{path} is missing; {remedy}") from error
    except OSError as error:
        raise StoreError(f"{path} can't be read: {error.strerror}") from error
    if digest(data) != manifest.root_digest:
        raise CorruptStoreError(f"{path} doesn't hold what was written; {remedy}")
    table = pa.ipc.open_file(pa.py_buffer(data)).read_all().combine_chunks()
    batches = table.to_batches()
    if batches:
        return batches[0]
    return pa.RecordBatch.from_arrays(
        [pa.array([], field.type) for field in table.schema], schema=table.schema
    )


def _flags(batch: pa.RecordBatch) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    flags: np.ndarray[tuple[int], np.dtype[np.bool_]] = batch.column("continued").to_numpy(
        zero_copy_only=False
    )
    return flags.astype(np.bool_)


def _places(batch: pa.RecordBatch) -> Places:
    file, offset, length, checksum = (
        batch.column(name).to_numpy() for name in ("file", "offset", "length", "checksum")
    )
    # Copies: a view would keep the block as it was read alive.
    return Places(file.copy(), offset.copy(), length.copy(), checksum.copy())
