"""A directory says exactly where keys are, flat or paged, and never holds more than it may."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from semistream.errors import BudgetError
from semistream.keys import KeyCodec
from semistream.stores.directory import FenceDirectory, Fences
from semistream.stores.leaves import Leaf, LeafCache

INTEGER = [pa.field("id", pa.int64())]
TEXT = [pa.field("id", pa.string())]


def fences_of(values: list[int], page_rows: int, leaf_pages: int, fields: list[pa.Field]) -> Fences:
    rows = sorted(values)
    starts = range(0, len(rows), page_rows)
    continued = np.array([at > 0 and rows[at - 1] == rows[at] for at in starts], np.bool_)
    shown = [rows[at] if fields is INTEGER else f"{rows[at]:03d}" for at in starts]
    return Fences.of_arrays(
        KeyCodec.of_master(fields), [pa.array(shown, fields[0].type)], continued, leaf_pages
    )


def expected(values: list[int], page_rows: int, key: int) -> tuple[int, int]:
    rows = sorted(values)
    if key in rows:
        end = len(rows) - rows[::-1].index(key) - 1
        return rows.index(key) // page_rows, end // page_rows
    below = sum(value < key for value in rows)
    page = (below - 1) // page_rows if below else -1
    return page, page


@settings(max_examples=150, deadline=None)
@given(
    values=st.lists(st.integers(0, 40), max_size=120),
    page_rows=st.integers(1, 6),
    leaf_pages=st.integers(1, 5),
    fields=st.sampled_from([INTEGER, TEXT]),
)
def test_flat_and_paged_directories_find_where_a_key_begins_and_ends(
    values: list[int], page_rows: int, leaf_pages: int, fields: list[pa.Field]
) -> None:
    fences = fences_of(values, page_rows, leaf_pages, fields)
    asked = list(range(42))
    shown = asked if fields is INTEGER else [f"{key:03d}" for key in asked]
    keys = fences.codec.encode([pa.array([*shown, None], fields[0].type)])
    wanted = [*(expected(values, page_rows, key) for key in asked), (-1, -1)]
    for memory in {fences.least_bytes, fences.flat_bytes}:
        directory = FenceDirectory(fences, memory)
        first, last = directory.locate(keys)
        assert list(zip(first.tolist(), last.tolist(), strict=True)) == wanted
        assert directory.held_bytes <= memory
        directory.check()


def test_paged_directory_reads_each_leaf_once_a_batch_and_within_its_memory() -> None:
    fences = fences_of(list(range(1000)), 2, 10, INTEGER)
    read: list[int] = []

    def counted(number: int) -> Leaf:
        read.append(number)
        leaf = fences.read_leaf(number)
        return Leaf(leaf.fences, leaf.continued, None, 1, 77)

    paged = FenceDirectory(
        Fences(
            fences.codec,
            fences.pages,
            fences.root,
            fences.root_continued,
            counted,
            fences.leaf_bytes,
            leaf_pages=10,
        ),
        fences.least_bytes,
    )
    assert paged.paged
    keys = fences.codec.encode([pa.array([999, 3, 5, 501, 4, 500, 998])])
    first, last = paged.locate(keys)
    assert first.tolist() == last.tolist() == [499, 1, 2, 250, 2, 250, 499]
    assert read == [0, 25, 49]
    assert (paged.reads, paged.bytes_read) == (3, 3 * 77)
    paged.locate(keys.take(np.array([0])))
    assert read == [0, 25, 49], "the leaf used last is kept"
    assert paged.held_bytes <= fences.least_bytes


def test_too_little_memory_is_refused_with_the_least_that_would_do() -> None:
    fences = fences_of(list(range(1000)), 2, 10, INTEGER)
    with pytest.raises(BudgetError, match=str(fences.least_bytes)):
        FenceDirectory(fences, fences.least_bytes - 1)
    with pytest.raises(BudgetError, match="99"):
        LeafCache(fences.read_leaf, 100, 99)


def test_a_directory_of_a_billion_rows_needs_only_its_root_and_the_leaves_it_reads() -> None:
    leaf_pages, page_rows, pages = 512, 1000, 1_000_000
    codec = KeyCodec.of_master(INTEGER)

    def keys_from(numbers: NDArray[np.int64]) -> pa.Array:
        return pa.array(numbers * page_rows)

    def computed(number: int) -> Leaf:
        at = np.arange(number * leaf_pages, min((number + 1) * leaf_pages, pages))
        return Leaf(codec.encode([keys_from(at)]), np.zeros(len(at), np.bool_), bytes_read=4096)

    root = codec.encode([keys_from(np.arange(0, pages, leaf_pages))])
    fences = Fences(codec, pages, root, np.zeros(len(root), np.bool_), computed, computed(0).nbytes)
    memory = 100_000
    directory = FenceDirectory(fences, memory)
    asked = np.array([0, 1, 999_999_999, 123_456_789, 500_000_000, 123_456_000])
    first, last = directory.locate(codec.encode([pa.array(asked)]))
    assert first.tolist() == last.tolist() == (asked // page_rows).tolist()
    assert directory.reads == 4
    assert directory.held_bytes <= memory < fences.flat_bytes


def test_threads_share_a_small_cache_without_passing_its_memory_or_reading_twice() -> None:
    codec = KeyCodec.of_master(INTEGER)
    lock = threading.Lock()
    running: list[int] = []
    twice: list[int] = []

    def slow(number: int) -> Leaf:
        with lock:
            twice.extend(one for one in running if one == number)
            running.append(number)
        leaf = Leaf(codec.encode([pa.array([number])]), np.zeros(1, np.bool_))
        cache.check()
        with lock:
            running.remove(number)
        return leaf

    size = Leaf(codec.encode([pa.array([0])]), np.zeros(1, np.bool_)).nbytes
    cache = LeafCache(slow, size, 3 * size)
    numbers = np.random.default_rng(0).integers(0, 8, 400).tolist()
    with ThreadPoolExecutor(6) as pool:
        leaves = list(pool.map(cache.get, numbers))
    for number, leaf in zip(numbers, leaves, strict=True):
        assert leaf.fences is not None
        assert leaf.fences.codes[0] == codec.encode([pa.array([number])]).codes[0]
    assert not twice
    assert 8 <= cache.reads <= 400
    cache.check()


def test_a_leaf_that_fails_to_be_read_leaves_the_cache_usable() -> None:
    codec = KeyCodec.of_master(INTEGER)
    leaf = Leaf(codec.encode([pa.array([1])]), np.zeros(1, np.bool_))
    answers: list[Leaf | None] = [None, leaf]

    def sometimes(number: int) -> Leaf:
        answer = answers.pop(0)
        if answer is None:
            raise OSError("the device is gone")
        return answer

    cache = LeafCache(sometimes, leaf.nbytes, leaf.nbytes)
    with pytest.raises(OSError, match="the device is gone"):
        cache.get(0)
    assert cache.get(0) is leaf
    cache.check()
