"""One part of a version, written by one of many tasks, wherever it runs. `assembly` makes a version of them.

Each attempt at a part writes to a folder of its own, so that a task that is tried again, or twice at
once, meets nobody's files; only the attempt whose `Part` reaches the driver counts.

```
<scratch>/marker                        from the driver: a task that finds it sees the same folder
<scratch>/00003-<nonce>/
    pages-00000.arrow ...               the rows, one record batch a page
    entries.arrow                       what a directory has to know of each page
    places.arrow                        in a heap: each key, its first and last page here, its rows
```
"""

from __future__ import annotations

import hashlib
import os
import shutil
import socket
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from semistream.errors import CorruptStoreError, StoreError
from semistream.stores.clustered_build import PAGE_BYTES, PageCutter
from semistream.stores.directory_writer import fence_names
from semistream.stores.ipc_files import FILE_BYTES
from semistream.stores.key_runs import KeyRuns, one_row
from semistream.stores.manifest import FileEntry
from semistream.stores.page_writer import PageFilesWriter
from semistream.structures.views import taken_array

MARKER = "marker"
ENTRIES = "entries.arrow"
PLACES = "places.arrow"
HEAP = "heap"
_BLOCK_PAGES = 512


@dataclass(frozen=True, slots=True)
class PartPlan:
    """What a task has to know to write a part: small, and the same for all of them."""

    scratch: Path
    marker: str
    kind: str
    schema: pa.Schema
    key: tuple[str, ...]
    page_rows: int | None = None
    page_bytes: int = PAGE_BYTES
    file_bytes: int = FILE_BYTES

    @property
    def fenced(self) -> bool:
        """Whether rows come in key order, so that the first key of a page says what is on it."""
        return self.kind != HEAP

    def check_visible(self) -> None:
        """That this process sees the folder the driver made, or a `StoreError` that names the host."""
        host = socket.gethostname()
        try:
            found = (self.scratch / MARKER).read_text()
        except FileNotFoundError:
            found = ""
        except OSError as error:
            raise StoreError(f"on host {host}, {self.scratch} can't be read: {error.strerror}") from error
        if found != self.marker:
            raise StoreError(
                f"host {host} doesn't see the folder {self.scratch} that the driver made: the copy has to be "
                "on a file system that the driver and every executor share, at the same path; "
                "give such a path, or run Spark on one machine with master local[*]"
            )


@dataclass(frozen=True, slots=True)
class Part:
    """What a task says of the part it wrote. `ends` is its first and last key, as an IPC stream."""

    number: int
    name: str
    host: str
    rows: int
    pages: int
    null_key_rows: int
    unique: bool
    ends: bytes
    files: tuple[FileEntry, ...]
    entries_digest: str
    places_digest: str


class PartWriter:
    """Writes a part from batches in the order of the copy. Holds at most one batch and 512 entries."""

    def __init__(self, plan: PartPlan, number: int) -> None:
        plan.check_visible()
        self._plan, self._number = plan, number
        self._folder = plan.scratch / f"{number:05d}-{uuid.uuid4().hex[:12]}"
        remedy = "the sort that came before orders keys in another way; cast the key to a plain type"
        self._runs = KeyRuns(plan.schema, plan.key, remedy if plan.fenced else None)
        self._cut = PageCutter(plan.page_rows, plan.page_bytes)
        try:
            self._folder.mkdir()
        except OSError as error:
            raise StoreError(
                f"host {socket.gethostname()} can't write to {plan.scratch}: {error.strerror}; "
                "let the user that Spark's executors run as write there"
            ) from error
        self._pages = PageFilesWriter(
            self._folder, plan.schema, plan.key, fenced=plan.fenced, file_bytes=plan.file_bytes
        )
        self._entries = _Stream(self._folder / ENTRIES, self._pages.entry_schema)
        self._places = None if plan.fenced else _PlacesWriter(self._folder / PLACES, plan)

    def write(self, batch: pa.RecordBatch) -> None:
        """Append rows."""
        batch, same = self._runs.add(batch)
        if batch.num_rows:
            self._add(self._cut.add(batch, same))

    def finish(self) -> Part:
        """Sync everything to disk; what was written."""
        self._add(self._cut.rest())
        if self._pages.waiting:
            self._entries.write(self._pages.entries())
        entries_digest = self._entries.close()
        places_digest = "" if self._places is None else self._places.close()
        files = self._pages.close()
        return Part(
            number=self._number,
            name=self._folder.name,
            host=socket.gethostname(),
            rows=self._runs.rows,
            pages=sum(file.pages for file in files),
            null_key_rows=self._runs.null_key_rows,
            unique=self._runs.unique,
            ends=_packed(self._runs.ends()),
            files=files,
            entries_digest=entries_digest,
            places_digest=places_digest,
        )

    def abandon(self) -> None:
        """Remove what this attempt wrote."""
        self._pages.abandon()
        self._entries.abandon()
        if self._places is not None:
            self._places.abandon()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _add(self, pages: Iterator[tuple[pa.RecordBatch, bool]]) -> None:
        for page, continued in pages:
            self._pages.add(page, continued and self._plan.fenced)
            if self._places is not None:
                self._places.add(page)
            if self._pages.waiting == _BLOCK_PAGES:
                self._entries.write(self._pages.entries())


