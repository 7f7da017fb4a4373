"""The row cache against the master it caches: complete keys, the right victims, within its limit."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from semistream.structures.codeindex import NONE
from semistream.structures.entries import expand
from semistream.structures.rowcache import AGING_PERIOD, Replacement, RowCache
from semistream.structures.rowpool import numbers_of, rows_of
from tests.structures.samples import FLAT_SCHEMA, NESTED_SCHEMA, batch

BARE = pa.schema([])
KEYS = 120  # of the master; key k has 1 + k % 3 rows
Codes = NDArray[np.uint64]
FREQUENT = Replacement.LEAST_FREQUENT
each_replacement = pytest.mark.parametrize("replacement", Replacement, ids=lambda r: r.name.lower())


def codes_of(keys: Iterable[int]) -> Codes:
    return np.array([*keys], dtype=np.uint64) * np.uint64(2**40)


def ids_of(key: int) -> list[int]:
    """What tells this key's rows apart from every other row."""
    return [key * 10 + i for i in range(1 + key % 3)]


def offer(cache: RowCache, keys: list[int], estimate: float = 1.0, longest: int = 30) -> int:
    ids = [i for key in keys for i in ids_of(key)]
    rows = batch(cache.sources.schema, ids, np.random.default_rng(keys), longest)
    counts = np.array([len(ids_of(key)) for key in keys], dtype=np.int64)
    return cache.add(rows, codes_of(keys), counts, np.full(len(keys), estimate))


def probe(cache: RowCache, keys: list[int], times: int = 1) -> list[list[int]]:
    """The ids that each key gets for an answer; none where it isn't cached."""
    codes = codes_of(keys)
    for _ in range(times):
        first, found = cache.look_up(codes)
    positions, refs = expand(first, found)
    counts = np.bincount(positions, minlength=len(keys))
    assert np.where(first == NONE, 0, found).tolist() == counts.tolist()
    assert np.array_equal(first[first != NONE], refs[np.diff(positions, prepend=-1) > 0])
    if not len(cache.sources.schema):
        return [[-1] * count for count in counts]
    [ids] = cache.sources.gather(numbers_of(refs), rows_of(refs), [0])
    answers: list[list[int]] = [[] for _ in keys]
    for position, i in zip(positions, ids.to_pylist(), strict=True):
        answers[position].append(i)
    return answers


def cached(cache: RowCache, keys: Iterable[int] = range(KEYS)) -> set[int]:
    return {key for key in keys if cache.has(int(codes_of([key])[0]))}


@pytest.mark.parametrize("schema", [FLAT_SCHEMA, NESTED_SCHEMA, BARE], ids=["flat", "nested", "bare"])
@pytest.mark.parametrize("capacity", [25, 200], ids=["few entries", "few bytes"])
@each_replacement
def test_every_answer_is_complete(replacement: Replacement, capacity: int, schema: pa.Schema) -> None:
    rng = np.random.default_rng(capacity)
    limit = 6000
    cache = RowCache(schema, capacity, limit, replacement, seed=1)
    before: set[int] = set()
    taken = 0
    for step in range(150):
        keys = rng.permutation(KEYS)[: int(rng.integers(1, 9))].tolist()
        evictions = cache.evictions
        added = offer(cache, keys, estimate=float(rng.random() / capacity), longest=60)
        taken += added
        cache.check()
        cache.sources.check()
        after = cached(cache)
        assert after <= before | {*keys}
        assert len(after) == len(cache) == len(before) + added - (cache.evictions - evictions) <= capacity
        assert cache.rows == sum(len(ids_of(key)) for key in after)
        assert cache.held_bytes <= RowCache.bytes_for(capacity) + limit
        answers = probe(cache, [*range(KEYS)])
        if len(schema):
            assert answers == [ids_of(key) if key in after else [] for key in range(KEYS)]
        else:
            assert [len(ids) for ids in answers] == [
                len(ids_of(key)) if key in after else 0 for key in range(KEYS)
            ]
        before = after
        if step % 70 == 69:
            cache.clear()
            cache.check()
            assert (len(cache), cache.rows, cached(cache)) == (0, 0, set())
            assert cache.held_bytes == RowCache.bytes_for(capacity)
            before = set()
    assert taken > capacity or capacity > KEYS
    if len(schema) or capacity < KEYS:
        assert cache.evictions > 0


