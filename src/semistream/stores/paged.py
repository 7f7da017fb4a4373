"""What every store of pages has in common: reading in bounded runs, and looking keys up by page."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa

from semistream.errors import ArgumentError, ColumnError, StoreError, UsageError, VersionGoneError
from semistream.keys import KeyCodec, Keys, order, same_as_previous, search
from semistream.stores.base import PageDirectory, PageLayout, PageRun, Pages, RowFinder, Store, Version
from semistream.structures.views import taken

RUN_BYTES = 4 << 20
LOOKUP_DIRECTORY_BYTES = 1 << 20


class PagedStore(ABC):
    """A store of pages. A kind of store says how its pages are read and what its directory is."""

    def __init__(self, schema: pa.Schema, key: tuple[str, ...]) -> None:
        self._schema = schema
        self._key = key
        self._codec = KeyCodec.of_master([schema.field(name) for name in key])
        self._closed = False
        self._own_directory: PageDirectory | None = None

    @property
    def schema(self) -> pa.Schema:
        return self._schema

    @property
    def key(self) -> tuple[str, ...]:
        return self._key

    @property
    @abstractmethod
    def rows(self) -> int | None: ...

    @property
    @abstractmethod
    def unique(self) -> bool | None: ...

    @property
    @abstractmethod
    def layout(self) -> PageLayout: ...

    @property
    def held_bytes(self) -> int:
        return 0 if self._own_directory is None else self._own_directory.held_bytes

    @abstractmethod
    def version(self) -> Version: ...

    @abstractmethod
    def directory(self, memory: int) -> PageDirectory: ...

    @abstractmethod
    def directory_bytes(self) -> tuple[int, int]: ...

    @abstractmethod
    def _runs(self, pages: Pages, columns: list[str]) -> Iterator[PageRun]:
        """Read ascending pages, at most `RUN_BYTES` or one page at a time."""

    def at(self, version: Version) -> Store:
        """This store, if it is at `version`."""
        if version != self.version():
            raise VersionGoneError(
                f"version {version.token} of this master is gone; now there is {self.version().token}"
            )
        return self

    def read(self, pages: Sequence[int] | Pages, columns: Sequence[str]) -> Iterator[PageRun]:
        """The pages asked for, ascending; neighbours come as one run of at most about 4 MiB."""
        wanted = np.ascontiguousarray(pages, np.int64)
        self._check(columns)
        if len(wanted) and (
            wanted[0] < 0 or wanted[-1] >= self.layout.pages or bool(np.any(np.diff(wanted) <= 0))
        ):
            raise ArgumentError(
                f"pages {_shown(wanted)} were asked for; give ascending numbers "
                f"from 0 to {self.layout.pages - 1}"
            )
        return self._runs(wanted, list(columns))

    def finder(self, pages: Pages, columns: Sequence[str]) -> RowFinder | None:
        """None, unless a kind of store knows better: rows are found by reading their pages."""
        return None

    def lookup(self, keys: pa.Table, columns: Sequence[str], deadline: float | None = None) -> pa.Table:
        """All rows whose key is among `keys`. `deadline` is an instant of `time.monotonic`."""
        self._check(columns)
        if self._own_directory is None:
            least, everything = self.directory_bytes()
            self._own_directory = self.directory(max(least, min(everything, LOOKUP_DIRECTORY_BYTES)))
        return lookup_by_pages(self, self._own_directory, keys, columns, deadline)

    def scan(self, columns: Sequence[str]) -> Iterator[PageRun]:
        """Every page, in order, in runs of at most about 4 MiB."""
        self._check(columns)
        return self._scan(list(columns))

    def close(self) -> None:
        self._closed = True
        self._own_directory = None

    def _scan(self, columns: list[str]) -> Iterator[PageRun]:
        for part in page_chunks(np.arange(self.layout.pages), self.layout.max_bytes):
            yield from self._runs(part, columns)

    def _check(self, columns: Sequence[str]) -> None:
        if self._closed:
            raise UsageError("this store is closed; open the master again")
        missing = [name for name in columns if name not in self._schema.names]
        if missing:
            raise ColumnError(
                f"the master has no column {missing[0]!r}; it has {', '.join(self._schema.names)}"
            )


def page_chunks(pages: Pages, page_bytes: int, limit: int = RUN_BYTES) -> Iterator[Pages]:
    """`pages` in parts of at most about `limit` bytes, at least one page each."""
    size = max(1, limit // max(page_bytes, 1))
    for begin in range(0, len(pages), size):
        yield pages[begin : begin + size]


def neighbours(pages: Pages) -> Iterator[Pages]:
    """Ascending pages, cut where one is missing."""
    cuts = [0, *(np.flatnonzero(np.diff(pages) != 1) + 1).tolist(), len(pages)]
    for begin, end in pairwise(cuts):
        if end > begin:
            yield pages[begin:end]


def lookup_by_pages(
    store: Store, directory: PageDirectory, keys: pa.Table, columns: Sequence[str], deadline: float | None
) -> pa.Table:
    """The rows of `store` whose key is among `keys`: locate, read each page once, match exactly."""
    missing = [name for name in store.key if name not in keys.column_names]
    if missing:
        raise ColumnError(
            f"the keys to look up have no column {missing[0]!r}; give a table of {', '.join(store.key)}"
        )
    wanted = _distinct(directory.codec, [keys.column(name).combine_chunks() for name in store.key])
    layout = store.layout
    assert layout is not None
    needed = list(dict.fromkeys([*columns, *store.key]))
    found: list[pa.RecordBatch] = []
    for part in page_chunks(pages_between(*directory.locate(wanted)), layout.max_bytes):
        if deadline is not None and time.monotonic() > deadline:
            raise StoreError("a lookup passed its deadline; allow more time, or ask for fewer keys at once")
        for run in store.read(part, needed):
            own = directory.codec.encode([run.batch.column(name) for name in store.key])
            left, right = search(wanted, own)
            matching = np.flatnonzero(right > left)
            if len(matching):
                found.append(taken(run.batch.select(list(columns)), matching))
    schema = pa.schema([store.schema.field(name) for name in columns], metadata=store.schema.metadata)
    return pa.Table.from_batches(
        [pa.RecordBatch.from_arrays(batch.columns, schema=schema) for batch in found], schema
    )


def pages_between(first: Pages, last: Pages) -> Pages:
    """Every page from a first to its last, once and ascending; pairs of -1 name none."""
    first, last = first[first >= 0], last[first >= 0]
    lengths = last - first + 1
    offsets = np.cumsum(lengths) - lengths
    return np.unique(np.repeat(first - offsets, lengths) + np.arange(int(lengths.sum())))


def _distinct(codec: KeyCodec, columns: list[pa.Array]) -> Keys:
    """The keys to look up: sorted, each once, without those that nothing can equal."""
    fields = [field.with_type(column.type) for field, column in zip(codec.fields, columns, strict=True)]
    keys = codec.accepts(fields).encode(columns)
    ordered = keys.take(order(keys))
    return ordered.take(np.flatnonzero(~(same_as_previous(ordered) | ordered.null | ordered.foreign)))


def _shown(pages: Pages) -> str:
    return str(pages.tolist()) if len(pages) <= 10 else f"{pages[:5].tolist()} and {len(pages) - 5} more"
