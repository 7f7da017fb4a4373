"""The contract between a master and the algorithms that read it.

A store says what it can do, the algorithms ask. Everything that an algorithm knows of a master
passes through here: pages of rows in a fixed order, and a directory that says which pages a key
can be on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from semistream.keys import KeyCodec, Keys

Pages = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Version:
    """An identity of a master's content: two versions that are equal have equal content."""

    token: str


@dataclass(frozen=True, slots=True)
class PageLayout:
    """How a master is cut into pages, and the most that one page can hold."""

    pages: int
    max_rows: int
    max_bytes: int  # Arrow bytes of the largest page with all its columns


@dataclass(frozen=True, slots=True)
class PageRun:
    """Neighbouring pages, read as one batch.

    Page ``first + i`` is the rows ``offsets[i]:offsets[i + 1]`` of `batch`. `bytes_read` and
    `reads` are what the device did for it.
    """

    first: int
    offsets: NDArray[np.int64]
    batch: pa.RecordBatch
    bytes_read: int
    reads: int

    @property
    def pages(self) -> int:
        return len(self.offsets) - 1


@dataclass(frozen=True, slots=True)
class Found:
    """Rows that a finder found: row i of `batch` has key number `keys[i]` of those asked for, ascending."""

    batch: pa.RecordBatch
    keys: NDArray[np.int64]


class RowFinder(Protocol):
    """Single rows by their keys, where bringing whole pages would be the larger part of the work."""

    def find(self, keys: Keys, first: Pages, last: Pages, most_bytes: int) -> Iterator[Found]:
        """All rows that have these keys (ascending, perhaps repeated, none null or foreign), which can be on
        pages `first` to `last` (as a directory locates them), in batches of about `most_bytes`."""
        ...


@runtime_checkable
class PageDirectory(Protocol):
    """Which pages a key can be on."""

    codec: KeyCodec

    def locate(self, keys: Keys) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """First and last page that can hold each key; (-1, -1) where no page can.

        The rows of one key are on neighbouring pages, so a pair of page numbers is enough.
        Entries of null or foreign keys are (-1, -1).
        """
        ...

    @property
    def held_bytes(self) -> int:
        """Bytes held now, caches included; never above what `Store.directory` was allowed."""
        ...

    @property
    def bytes_read(self) -> int:
        """Bytes read so far to answer `locate` (paged directories only)."""
        ...

    @property
    def reads(self) -> int:
        """Reads done so far to answer `locate`: loads that no page number shows."""
        ...


@runtime_checkable
class Store(Protocol):
    """A master table. Thread-safe for reading: several loads may be in flight."""

    @property
    def schema(self) -> pa.Schema:
        """All columns of the master, the key among them."""
        ...

    @property
    def key(self) -> tuple[str, ...]: ...

    @property
    def rows(self) -> int | None: ...

    @property
    def unique(self) -> bool | None:
        """Whether no key stands twice; None where nobody has looked."""
        ...

    @property
    def layout(self) -> PageLayout | None:
        """None: the store has no pages."""
        ...

    @property
    def held_bytes(self) -> int:
        """Bytes the open store holds on behalf of a join (not what the caller lent it)."""
        ...

    def version(self) -> Version: ...

    def at(self, version: Version) -> Store:
        """This store as it was at `version`, or `VersionGoneError`."""
        ...

    def directory(self, memory: int) -> PageDirectory | None:
        """A directory that holds at most `memory` bytes; None: no index on the key."""
        ...

    def directory_bytes(self) -> tuple[int, int]:
        """The least a directory can work in, and what it would hold with nothing left out."""
        ...

    def read(self, pages: Sequence[int] | NDArray[np.int64], columns: Sequence[str]) -> Iterator[PageRun]:
        """The pages asked for, ascending. Neighbours may come as one run; each run's rows carry
        exactly `columns`, in that order. The caller bounds how much it asks for at once."""
        ...

    def finder(self, pages: Pages, columns: Sequence[str]) -> RowFinder | None:
        """How to find single rows of these ascending pages; None: read the pages, it is no dearer."""
        ...

    def lookup(self, keys: pa.Table, columns: Sequence[str], deadline: float | None = None) -> pa.Table:
        """All master rows whose key is among `keys` (a table of the key columns)."""
        ...

    def scan(self, columns: Sequence[str]) -> Iterator[PageRun]:
        """Every page, in order, in bounded runs."""
        ...

    def close(self) -> None: ...
