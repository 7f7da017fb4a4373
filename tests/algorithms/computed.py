"""A master of a billion rows that is nowhere: its pages, and its directory's leaves, are computed when
read."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from semistream.keys import Keys
from semistream.stores.base import PageLayout, PageRun, Version
from semistream.stores.directory import FenceDirectory, Fences
from semistream.stores.leaves import LEAF_PAGES, Leaf
from semistream.stores.paged import PagedStore, neighbours, page_chunks

Int64s = NDArray[np.int64]

BILLION = 1_000_000_000
KEY_STEP = 3  # of row r the key is 3 r: two keys in three have no row
SCHEMA = pa.schema([("k", pa.int64()), ("p", pa.int64()), ("name", pa.string())])


def payload_of(rows: Int64s) -> Int64s:
    return np.asarray(rows * 2_654_435_761 % 1_000_003, dtype=np.int64)


def name_of(row: int) -> str:
    return f"{row:012d}"


def _names(rows: Int64s) -> pa.Array:
    """`name_of` for many rows, digit by digit: Python's own formatting would be most of a page's cost."""
    powers = 10 ** np.arange(11, -1, -1, dtype=np.int64)
    digits = (rows[:, None] // powers % 10 + ord("0")).astype(np.uint8)
    offsets = np.arange(len(rows) + 1, dtype=np.int32) * 12
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(digits))]
    return pa.Array.from_buffers(pa.string(), len(rows), buffers)


class ComputedStore(PagedStore):
    """`rows` rows in pages of `page_rows`."""

    def __init__(self, rows: int = BILLION, page_rows: int = 256) -> None:
        super().__init__(SCHEMA, ("k",))
        self._rows, self._page_rows = rows, page_rows
        pages = -(-rows // page_rows)
        self._layout = PageLayout(pages, page_rows, self._batch(np.arange(page_rows), SCHEMA.names).nbytes)
        self._lock = threading.Lock()
        self.leaves_read = 0
        roots = np.arange(0, pages, LEAF_PAGES)
        self._fences = Fences(
            self._codec,
            pages,
            self._first_keys(roots),
            np.zeros(len(roots), np.bool_),
            self._leaf,
            leaf_bytes=self._leaf(0).nbytes,
        )

    @property
    def rows(self) -> int:
        return self._rows

    @property
    def unique(self) -> bool:
        return True

    @property
    def layout(self) -> PageLayout:
        return self._layout

    def version(self) -> Version:
        return Version(f"computed-{self._rows}-{self._page_rows}")

    def directory(self, memory: int) -> FenceDirectory:
        return FenceDirectory(self._fences, memory)

    def directory_bytes(self) -> tuple[int, int]:
        return self._fences.least_bytes, self._fences.flat_bytes

    def _runs(self, pages: Int64s, columns: list[str]) -> Iterator[PageRun]:
        for part in page_chunks(pages, self._layout.max_bytes):
            for run in neighbours(part):
                begin = int(run[0]) * self._page_rows
                end = min((int(run[-1]) + 1) * self._page_rows, self._rows)
                offsets = np.minimum(np.arange(len(run) + 1) * self._page_rows, end - begin)
                batch = self._batch(np.arange(begin, end), columns)
                yield PageRun(int(run[0]), offsets, batch, int(batch.nbytes), 1)

    def _batch(self, rows: Int64s, columns: list[str]) -> pa.RecordBatch:
        made = {
            "k": lambda: pa.array(rows * KEY_STEP),
            "p": lambda: pa.array(payload_of(rows)),
            "name": lambda: _names(rows),
        }
        return pa.record_batch({name: made[name]() for name in columns})

    def _leaf(self, number: int) -> Leaf:
        pages = np.arange(number * LEAF_PAGES, min((number + 1) * LEAF_PAGES, self._layout.pages))
        with self._lock:
            self.leaves_read += 1
        return Leaf(self._first_keys(pages), np.zeros(len(pages), np.bool_), bytes_read=8 * len(pages))

    def _first_keys(self, pages: Int64s) -> Keys:
        return self._codec.encode([pa.array(pages * self._page_rows * KEY_STEP)])
