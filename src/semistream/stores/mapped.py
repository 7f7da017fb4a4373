"""Single rows out of page files that the page cache holds, through a memory map.

A page is 64 KiB, and of most pages one row is wanted: where memory holds them already, reading pages
whole is most of the work. So the key is searched for on its page where it lies, and the row's bytes go
from there to their output:

1. which wanted pages have not been seen before? their checksums are verified, once;
2. where do the columns of each page begin? (`ipc_layout`)
3. on which rows of its page is each key, and what is there? (`page_rows`)

A map is slower than reading as soon as the page cache doesn't hold the file: each row would wait for
several blocks. `at_hand` asks for a sample of pages first. The files are immutable; one that was written to
after it was opened is an error. Cost: O(log rows a page) a key, O(columns) a page.
"""

from __future__ import annotations

import mmap
import os
import resource
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from semistream.errors import CorruptStoreError, StoreError
from semistream.keys import Keys
from semistream.keys.kinds import Counted, Text, master_kind
from semistream.stores.base import Found, Pages
from semistream.stores.checksums import checksums
from semistream.stores.device import PageFiles
from semistream.stores.ipc_layout import places_in_batch
from semistream.stores.leaves import Places
from semistream.stores.manifest import Manifest
from semistream.stores.page_rows import BAD_PAGE, KEY, ROWS, pick_rows
from semistream.stores.picked import PickedRows
from semistream.structures.addressed import Kind, column_of

SAMPLE = 16  # pages that are asked for before many are taken for held by the page cache

Int64s = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class _SearchedKey:
    """How the key columns of a page are searched: words of these widths, or bytes with these offsets."""

    widths: Int64s
    signs: NDArray[np.uint64]
    offset_width: int  # 0: words


