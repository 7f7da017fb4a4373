"""The kernels behind `Pending`: linked lists in arrays, and buckets in an open hash table.

State: the queue's two ends, the free list, the number of rows, and a cursor that `at_rank` moves
(its slot, and how many rows are younger than it).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from semistream.structures.codeindex import NONE, spread
from semistream.structures.jit import inline, kernel

UInt64s = NDArray[np.uint64]
Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]

OLDEST, YOUNGEST, FREE, COUNT, CURSOR, CURSOR_RANK = range(6)


def new_state() -> Int64s:
    return np.array([NONE, NONE, 0, 0, NONE, 0], dtype=np.int64)


@inline
def _place(bucket_page: Int64s, bucket_head: Int32s, page: int) -> int:
    """Where the page's bucket is, or would be."""
    mask = len(bucket_head) - 1
    at = spread(page, mask)
    while bucket_head[at] != NONE and bucket_page[at] != page:
        at = (at + 1) & mask
    return at


@inline
def _close(bucket_page: Int64s, bucket_head: Int32s, bucket_count: Int32s, hole: int) -> None:
    mask = len(bucket_head) - 1
    at = hole
    while True:
        at = (at + 1) & mask
        if bucket_head[at] == NONE:
            break
        home = spread(bucket_page[at], mask)
        if ((at - home) & mask) >= ((at - hole) & mask):
            bucket_page[hole] = bucket_page[at]
            bucket_head[hole] = bucket_head[at]
            bucket_count[hole] = bucket_count[at]
            hole = at
    bucket_head[hole] = NONE
    bucket_count[hole] = 0


@kernel
def admit(
    page: Int64s,
    older: Int32s,
    younger: Int32s,
    same_page: Int32s,
    bucket_page: Int64s,
    bucket_head: Int32s,
    bucket_count: Int32s,
    state: Int64s,
    codes: UInt64s,
    references: Int64s,
    admitted_at: Int64s,
    new_codes: UInt64s,
    new_pages: Int64s,
    new_references: Int64s,
    admitted: int,
) -> Int32s:
    slots = np.empty(len(new_codes), dtype=np.int32)
    for i in range(len(new_codes)):
        slot = state[FREE]
        state[FREE] = younger[slot]
        slots[i] = slot
        codes[slot] = new_codes[i]
        references[slot] = new_references[i]
        admitted_at[slot] = admitted + i
        page[slot] = new_pages[i]
        older[slot] = state[YOUNGEST]
        younger[slot] = NONE
        if state[YOUNGEST] == NONE:
            state[OLDEST] = slot
        else:
            younger[state[YOUNGEST]] = slot
        state[YOUNGEST] = slot
        state[COUNT] += 1
        state[CURSOR_RANK] += 1
        at = _place(bucket_page, bucket_head, new_pages[i])
        bucket_page[at] = new_pages[i]
        same_page[slot] = bucket_head[at]
        bucket_head[at] = slot
        bucket_count[at] += 1
    return slots


@inline
def _unlink(older: Int32s, younger: Int32s, admitted_at: Int64s, state: Int64s, slot: int) -> None:
    before, after = older[slot], younger[slot]
    cursor = state[CURSOR]
    if cursor == slot:
        state[CURSOR] = before if before != NONE else after
        state[CURSOR_RANK] -= 0 if before != NONE else 1
    elif cursor != NONE and admitted_at[slot] > admitted_at[cursor]:
        state[CURSOR_RANK] -= 1
    if before == NONE:
        state[OLDEST] = after
    else:
        younger[before] = after
    if after == NONE:
        state[YOUNGEST] = before
    else:
        older[after] = before
    state[COUNT] -= 1


@kernel
def take(
    page: Int64s,
    older: Int32s,
    younger: Int32s,
    same_page: Int32s,
    bucket_page: Int64s,
    bucket_head: Int32s,
    bucket_count: Int32s,
    state: Int64s,
    admitted_at: Int64s,
    pages: Int64s,
) -> Int32s:
    """Unlink all rows of these pages; the slots' contents stay until the next `admit`."""
    total = 0
    for wanted in pages:
        total += bucket_count[_place(bucket_page, bucket_head, wanted)]
    slots = np.empty(total, dtype=np.int32)
    n = 0
    for wanted in pages:
        at = _place(bucket_page, bucket_head, wanted)
        if bucket_head[at] == NONE:
            continue
        # A bucket is a stack: fill backwards to give the rows in arrival order.
        start, n = n, n + bucket_count[at]
        slot = bucket_head[at]
        for k in range(n - 1, start - 1, -1):
            slots[k] = slot
            _unlink(older, younger, admitted_at, state, slot)
            slot = same_page[slot]
        _close(bucket_page, bucket_head, bucket_count, at)
    taken = slots[:n]  # fewer than counted where a page was asked for twice
    for slot in taken:
        younger[slot] = state[FREE]
        state[FREE] = slot
    return taken


@kernel
def at_rank(older: Int32s, younger: Int32s, state: Int64s, target: int) -> int:
    """The slot with `target` younger rows."""
    if state[CURSOR] == NONE:
        state[CURSOR] = state[YOUNGEST]
        state[CURSOR_RANK] = 0
    while state[CURSOR_RANK] < target:
        state[CURSOR] = older[state[CURSOR]]
        state[CURSOR_RANK] += 1
    while state[CURSOR_RANK] > target:
        state[CURSOR] = younger[state[CURSOR]]
        state[CURSOR_RANK] -= 1
    return int(state[CURSOR])


@kernel
def page_not_in(page: Int64s, onward: Int32s, start: int, excluded: Int64s) -> int:
    slot = start
    while slot != NONE:
        if not np.any(excluded == page[slot]):
            return int(page[slot])
        slot = onward[slot]
    return NONE


@kernel
def fullest(bucket_page: Int64s, bucket_head: Int32s, bucket_count: Int32s) -> int:
    best, most = np.int64(NONE), 0
    for at in range(len(bucket_head)):
        if bucket_head[at] != NONE:
            c = bucket_count[at]
            if c > most or (c == most and bucket_page[at] < best):
                best, most = bucket_page[at], c
    return int(best)


@kernel
def count(bucket_page: Int64s, bucket_head: Int32s, bucket_count: Int32s, page: int) -> int:
    at = _place(bucket_page, bucket_head, page)
    return bucket_count[at] if bucket_head[at] != NONE else 0


@kernel
def counts(bucket_page: Int64s, bucket_head: Int32s, bucket_count: Int32s, pages: Int64s) -> Int64s:
    found = np.zeros(len(pages), dtype=np.int64)
    for i in range(len(pages)):
        at = _place(bucket_page, bucket_head, pages[i])
        if bucket_head[at] != NONE:
            found[i] = bucket_count[at]
    return found


@kernel
def walk(younger: Int32s, state: Int64s) -> Int32s:
    slots = np.empty(state[COUNT], dtype=np.int32)
    slot = state[OLDEST]
    for i in range(len(slots)):
        slots[i] = slot
        slot = younger[slot]
    return slots
