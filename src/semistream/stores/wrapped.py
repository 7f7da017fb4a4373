"""Stores around another store: what they don't change, they pass on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from semistream.errors import ColumnError
from semistream.stores.base import PageDirectory, PageLayout, PageRun, Pages, RowFinder, Store, Version


class WrappedStore:
    """Passes everything on to `store`."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @property
    def schema(self) -> pa.Schema:
        return self._store.schema

    @property
    def key(self) -> tuple[str, ...]:
        return self._store.key

    @property
    def rows(self) -> int | None:
        return self._store.rows

    @property
    def unique(self) -> bool | None:
        return self._store.unique

    @property
    def layout(self) -> PageLayout | None:
        return self._store.layout

    @property
    def held_bytes(self) -> int:
        return self._store.held_bytes

    def version(self) -> Version:
        return self._store.version()

    def at(self, version: Version) -> Store:
        return self._store.at(version)

    def directory(self, memory: int) -> PageDirectory | None:
        return self._store.directory(memory)

    def directory_bytes(self) -> tuple[int, int]:
        return self._store.directory_bytes()

    def read(self, pages: Sequence[int] | NDArray[np.int64], columns: Sequence[str]) -> Iterator[PageRun]:
        return self._store.read(pages, columns)

    def finder(self, pages: Pages, columns: Sequence[str]) -> RowFinder | None:
        """None: whoever wraps a store wants to see what is read of it."""
        return None

    def lookup(self, keys: pa.Table, columns: Sequence[str], deadline: float | None = None) -> pa.Table:
        return self._store.lookup(keys, columns, deadline)

    def scan(self, columns: Sequence[str]) -> Iterator[PageRun]:
        return self._store.scan(columns)

    def close(self) -> None:
        self._store.close()


class ProjectedStore(WrappedStore):
    """Shows only some columns of a store, in the store's order; the key always."""

    def __init__(self, store: Store, columns: Sequence[str]) -> None:
        super().__init__(store)
        kept = set(columns) | set(store.key)
        missing = [name for name in columns if name not in store.schema.names]
        if missing:
            raise ColumnError(
                f"the master has no column {missing[0]!r}; it has {', '.join(store.schema.names)}"
            )
        self._columns = [name for name in store.schema.names if name in kept]

    @property
    def schema(self) -> pa.Schema:
        whole = self._store.schema
        return pa.schema([whole.field(name) for name in self._columns], metadata=whole.metadata)

    def at(self, version: Version) -> Store:
        return ProjectedStore(self._store.at(version), self._columns)

    def read(self, pages: Sequence[int] | NDArray[np.int64], columns: Sequence[str]) -> Iterator[PageRun]:
        self._check(columns)
        return self._store.read(pages, columns)

    def finder(self, pages: Pages, columns: Sequence[str]) -> RowFinder | None:
        self._check(columns)
        return self._store.finder(pages, columns)

    def lookup(self, keys: pa.Table, columns: Sequence[str], deadline: float | None = None) -> pa.Table:
        self._check(columns)
        return self._store.lookup(keys, columns, deadline)

    def scan(self, columns: Sequence[str]) -> Iterator[PageRun]:
        self._check(columns)
        return self._store.scan(columns)

    def _check(self, columns: Sequence[str]) -> None:
        hidden = [name for name in columns if name not in self._columns]
        if hidden:
            raise ColumnError(
                f"the master shows no column {hidden[0]!r}; it shows {', '.join(self._columns)}"
            )
