"""The table of a row cache: an open hash of 24-byte entries, so that a probe is one cache miss.

An entry is a code, the reference of its first master row, how many rows follow, and how often it was
hit. Deleting shifts later entries back; places are therefore good until the next deletion.

Cost: look_up, insert, delete O(1); least_hit O(places). Bytes: 24 a place, 2 to 4 places an entry.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from semistream.structures.codeindex import NONE, spread
from semistream.structures.jit import kernel
from semistream.structures.memory import load_int32, load_int64, load_uint64, prefetch

AHEAD = 24  # codes whose places are asked for before they are looked at
ENTRY = np.dtype([("code", np.uint64), ("first", np.int64), ("count", np.int32), ("hits", np.float32)])
ENTRY_BYTES = ENTRY.itemsize

Table = NDArray[Any]  # of ENTRY
UInt64s = NDArray[np.uint64]
Int32s = NDArray[np.int32]
Int64s = NDArray[np.int64]


def new_table(places: int) -> Table:
    table = np.zeros(places, dtype=ENTRY)
    table["first"] = NONE
    return table


@kernel
def look_up(table: Table, codes: UInt64s, weight: float, counts: Int32s) -> Int64s:
    """The first row of each code's entry, NONE without one; `weight` is added to its hits."""
    mask = len(table) - 1
    base = np.uint64(table.ctypes.data)
    first = np.empty(len(codes), dtype=np.int64)
    for i in range(len(codes)):
        if i + AHEAD < len(codes):
            ahead = base + np.uint64(spread(codes[i + AHEAD], mask) * ENTRY_BYTES)
            prefetch(ahead)
            prefetch(ahead + np.uint64(ENTRY_BYTES - 1))  # every third entry lies on two lines
        at = spread(codes[i], mask)
        while True:
            entry = base + np.uint64(at * ENTRY_BYTES)
            first[i] = load_int64(entry + np.uint64(8))
            if first[i] == NONE or load_uint64(entry) == codes[i]:
                break
            at = (at + 1) & mask
        counts[i] = load_int32(entry + np.uint64(16))
        if weight and first[i] != NONE:
            table[at].hits += np.float32(weight)
    return first


@kernel
def places_of(table: Table, codes: UInt64s) -> Int64s:
    """Where each code's entry is, NONE without one."""
    mask = len(table) - 1
    places = np.empty(len(codes), dtype=np.int64)
    for i in range(len(codes)):
        at = spread(codes[i], mask)
        while table[at].first != NONE and table[at].code != codes[i]:
            at = (at + 1) & mask
        places[i] = at if table[at].first != NONE else NONE
    return places


@kernel
def insert(table: Table, codes: UInt64s, first: Int64s, counts: Int32s, hits: NDArray[np.float32]) -> None:
    """Add entries of codes that have none."""
    mask = len(table) - 1
    for i in range(len(codes)):
        at = spread(codes[i], mask)
        while table[at].first != NONE:
            at = (at + 1) & mask
        table[at].code = codes[i]
        table[at].first = first[i]
        table[at].count = counts[i]
        table[at].hits = hits[i]


@kernel
def delete(table: Table, place: int) -> None:
    mask = len(table) - 1
    hole = place
    at = place
    while True:
        at = (at + 1) & mask
        if table[at].first == NONE:
            break
        if ((at - spread(table[at].code, mask)) & mask) >= ((at - hole) & mask):
            table[hole] = table[at]
            hole = at
    table[hole].first = NONE
    table[hole].count = 0


@kernel
def delete_codes(table: Table, codes: UInt64s) -> None:
    """Delete the entries of these codes, all of which are there."""
    mask = len(table) - 1
    for i in range(len(codes)):
        at = spread(codes[i], mask)
        while table[at].code != codes[i] or table[at].first == NONE:
            at = (at + 1) & mask
        delete(table, at)


@kernel
def expand(first: Int64s, counts: Int32s) -> tuple[Int64s, Int64s]:
    """All (position, master row reference) pairs."""
    total = 0
    for i in range(len(first)):
        total += counts[i] if first[i] != NONE else 0
    positions = np.empty(total, dtype=np.int64)
    references = np.empty(total, dtype=np.int64)
    n = 0
    for i in range(len(first)):
        if first[i] != NONE:
            for k in range(counts[i]):
                positions[n] = i
                references[n] = first[i] + k
                n += 1
    return positions, references
