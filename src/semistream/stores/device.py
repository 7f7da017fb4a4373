"""Reading byte ranges of immutable files, through the page cache or past it.

Every read fills memory of its own, which the Arrow arrays parsed from it keep alive; nothing is
reused. Neighbouring ranges are read as one.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from semistream.errors import ArgumentError, CorruptStoreError, StoreError
from semistream.stores.checksums import checksums
from semistream.stores.leaves import Places

BLOCK = 4096  # what O_DIRECT wants offsets, lengths and addresses to be multiples of
READ_BYTES = 4 << 20

IO_MODES = ("cached", "direct")


@dataclass(frozen=True, slots=True, eq=False)
class Stretch:
    """Neighbouring pages as read: page `first + i` is `data[begins[i]:ends[i]]`."""

    first: int
    data: NDArray[np.uint8]
    begins: NDArray[np.int64]
    ends: NDArray[np.int64]
    bytes_read: int


class PageFiles:
    """Immutable files of a master, open for reading. Thread-safe: reads carry their own offset."""

    def __init__(self, paths: list[Path], sizes: list[int], io: str, remedy: str) -> None:
        if io not in IO_MODES:
            raise ArgumentError(f"io={io!r} isn't known; choose one of {', '.join(IO_MODES)}")
        self.paths = paths
        self._remedy = remedy
        self._direct = io == "direct"
        self.descriptors: list[int] = []
        try:
            for path, size in zip(paths, sizes, strict=True):
                self.descriptors.append(self._open(path))
                found = os.fstat(self.descriptors[-1]).st_size
                if found != size:
                    raise CorruptStoreError(f"{path} has {found} bytes, {size} were written; {remedy}")
        except BaseException:
            self.close()
            raise

    def stretches(self, pages: NDArray[np.int64], places: Places) -> Iterator[Stretch]:
        """Read and verify ascending `pages`, each run of neighbours in one device read where it
        fits `READ_BYTES`."""
        for begin, end in _neighbours(pages, places):
            rows = np.arange(begin, end)
            wanted = places.take(rows)
            yield self._read(int(pages[begin]), wanted)

    def close(self) -> None:
        for descriptor in self.descriptors:
            os.close(descriptor)
        self.descriptors = []

    def _open(self, path: Path) -> int:
        flags = os.O_RDONLY | (os.O_DIRECT if self._direct else 0)
        try:
            return os.open(path, flags)
        except FileNotFoundError as error:
            raise StoreError(f"{path} is missing; {self._remedy}") from error
        except OSError as error:
            if self._direct and error.errno == errno.EINVAL:
                raise _refused(path) from error
            raise StoreError(f"{path} can't be opened: {error.strerror}") from error

    def _read(self, first: int, places: Places) -> Stretch:
        number = int(places.file[0])
        if number >= len(self.paths):
            raise CorruptStoreError(
                f"page {first} points to file {number} of {len(self.paths)}; {self._remedy}"
            )
        path = self.paths[number]
        begin = int(places.offset[0])
        end = int(places.offset[-1] + places.length[-1])
        if self._direct:
            start, stop = begin & -BLOCK, (end + BLOCK - 1) & -BLOCK
        else:
            start, stop = begin, end
        data = _aligned(stop - start)
        got = self._fill(path, self.descriptors[number], data, start, end - start)
        if got < end - start:
            raise CorruptStoreError(
                f"{path} ends at byte {start + got}, within pages {first} to {first + len(places) - 1}; "
                f"{self._remedy}"
            )
        begins = places.offset - start
        ends = begins + places.length
        wrong = np.flatnonzero(checksums(data, begins, ends) != places.checksum)
        if len(wrong):
            raise CorruptStoreError(
                f"page {first + int(wrong[0])} in {path} (byte {int(places.offset[wrong[0]])}) doesn't hold "
                f"what was written: its checksum differs; {self._remedy}"
            )
        return Stretch(first, data, begins, ends, stop - start if self._direct else got)

    def _fill(self, path: Path, descriptor: int, data: NDArray[np.uint8], start: int, enough: int) -> int:
        """Read until `enough` bytes are there or the file ends; how many came."""
        view = data.data
        got = 0
        while got < enough:
            try:
                count = os.preadv(descriptor, [view[got:]], start + got)
            except OSError as error:
                if self._direct and error.errno == errno.EINVAL:
                    raise _refused(path) from error
                raise StoreError(f"{path} can't be read at byte {start + got}: {error.strerror}") from error
            got += count
            if count == 0 or (self._direct and got % BLOCK):  # the file ends here
                break
        return got


def _aligned(size: int) -> NDArray[np.uint8]:
    """Fresh memory whose address is a multiple of the block size."""
    room = np.empty(size + BLOCK, np.uint8)
    skip = -room.ctypes.data % BLOCK
    return room[skip : skip + size]


def _refused(path: Path) -> StoreError:
    return StoreError(f"the file system of {path} refuses direct reads (O_DIRECT); use io='cached'")


def _neighbours(pages: NDArray[np.int64], places: Places) -> Iterator[tuple[int, int]]:
    """Cut ascending pages into runs that lie end to end in one file, of at most `READ_BYTES`."""
    if len(pages) == 0:
        return
    ends = places.offset + places.length
    apart = (np.diff(pages) != 1) | (np.diff(places.file) != 0) | (places.offset[1:] != ends[:-1])
    cuts = [0, *(np.flatnonzero(apart) + 1).tolist(), len(pages)]
    for first, end in pairwise(cuts):
        begin = first
        while begin < end:
            limit = places.offset[begin] + READ_BYTES
            fit = begin + max(1, int(np.searchsorted(ends[begin:end], limit, "right")))
            yield begin, fit
            begin = fit
