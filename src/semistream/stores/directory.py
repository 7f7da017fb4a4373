"""Which page a key can be on: one fence a page, all in memory or in leaves read on demand.

A fence is the first key of a page. One bit a page says that this key was also the last key of the
page before, so that a key that spans pages is found from its first row on.

Flat, a directory holds every fence. Paged, it holds the root (the first fence of each leaf of
neighbouring pages) and the leaves used last. To locate a batch of keys, paged:

1. search the root: which leaf holds the first fence not below the key, which the last not above;
2. sort out which leaves the batch needs, each once, ascending;
3. read a leaf (or find it in the cache) and search it for its keys.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from semistream.errors import BudgetError, CorruptStoreError
from semistream.keys import KeyCodec, Keys, search
from semistream.stores.leaves import LEAF_PAGES, Leaf, LeafCache, Places
from semistream.structures.views import taken_array

Pages = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Fences:
    """The fences of a master, wherever they are.

    Leaf `i` holds the pages from `i * leaf_pages` on. `root` and `root_continued` are the first
    fence of each leaf and its bit. `leaf_bytes` is the most one leaf takes in memory, `key_bytes`
    the variable-length key bytes of all fences together (0 where the codec is exact).
    """

    codec: KeyCodec
    pages: int
    root: Keys
    root_continued: NDArray[np.bool_]
    read_leaf: Callable[[int], Leaf]
    leaf_bytes: int
    key_bytes: int = 0
    placed: bool = False
    leaf_pages: int = LEAF_PAGES

    @property
    def root_bytes(self) -> int:
        return self.root.nbytes + self.root_continued.nbytes

    @property
    def least_bytes(self) -> int:
        """What a paged directory needs: the root and one leaf, or all where that is less."""
        return min(self.root_bytes + self.leaf_bytes, self.flat_bytes)

    @property
    def flat_bytes(self) -> int:
        """What a flat directory holds."""
        fixed = 8 + 1 + 1 + 1  # code, null, foreign, continued
        variable = 0 if self.codec.exact else 8 * (self.pages + 1) + self.key_bytes
        places = Places.BYTES * self.pages if self.placed else 0
        return fixed * self.pages + variable + places

    @classmethod
    def of_arrays(
        cls,
        codec: KeyCodec,
        columns: Sequence[pa.Array],
        continued: NDArray[np.bool_],
        leaf_pages: int = LEAF_PAGES,
    ) -> Fences:
        """Fences whose first keys lie in memory as Arrow arrays; leaves encode them when asked."""
        pages = len(continued)

        def read_leaf(number: int) -> Leaf:
            at = number * leaf_pages
            fences = codec.encode([column.slice(at, leaf_pages) for column in columns])
            return Leaf(fences, continued[at : at + leaf_pages].copy(), reads=0)

        roots = np.arange(0, pages, leaf_pages)
        largest, key_bytes = 0, 0
        for number in range(len(roots)):
            leaf = read_leaf(number)
            largest = max(largest, leaf.nbytes)
            if leaf.fences is not None and leaf.fences.data is not None:
                key_bytes += leaf.fences.data.nbytes
        return cls(
            codec,
            pages,
            codec.encode([taken_array(column, roots) for column in columns]),
            continued[::leaf_pages].copy(),
            read_leaf,
            largest,
            key_bytes,
            leaf_pages=leaf_pages,
        )


class FenceDirectory:
    """A page directory within `memory` bytes: flat where that suffices, else paged.

    A batch of n keys costs O(n log(pages)) comparisons and, paged, at most one read for each
    leaf that it touches.
    """

    def __init__(self, fences: Fences, memory: int) -> None:
        self.codec: KeyCodec = fences.codec
        self._fences = fences
        self._flat: Leaf | None = None
        self._cache: LeafCache | None = None
        self._reads = 0
        self._bytes_read = 0
        if memory >= fences.flat_bytes:
            self._flat = self._read_all()
        elif memory >= fences.least_bytes:
            self._cache = LeafCache(fences.read_leaf, fences.leaf_bytes, memory - fences.root_bytes)
        else:
            raise BudgetError(
                f"the page directory was allowed {memory} bytes; it needs {fences.least_bytes} "
                f"(and {fences.flat_bytes} to hold everything): allow as much, or build larger pages"
            )

    @property
    def paged(self) -> bool:
        return self._flat is None

    @property
    def held_bytes(self) -> int:
        if self._cache is None:
            return 0 if self._flat is None else self._flat.nbytes
        return self._fences.root_bytes + self._cache.held_bytes

    @property
    def bytes_read(self) -> int:
        return self._bytes_read if self._cache is None else self._cache.bytes_read

    @property
    def reads(self) -> int:
        return self._reads if self._cache is None else self._cache.reads

    def locate(self, keys: Keys) -> tuple[Pages, Pages]:
        """First and last page that can hold each key; (-1, -1) where no page can."""
        if self._flat is not None:
            assert self._flat.fences is not None
            left, right = search(self._flat.fences, keys)
            starts_before = _bits(self._flat.continued, left)
        else:
            left, right, starts_before = self._locate_paged(keys)
        last = right - 1
        first = np.where(left == right, last, left - starts_before)
        nowhere = (last < 0) | keys.null | keys.foreign
        first[nowhere] = -1
        last[nowhere] = -1
        return first, last

    def places(self, pages: Pages) -> Places:
        """Where `pages` (ascending) lie on the device."""
        if self._flat is not None:
            assert self._flat.places is not None
            return self._flat.places.take(pages)
        assert self._cache is not None
        return places_of(self._cache, self._fences.leaf_pages, pages)

    def check(self) -> None:
        """The invariant: a directory's cache counts what it holds."""
        if self._cache is not None:
            self._cache.check()

    def _locate_paged(self, keys: Keys) -> tuple[Pages, Pages, NDArray[np.int64]]:
        assert self._cache is not None
        pages_a_leaf = self._fences.leaf_pages
        root_left, root_right = search(self._fences.root, keys)
        left = root_left * pages_a_leaf  # holds unless the leaf before has a fence that isn't below
        right = np.zeros(len(keys), np.int64)
        starts_before = _bits(self._fences.root_continued, root_left)
        right_leaf = root_right - 1
        # A key that begins with a leaf has no fence in the leaf before.
        left_leaf = np.where((root_left < root_right) & (starts_before == 0), -1, root_left - 1)
        wanted = np.concatenate([left_leaf, right_leaf])
        for number in np.unique(wanted[wanted >= 0]).tolist():
            leaf = self._cache.get(number)
            assert leaf.fences is not None
            rows = np.flatnonzero((left_leaf == number) | (right_leaf == number))
            found_left, found_right = search(leaf.fences, keys.take(rows))
            ends_here = right_leaf[rows] == number
            right[rows[ends_here]] = number * pages_a_leaf + found_right[ends_here]
            inside = (left_leaf[rows] == number) & (found_left < len(leaf.fences))
            left[rows[inside]] = number * pages_a_leaf + found_left[inside]
            starts_before[rows[inside]] = leaf.continued[found_left[inside]]
        # The last leaf may be short: a key above its last fence stands behind the last page.
        return np.minimum(left, right), right, starts_before

    def _read_all(self) -> Leaf:
        """Every leaf in one, copied into arrays of the final size as the leaves come."""
        fences = self._fences
        codes = np.zeros(fences.pages, np.uint64)
        null, foreign = np.zeros(fences.pages, np.bool_), np.zeros(fences.pages, np.bool_)
        offsets = None if fences.codec.exact else np.zeros(fences.pages + 1, np.int64)
        data = None if fences.codec.exact else np.zeros(fences.key_bytes, np.uint8)
        continued = np.zeros(fences.pages, np.bool_)
        places = Places.empty(fences.pages) if fences.placed else None
        filled = 0
        for number in range(len(fences.root)):
            leaf = fences.read_leaf(number)
            at = slice(number * fences.leaf_pages, number * fences.leaf_pages + len(leaf.continued))
            found = leaf.fences
            if found is None or (found.data is not None and filled + len(found.data) > fences.key_bytes):
                raise CorruptStoreError(
                    f"leaf {number} of a page directory is larger than was written down; rebuild it"
                )
            codes[at], null[at], foreign[at] = found.codes, found.null, found.foreign
            if (
                offsets is not None
                and data is not None
                and found.offsets is not None
                and found.data is not None
            ):
                offsets[at.start + 1 : at.stop + 1] = filled + found.offsets[1:]
                data[filled : filled + len(found.data)] = found.data
                filled += len(found.data)
            continued[at] = leaf.continued
            if places is not None and leaf.places is not None:
                places.put(at, leaf.places)
            self._reads += leaf.reads
            self._bytes_read += leaf.bytes_read
        return Leaf(Keys(codes, offsets, data, null, foreign), continued, places)


def places_of(cache: LeafCache, leaf_pages: int, pages: Pages) -> Places:
    """Where ascending `pages` lie, each leaf fetched once."""
    leaves = pages // leaf_pages
    found = Places.empty(len(pages))
    starts = np.flatnonzero(np.diff(leaves, prepend=-1))
    for begin, end in zip(starts.tolist(), [*starts[1:].tolist(), len(pages)], strict=True):
        number = int(leaves[begin])
        places = cache.get(number).places
        assert places is not None
        found.put(slice(begin, end), places.take(pages[begin:end] - number * leaf_pages))
    return found


def _bits(continued: NDArray[np.bool_], pages: Pages) -> NDArray[np.int64]:
    """1 where the page's first key began on the page before; 0 behind the last page."""
    if len(continued) == 0:
        return np.zeros(len(pages), np.int64)
    bits = continued[np.minimum(pages, len(continued) - 1)] & (pages < len(continued))
    return bits.astype(np.int64)