class MappedPages:
    """The page files of one version, mapped. Thread-safe."""

    def __init__(self, files: PageFiles, manifest: Manifest, remedy: str) -> None:
        self._manifest, self._remedy = manifest, remedy
        # Open already: a version that has been replaced may be gone from its folder.
        self._paths, self._descriptors = files.paths, files.descriptors
        self._maps: list[mmap.mmap] = []
        self._files: list[NDArray[np.uint8]] = []
        self._found: list[tuple[int, int]] = []
        self._verified = np.zeros(manifest.pages // 8 + 1, np.uint8)
        self._key = _searched_key(manifest)
        try:
            for descriptor in self._descriptors:
                self._found.append(_identity(descriptor))
                self._maps.append(mmap.mmap(descriptor, 0, prot=mmap.PROT_READ))
                self._files.append(_writable_view(self._maps[-1]))
        except (OSError, ValueError) as error:
            self.close()
            raise StoreError(
                f"{self._paths[0].parent} can't be mapped into memory ({error}); {remedy}"
            ) from error
        self._bases = np.array([file.ctypes.data for file in self._files], dtype=np.uint64)

    @staticmethod
    def possible(manifest: Manifest) -> bool:
        """Whether this process may map files, and the key is one that is searched for on its page."""
        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        return limit == resource.RLIM_INFINITY and _searched_key(manifest) is not None

    @property
    def held_bytes(self) -> int:
        """The map itself is the page cache's memory; one bit a page says what has been verified."""
        return self._verified.nbytes

    def gathers(self, columns: Sequence[str]) -> bool:
        """Whether these columns can be gathered by their addresses, as they lie."""
        schema, stored = self._manifest.schema, self._manifest.stored
        same = all(schema.field(name).type == stored.field(name).type for name in columns)
        return same and places_in_batch(stored, list(columns)) is not None

    @staticmethod
    def sample(pages: Pages) -> Pages:
        """A few of these pages, evenly spread."""
        rows = np.linspace(0, len(pages) - 1, min(SAMPLE, len(pages)))
        return pages[np.unique(rows.astype(np.int64))]

    def at_hand(self, places: Places) -> bool:
        """Whether the page cache holds these pages, as far as a byte of each tells."""
        nowait = getattr(os, "RWF_NOWAIT", None)
        if nowait is None:
            return False
        one = bytearray(1)
        for row in range(len(places)):
            middle = int(places.offset[row] + places.length[row] // 2)
            try:
                os.preadv(self._descriptors[int(places.file[row])], [one], middle, nowait)
            except OSError:  # it would have to wait for the device; or the file system can't tell
                return False
        return True

    def find(
        self,
        keys: Keys,
        first: Pages,
        last: Pages,
        columns: Sequence[str],
        places_of: Callable[[Pages], Places],
        most_bytes: int,
    ) -> Iterator[Found]:
        """See `RowFinder.find`."""
        self._check_unchanged()
        wanted, on_page = _pairs(first, last)
        if not len(wanted):
            return
        begins = np.flatnonzero(np.diff(on_page, prepend=-1))
        pages = on_page[begins]
        page_of = np.repeat(np.arange(len(pages)), np.diff(np.append(begins, len(on_page))))
        places = places_of(pages)
        self._verify(pages, places)
        messages = self._bases[places.file] + places.offset.astype(np.uint64)
        yield from self._pick(keys, wanted, messages, pages, page_of, columns, most_bytes)

    def close(self) -> None:
        self._files.clear()
        for mapped in self._maps:
            mapped.close()
        self._maps = []

    def _check_unchanged(self) -> None:
        """An immutable file that was written to is not what was verified."""
        for path, descriptor, found in zip(self._paths, self._descriptors, self._found, strict=True):
            if _identity(descriptor) != found:
                raise CorruptStoreError(
                    f"{path} was written to while it was open: a copy's files never change; {self._remedy}"
                )

    def _verify(self, pages: Pages, places: Places) -> None:
        seen = (self._verified[pages >> 3] >> (pages & 7).astype(np.uint8)) & 1
        unseen = np.flatnonzero(seen == 0)
        for number in np.unique(places.file[unseen]).tolist():
            mine = unseen[places.file[unseen] == number]
            some = places.take(mine)
            ends = some.offset + some.length
            path = self._paths[number]
            if int(ends.max()) > len(self._files[number]):
                raise CorruptStoreError(f"{path} ends before its pages do; {self._remedy}")
            wrong = np.flatnonzero(checksums(self._files[number], some.offset, ends) != some.checksum)
            if len(wrong):
                raise CorruptStoreError(
                    f"page {int(pages[mine[wrong[0]]])} in {path} (byte {int(some.offset[wrong[0]])}) "
                    f"doesn't hold what was written: its checksum differs; {self._remedy}"
                )
        np.bitwise_or.at(
            self._verified, pages[unseen] >> 3, np.uint8(1) << (pages[unseen] & 7).astype(np.uint8)
        )

    def _pick(
        self,
        keys: Keys,
        wanted: Int64s,
        messages: NDArray[np.uint64],
        pages: Pages,
        page_of: Int64s,
        columns: Sequence[str],
        most_bytes: int,
    ) -> Iterator[Found]:
        how, stored = self._key, self._manifest.stored
        assert how is not None
        # Key columns first: that is where they are searched.
        names = list(dict.fromkeys([*self._manifest.key, *columns]))
        where = places_in_batch(stored, names)
        assert where is not None
        schema = pa.schema([stored.field(name) for name in names])
        chosen = keys if len(wanted) == len(keys) else keys.take(wanted)
        offsets = chosen.offsets if chosen.offsets is not None else np.zeros(1, np.int64)
        data = chosen.data if chosen.data is not None else np.zeros(0, np.uint8)
        state = np.array([0, 0, 0, -1], dtype=np.int64)
        while state[KEY] < len(wanted):
            picked = PickedRows(schema, self._capacity(schema, len(wanted) - int(state[KEY]), most_bytes))
            pick_rows(
                messages, where, page_of, how.widths, how.signs, how.offset_width,
                chosen.codes, offsets, data, picked.kinds, picked.widths, picked.values,
                picked.validity, picked.bits, picked.starts, picked.ends, picked.nulls, picked.origins,
                state, picked.capacity, most_bytes,
            )  # fmt: skip
            if state[BAD_PAGE] >= 0:
                raise CorruptStoreError(
                    f"page {int(pages[state[BAD_PAGE]])} is laid out in a way that isn't known here; "
                    f"{self._remedy}"
                )
            if state[ROWS]:
                count = int(state[ROWS])
                yield Found(picked.batch(count).select(list(columns)), wanted[picked.origins[:count]])

    def _capacity(self, schema: pa.Schema, keys: int, most_bytes: int) -> int:
        """Rows of one batch: no more than there are keys, where each has one, or than fit."""
        fitting = max(1, most_bytes // PickedRows.row_bytes(schema))
        return min(keys, fitting) if self._manifest.unique else fitting


def _searched_key(manifest: Manifest) -> _SearchedKey | None:
    """None: keys of this type are found by reading their pages."""
    kinds = [master_kind(manifest.schema.field(name)) for name in manifest.key]
    if any(manifest.schema.field(name).type != manifest.stored.field(name).type for name in manifest.key):
        return None
    columns = [column_of(manifest.stored.field(name).type) for name in manifest.key]
    numbers = [kind for kind in kinds if isinstance(kind, Counted)]
    if len(numbers) == len(kinds) and sum(kind.width for kind in numbers) <= 8:
        if any(column.kind is not Kind.FIXED for column in columns):
            return None
        signs = [1 << (8 * kind.width - 1) if kind.signed else 0 for kind in numbers]
        return _SearchedKey(
            np.array([kind.width for kind in numbers], dtype=np.int64), np.array(signs, dtype=np.uint64), 0
        )
    if (
        len(kinds) == 1
        and isinstance(kinds[0], Text)
        and columns[0].kind in (Kind.OFFSETS_32, Kind.OFFSETS_64)
    ):
        return _SearchedKey(np.empty(0, np.int64), np.empty(0, np.uint64), columns[0].width)
    return None


def _pairs(first: Pages, last: Pages) -> tuple[Int64s, Pages]:
    """Which key is looked for on which page; a key of several pages on each of them."""
    wanted = np.flatnonzero(first >= 0)
    pages = first[wanted]
    lengths = last[wanted] - pages + 1
    if not len(wanted) or int(lengths.max()) == 1:
        return wanted, pages
    offsets = np.cumsum(lengths) - lengths
    on_page = np.repeat(pages - offsets, lengths) + np.arange(int(lengths.sum()))
    return np.repeat(wanted, lengths), on_page


def _identity(descriptor: int) -> tuple[int, int]:
    found = os.fstat(descriptor)
    return found.st_size, found.st_mtime_ns


class _Borrowed:
    """Mapped memory under NumPy's array protocol, marked writable so that kernels compile only once.
    It is never written to: the map allows no writing."""

    def __init__(self, mapped: mmap.mmap) -> None:
        view = np.frombuffer(mapped, np.uint8)
        self.view = view
        self.__array_interface__ = {
            "version": 3,
            "typestr": "|u1",
            "shape": view.shape,
            "data": (view.ctypes.data, False),
        }


def _writable_view(mapped: mmap.mmap) -> NDArray[np.uint8]:
    return np.asarray(_Borrowed(mapped))
