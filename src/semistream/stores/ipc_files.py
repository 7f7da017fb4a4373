"""Arrow IPC files as they are written: one record batch after another, each with its place and checksum."""

from __future__ import annotations

import io
import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from semistream.errors import StoreError
from semistream.stores.checksums import checksums
from semistream.stores.manifest import FileEntry

FILE_BYTES = 1 << 30

PLACE_FIELDS = [
    pa.field("file", pa.int32()),
    pa.field("offset", pa.int64()),
    pa.field("length", pa.int64()),
    pa.field("checksum", pa.uint64()),
]


@dataclass(frozen=True, slots=True)
class Place:
    file: int
    offset: int
    length: int
    checksum: int


def place_arrays(places: list[Place]) -> list[pa.Array]:
    columns = zip(
        *((place.file, place.offset, place.length, place.checksum) for place in places), strict=True
    )
    return [pa.array(values, field.type) for values, field in zip(columns, PLACE_FIELDS, strict=True)]


def file_name(stem: str, number: int) -> str:
    return f"{stem}-{number:05d}.arrow"


class IpcFiles:
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
            self._name = file_name(self._stem, len(self._entries))
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