def places_schema(schema: pa.Schema, key: tuple[str, ...]) -> pa.Schema:
    """The columns of a heap's index."""
    names = zip(fence_names(len(key)), key, strict=True)
    counts = [pa.field(name, pa.int64()) for name in ("first", "last", "rows")]
    return pa.schema([*(pa.field(name, schema.field(column).type) for name, column in names), *counts])


def read_entries(plan: PartPlan, part: Part) -> Iterator[pa.RecordBatch]:
    yield from _read_stream(plan.scratch / part.name / ENTRIES, part.entries_digest, part.host)


def read_places(plan: PartPlan, part: Part, pages_before: int) -> Iterator[pa.RecordBatch]:
    """Where a part's keys are, in pages of the whole heap."""
    plan.check_visible()
    for batch in _read_stream(plan.scratch / part.name / PLACES, part.places_digest, part.host):
        columns = list(batch.columns)
        for name in ("first", "last"):
            at = batch.schema.get_field_index(name)
            columns[at] = pa.array(batch.column(at).to_numpy() + pages_before)
        yield pa.RecordBatch.from_arrays(columns, schema=batch.schema)


def unpacked(data: bytes) -> pa.RecordBatch:
    """What `Part.ends` holds."""
    with pa.ipc.open_stream(pa.py_buffer(data)) as reader:
        return reader.read_next_batch()


def _packed(batch: pa.RecordBatch) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return bytes(sink.getvalue().to_pybytes())


class _PlacesWriter:
    """Follows keys over the pages of a part: on which pages each lies, and how many rows it has."""

    def __init__(self, path: Path, plan: PartPlan) -> None:
        self._schema = places_schema(plan.schema, plan.key)
        self._key = plan.key
        self._runs = KeyRuns(plan.schema, plan.key, None)
        self._stream = _Stream(path, self._schema)
        self._page = 0
        self._open: list[pa.Array] = []  # the last key, whose rows may go on
        self._open_first = self._open_rows = 0

    def add(self, page: pa.RecordBatch) -> None:
        _, same = self._runs.add(page)
        starts = np.flatnonzero(~same)
        columns = [page.column(name) for name in self._key]
        if len(starts) == 0:
            self._open_rows += page.num_rows
        else:
            self._open_rows += int(starts[0])
            # A key that goes on ends on this page, one whose rows are all behind us on the page before.
            self._end(self._page if starts[0] else self._page - 1)
            whole = starts[:-1]
            self._write(columns, whole, np.full(len(whole), self._page), np.diff(starts))
            last = int(starts[-1])
            self._open = [one_row(column, last) for column in columns]
            self._open_first, self._open_rows = self._page, page.num_rows - last
        self._page += 1

    def close(self) -> str:
        self._end(self._page - 1)
        return self._stream.close()

    def abandon(self) -> None:
        self._stream.abandon()

    def _end(self, last: int) -> None:
        if self._open:
            counts = (np.array([self._open_first]), np.array([last]), np.array([self._open_rows]))
            self._put([*self._open, *(pa.array(count) for count in counts)])
            self._open = []

    def _write(
        self,
        columns: list[pa.Array],
        starts: NDArray[np.int64],
        pages: NDArray[np.int64],
        rows: NDArray[np.int64],
    ) -> None:
        if len(starts):
            keys = [taken_array(column, starts) for column in columns]
            self._put([*keys, *(pa.array(count) for count in (pages, pages, rows))])

    def _put(self, columns: list[pa.Array]) -> None:
        self._stream.write(pa.RecordBatch.from_arrays(columns, schema=self._schema))


class _Stream:
    """An Arrow IPC stream in a file, and its digest."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self._path = path
        self._file = open(path, "xb")  # noqa: SIM115 - closed by close()
        self._writer = pa.ipc.new_stream(self._file, schema)

    def write(self, batch: pa.RecordBatch) -> None:
        self._writer.write_batch(batch)

    def close(self) -> str:
        self._writer.close()
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        return _digest_of(self._path)

    def abandon(self) -> None:
        self._file.close()


def _digest_of(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()


def _read_stream(path: Path, expected: str, host: str) -> Iterator[pa.RecordBatch]:
    try:
        found = _digest_of(path)
    except OSError as error:
        raise StoreError(
            f"{path}, which host {host} wrote, can't be read on {socket.gethostname()}: {error.strerror}; "
            "the copy has to be on a file system that the driver and every executor share"
        ) from error
    if found != expected:
        raise CorruptStoreError(f"{path} doesn't hold what host {host} wrote; build the copy again")
    with pa.OSFile(str(path)) as file, pa.ipc.open_stream(file) as reader:
        yield from reader
