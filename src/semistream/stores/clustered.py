"""The clustered copy: a master sorted by key, in immutable Arrow IPC files.

```
path/CURRENT                            names the version that is read
path/versions/<content>-<nonce>/
    manifest.json                       schema, key, counts, file sizes, digests
    pages-00000.arrow ...               the rows in key order, one record batch a page
    leaves-00000.arrow ...              a record batch for each 512 pages: first keys, places, checksums
    root.arrow                          the first line of each leaf, and where the leaf lies
```

Any tool that reads Arrow IPC files can read all of them. Only the root is held in memory.
`clustered_build` writes them.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np

from semistream.errors import ArgumentError, StoreError
from semistream.keys import Keys
from semistream.stores.base import Found, PageLayout, PageRun, Pages, RowFinder, Version
from semistream.stores.directory import FenceDirectory, places_of
from semistream.stores.leaves import LeafCache, Places
from semistream.stores.manifest import (
    VERSIONS,
    Manifest,
    find_version,
    read_current,
    read_manifest,
    rebuild,
)
from semistream.stores.mapped import MappedPages
from semistream.stores.page_reader import PageReader
from semistream.stores.paged import PagedStore

_ATTEMPTS = 10
_LEAVES_WITHOUT_DIRECTORY = 2

Opened = TypeVar("Opened")


class ClusteredStore(PagedStore):
    """One version of a clustered copy, open for reading. See `open`."""

    def __init__(self, path: Path, folder: Path, manifest: Manifest, io: str) -> None:
        super().__init__(manifest.schema, manifest.key)
        self._path, self._folder, self._io = path, folder, io
        self.manifest = manifest
        self._reader = PageReader(folder, manifest, io, rebuild(path))
        # Reading pages needs their places: from a living directory's leaves, else from a few of our own.
        self._mapped: MappedPages | None = None  # made when it is first wanted
        self._places_from: weakref.ref[FenceDirectory] | None = None
        self._leaves = LeafCache(
            self._reader.leaf, manifest.leaf_bytes, _LEAVES_WITHOUT_DIRECTORY * manifest.leaf_bytes
        )

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, io: str = "cached") -> ClusteredStore:
        """Open the current version of the copy at `path`."""
        root = Path(path)
        return open_current(root, lambda folder, seal: cls.open_folder(root, folder, seal, io=io))

    @classmethod
    def open_folder(
        cls, path: Path, folder: Path, manifest_digest: str, *, io: str = "cached", kind: str = "clustered"
    ) -> ClusteredStore:
        """Open one version's folder."""
        manifest = read_manifest(folder, manifest_digest, rebuild(path))
        if manifest.kind != kind:
            raise ArgumentError(f"{path} is a {manifest.kind} copy, not a {kind} one; open it as what it is")
        return cls(path, folder, manifest, io)

    @property
    def rows(self) -> int:
        return self.manifest.rows

    @property
    def unique(self) -> bool:
        return self.manifest.unique

    @property
    def layout(self) -> PageLayout:
        return PageLayout(self.manifest.pages, self.manifest.page_max_rows, self.manifest.page_max_bytes)

    @property
    def held_bytes(self) -> int:
        return super().held_bytes + self._reader.held_bytes + self._leaves.held_bytes

    def version(self) -> Version:
        return Version(self.manifest.content)

    def at(self, version: Version) -> ClusteredStore:
        """The copy as it was at `version`: kept until the build after the one that replaced it."""
        if version == self.version():
            return self
        folder, manifest_digest = find_version(self._path, version.token)
        return self.open_folder(self._path, folder, manifest_digest, io=self._io)

    def directory(self, memory: int) -> FenceDirectory:
        opened = FenceDirectory(self._reader.fences(), memory)
        self._places_from = weakref.ref(opened)
        return opened

    def directory_bytes(self) -> tuple[int, int]:
        fences = self._reader.fences()
        return fences.least_bytes, fences.flat_bytes

    def finder(self, pages: Pages, columns: Sequence[str]) -> RowFinder | None:
        """Rows out of the page cache, while it holds the pages."""
        self._check(columns)
        mapped = self._mapped_pages()
        if mapped is None or not mapped.gathers(columns):
            return None
        if not mapped.at_hand(self._places(mapped.sample(pages))[0]):
            return None
        return _MappedFinder(mapped, list(columns), lambda wanted: self._places(wanted)[0])

    def close(self) -> None:
        if not self._closed:
            if self._mapped is not None:
                self._mapped.close()
            self._reader.close()
        super().close()

    def _mapped_pages(self) -> MappedPages | None:
        if self._mapped is None and self._io == "cached" and MappedPages.possible(self.manifest):
            self._mapped = MappedPages(self._reader.data, self.manifest, rebuild(self._path))
        return self._mapped

    def _runs(self, pages: Pages, columns: list[str]) -> Iterator[PageRun]:
        places, reads, bytes_read = self._places(pages)
        yield from self._reader.runs(pages, places, columns, reads, bytes_read)

    def _places(self, pages: Pages) -> tuple[Places, int, int]:
        """Where pages lie, and the reads that only this took: a directory counts its own."""
        directory = None if self._places_from is None else self._places_from()
        if directory is not None:
            return directory.places(pages), 0, 0
        reads, bytes_read = self._leaves.reads, self._leaves.bytes_read
        places = places_of(self._leaves, self.manifest.leaf_pages, np.asarray(pages))
        return places, self._leaves.reads - reads, self._leaves.bytes_read - bytes_read


@dataclass(frozen=True, slots=True)
class _MappedFinder:
    """Rows of some columns of mapped pages."""

    mapped: MappedPages
    columns: list[str]
    places_of: Callable[[Pages], Places]

    def find(self, keys: Keys, first: Pages, last: Pages, most_bytes: int) -> Iterator[Found]:
        return self.mapped.find(keys, first, last, self.columns, self.places_of, most_bytes)


def open_current(path: Path, open_version: Callable[[Path, str], Opened]) -> Opened:
    """Open the version that `CURRENT` names, also while it is being replaced.

    Two builds may end between the moment `CURRENT` is read and the moment the files are opened:
    what is missing then was removed, not lost, and the newer version is opened.
    """
    current = read_current(path)
    for _ in range(_ATTEMPTS):
        try:
            return open_version(path / VERSIONS / current.folder, current.manifest_digest)
        except StoreError:
            newer = read_current(path)
            if newer == current:
                raise
            current = newer
    raise StoreError(
        f"{path} is being replaced faster than it can be opened; try again when builds have ended"
    )
