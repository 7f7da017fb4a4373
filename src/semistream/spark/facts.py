"""What is known of a master without its rows: enough to check a join and to plan it.

A Spark client may not see the master's files. Then a worker opens the master, and tells the client this.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NoReturn

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from semistream.errors import UsageError, VersionGoneError
from semistream.stores.base import PageDirectory, PageLayout, PageRun, Pages, RowFinder, Store, Version


@dataclass(frozen=True)
class MasterFacts:
    """A master as it was found when somebody opened it. Small, and picklable."""

    kind: str
    schema: pa.Schema
    key: tuple[str, ...]
    rows: int | None
    unique: bool | None
    layout: PageLayout | None
    directory_least: int
    directory_full: int
    version: str
    bytes_per_load: int  # read from the device for one page, all columns; measured


def facts_of(store: Store) -> MasterFacts:
    """Look at an open store. Reads one page of it."""
    layout = store.layout
    least, full = store.directory_bytes() if layout is not None else (0, 0)
    bytes_per_load = 0
    if layout is not None and layout.pages:
        runs = store.read([layout.pages // 2], store.schema.names)
        bytes_per_load = sum(run.bytes_read for run in runs)
    return MasterFacts(
        kind=kind_of(store),
        schema=store.schema,
        key=store.key,
        rows=store.rows,
        unique=store.unique,
        layout=layout,
        directory_least=least,
        directory_full=full,
        version=store.version().token,
        bytes_per_load=bytes_per_load,
    )


def kind_of(store: Store) -> str:
    """The kind of store in words: the class's name, without what all of them are called.

    >>> from semistream.stores.memory import MemoryStore
    >>> kind_of(MemoryStore(pa.table({"id": [1]}), "id"))
    'memory'
    """
    inner = getattr(store, "_store", store)
    return (kind_of(inner) if inner is not store else type(store).__name__.removesuffix("Store")).lower()


class DescribedStore:
    """A store that can be planned with and not read: it stands for one that is open elsewhere."""

    def __init__(self, facts: MasterFacts) -> None:
        self.facts = facts

    @property
    def schema(self) -> pa.Schema:
        return self.facts.schema

    @property
    def key(self) -> tuple[str, ...]:
        return self.facts.key

    @property
    def rows(self) -> int | None:
        return self.facts.rows

    @property
    def unique(self) -> bool | None:
        return self.facts.unique

    @property
    def layout(self) -> PageLayout | None:
        return self.facts.layout

    @property
    def held_bytes(self) -> int:
        return 0

    def version(self) -> Version:
        return Version(self.facts.version)

    def at(self, version: Version) -> Store:
        if version != self.version():
            raise VersionGoneError(f"only version {self.facts.version} was described, not {version.token}")
        return self

    def directory(self, memory: int) -> PageDirectory | None:
        self._refuse()

    def directory_bytes(self) -> tuple[int, int]:
        return self.facts.directory_least, self.facts.directory_full

    def read(self, pages: Sequence[int] | NDArray[np.int64], columns: Sequence[str]) -> Iterator[PageRun]:
        self._refuse()

    def finder(self, pages: Pages, columns: Sequence[str]) -> RowFinder | None:
        self._refuse()

    def lookup(self, keys: pa.Table, columns: Sequence[str], deadline: float | None = None) -> pa.Table:
        self._refuse()

    def scan(self, columns: Sequence[str]) -> Iterator[PageRun]:
        self._refuse()

    def close(self) -> None:
        """Nothing is open."""

    def _refuse(self) -> NoReturn:
        raise UsageError("this master is known by description only: open it where its files are")