def test_a_key_is_cached_once() -> None:
    cache = RowCache(FLAT_SCHEMA, 10, 5000, Replacement.RANDOM, seed=1)
    assert offer(cache, [1, 2, 3]) == 3
    assert offer(cache, [2, 4, 3]) == 1
    cache.check()
    assert probe(cache, [1, 2, 3, 4]) == [ids_of(key) for key in (1, 2, 3, 4)]


def test_least_frequent_gives_up_the_least_frequent() -> None:
    cache = RowCache(FLAT_SCHEMA, 4, 100_000, FREQUENT, seed=1)
    assert offer(cache, [0, 1, 2, 3], estimate=0.0) == 4
    for key, hits in ((0, 5), (1, 1), (2, 3), (3, 2)):
        probe(cache, [key], times=hits)
    for newcomer, victim in ((10, 1), (11, 3), (12, 2), (13, 0)):
        before = cached(cache)
        assert offer(cache, [newcomer], estimate=1.0) == 1
        assert cached(cache) == before - {victim} | {newcomer}
        cache.check()


def test_a_frequent_entry_is_not_given_up_for_a_rare_one() -> None:
    cache = RowCache(FLAT_SCHEMA, 4, 100_000, FREQUENT, seed=1)
    offer(cache, [0, 1, 2, 3], estimate=0.0)
    probe(cache, [0, 1, 2, 3], times=4)
    counter_of_one_hit = 1 / (AGING_PERIOD * cache.capacity)
    assert offer(cache, [10], estimate=4 * counter_of_one_hit) == 0
    assert cached(cache) == {0, 1, 2, 3}
    assert offer(cache, [10], estimate=5 * counter_of_one_hit) == 1
    cache.check()


def test_nor_where_bytes_are_what_is_short() -> None:
    for estimate, kept in ((0.0001, True), (1.0, False)):
        cache = RowCache(FLAT_SCHEMA, 1000, 4000, FREQUENT, seed=1)
        key = 0
        while cache.evictions == 0 and offer(cache, [key], estimate=0.0) == 1:
            key += 1
        before = cached(cache)
        probe(cache, [*before], times=3)
        assert len(before) < 100, "entries, not bytes, were short"
        assert offer(cache, [200], estimate) == (0 if kept else 1)
        assert (cached(cache) == before) == kept
        cache.check()


def test_what_was_frequent_long_ago_gives_way() -> None:
    cache = RowCache(FLAT_SCHEMA, 4, 100_000, FREQUENT, seed=1)
    offer(cache, [0, 1, 2, 3], estimate=0.0)
    probe(cache, [0], times=30)
    probe(cache, [1, 2, 3], times=8)
    for _ in range(4):  # counters halve once in so many lookups; key 0 is not asked for any more
        probe(cache, [1, 2, 3], times=AGING_PERIOD * cache.capacity // 3)
    assert offer(cache, [10], estimate=0.5) == 1
    assert 0 not in cached(cache)


def test_a_sample_keeps_hot_entries_and_chance_does_not() -> None:
    kept = {}
    hot = [*range(10)]
    for replacement in (Replacement.LEAST_FREQUENT_OF_SAMPLE, Replacement.RANDOM):
        cache = RowCache(FLAT_SCHEMA, 50, 1_000_000, replacement, seed=5)
        offer(cache, hot, estimate=0.001)
        for cold in range(100, 500, 10):
            probe(cache, hot, times=3)
            offer(cache, [*range(cold, cold + 10)], estimate=0.002 + cold / 1e6)
        cache.check()
        kept[replacement] = len(cached(cache, hot))
        assert cache.evictions > 300
    assert kept == {Replacement.LEAST_FREQUENT_OF_SAMPLE: 10, Replacement.RANDOM: 0}


def test_the_same_seed_gives_up_the_same_entries() -> None:
    found = []
    for seed in (1, 1, 2):
        cache = RowCache(FLAT_SCHEMA, 20, 100_000, Replacement.RANDOM, seed)
        for key in range(60):
            offer(cache, [key])
        found.append(cached(cache))
    assert found[0] == found[1] != found[2]


@each_replacement
def test_a_cache_short_of_bytes_stays_full(replacement: Replacement) -> None:
    """Room for new rows comes from dead ones: it never takes more than a few live ones with it."""
    limit = 40_000
    cache = RowCache(FLAT_SCHEMA, 5000, limit, replacement, seed=3)
    rng = np.random.default_rng(3)
    for step in range(250):
        before = cache.evictions
        offer(cache, rng.integers(0, 10**6, 12).tolist(), estimate=1.0, longest=60)
        cache.check()
        if step > 60:
            assert cache.evictions - before < 40
            assert cache._pool.live_bytes > limit / 2


def test_a_pinned_cache_gives_up_nothing_in_vain() -> None:
    cache = RowCache(FLAT_SCHEMA, 1000, 4000, Replacement.RANDOM, seed=1)
    key = 0
    while cache.evictions == 0:
        offer(cache, [key])
        key += 1
    codes = codes_of(sorted(cached(cache)))
    _, noted = expand(*cache.look_up(codes))
    [before] = cache.sources.gather(numbers_of(noted), rows_of(noted), [0])
    cache.sources.pin()
    refused = 0
    for more in range(key, key + 60):
        evictions, there = cache.evictions, len(cache)
        if offer(cache, [more]) == 0:
            refused += 1
            assert (cache.evictions, len(cache)) == (evictions, there)
        cache.check()
        [now] = cache.sources.gather(numbers_of(noted), rows_of(noted), [0])
        assert now.equals(before)
    assert refused > 0
    cache.sources.unpin()
    assert offer(cache, [key + 100]) == 1
    cache.check()


def test_what_is_too_large_or_nothing_is_not_taken_in() -> None:
    cache = RowCache(FLAT_SCHEMA, 10, 2000, Replacement.RANDOM, seed=1)
    offer(cache, [1, 2])
    assert offer(cache, [5], longest=10**6) == 0
    assert offer(cache, []) == 0
    assert cached(cache) == {1, 2}
    cache.check()
    nothing = RowCache(FLAT_SCHEMA, 0, 2000, Replacement.RANDOM, seed=1)
    assert offer(nothing, [1]) == 0
    assert probe(nothing, [1]) == [[]]
    nothing.check()


@pytest.mark.parametrize("capacity", [1, 7, 1000])
def test_bytes_are_those_allocated(capacity: int) -> None:
    cache = RowCache(FLAT_SCHEMA, capacity, 1000, Replacement.RANDOM, seed=1)
    own = sum(array.nbytes for array in vars(cache).values() if isinstance(array, np.ndarray))
    assert cache.held_bytes == RowCache.bytes_for(capacity) == own


def test_many_random_victims_leave_together() -> None:
    cache = RowCache(FLAT_SCHEMA, 60, 1 << 20, Replacement.RANDOM, seed=3)
    old, new = list(range(60)), list(range(60, 100))
    for keys in (old, new):
        assert offer(cache, keys) == len(keys)
        cache.check()
    assert cache.evictions == len(new)
    assert cached(cache, new) == set(new)
    stayed = cached(cache, old)
    assert len(stayed) == len(old) - len(new)
    assert stayed not in (set(old[:20]), set(old[-20:])), "the victims aren't random"
    assert probe(cache, sorted(stayed)) == [ids_of(key) for key in sorted(stayed)]
