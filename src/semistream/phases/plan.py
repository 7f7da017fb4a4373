"""How a byte budget is split among the parts of a join.

First every part gets the least it can work in; their sum is the minimum that an error names. What
is left is shared out: small fixed shares for output, arrivals, held pages and the directory, the
rest between the front and the pending rows as the algorithm says.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from semistream.budget import format_bytes
from semistream.errors import BudgetError
from semistream.stores.base import PageLayout
from semistream.structures.codeindex import CodeIndex
from semistream.structures.matching import match_bytes
from semistream.structures.pending import Pending
from semistream.structures.rowcache import FILL, RowCache

LEAST_PENDING = 16
LEAST_ARRIVALS = 4096
LEAST_OUTPUT = 4096
LEAST_POOL = 4096
SCRATCH_PER_ARRIVAL = 128  # codes, flags, positions, page numbers, references while a piece is probed
SCRATCH_PER_ANSWER = 80  # a note, and what gathering it takes
SCRATCH_PER_FOUND = 160  # codes, places, addresses and match tables of a row while it is found
POOL_SLACK = 1.5  # payload bytes per byte of live payload: dead rows wait for their batch to empty


@dataclass(frozen=True, slots=True)
class Needs:
    """What an algorithm asks for."""

    front: str = "none"  # "none", "rows" or "pages"
    front_share: float = 0.0  # of what front and pending rows share
    loads_in_flight: int = 1
    partition_pages: int = 1
    pending_rows: int | None = None  # None: as many as fit
    cache_rows: int | None = None
    front_partitions: int | None = None
    indexed_rows: bool = False  # pending rows are found by code as well (MESHJOIN)
    intermediate_share: float = 0.0  # of the memory, for rows between two threads
    output_rows: int = 65536
    probe_rows: int | None = None
    at_hand: bool = False  # rows are found singly on their way in


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of the data."""

    layout: PageLayout
    directory_least: int
    directory_full: int
    exact_keys: bool
    stream_row_bytes: int  # the average, key bytes of hashed keys included
    master_row_bytes: int  # the columns that are read, on average


@dataclass(frozen=True, slots=True)
class Plan:
    """The split, in bytes and rows."""

    directory_bytes: int
    pages_bytes: int
    partition_pages: int
    partitions_at_once: int
    found_rows: int  # waiting rows whose master rows are found at once, where pages aren't read whole
    output_rows: int
    output_bytes: int
    arrival_rows: int
    arrival_bytes: int
    pending_rows: int
    pool_bytes: int
    front_bytes: int
    front_entries: int
    intermediate_bytes: int
    at_hand_bytes: int

    @property
    def largest_row(self) -> int:
        """The most bytes one stream row may have: it has to be copied, moved and put out."""
        return self.pool_bytes // 4

    @property
    def front_pool_bytes(self) -> int:
        return self.front_bytes - RowCache.bytes_for(self.front_entries) if self.front_entries else 0


def make_plan(memory: int, needs: Needs, facts: Facts, name: str) -> Plan:
    """Split `memory`, or say what the least is."""
    page = _partition_bytes(needs, facts)
    least_pages = (2 * needs.loads_in_flight + 1) * page
    least_output = LEAST_OUTPUT + facts.layout.max_bytes
    least_arrivals = LEAST_ARRIVALS + 4 * facts.stream_row_bytes
    rows = LEAST_PENDING if needs.pending_rows is None else needs.pending_rows
    intermediate = least_arrivals if needs.intermediate_share else 0
    least_pending = _pending_bytes(rows, needs, facts) + LEAST_POOL + 2 * least_arrivals
    least_front = _least_front(needs, facts, page)
    fixed = least_pages + 2 * least_output + 2 * least_arrivals + facts.directory_least
    minimum = fixed + least_pending + least_front + intermediate
    minimum += facts.layout.max_bytes if needs.at_hand else 0
    if memory < minimum:
        raise BudgetError(
            f"memory={format_bytes(memory)} is too small: {name} needs at least {format_bytes(minimum)} "
            f"({minimum} bytes) for this master (a partition takes {format_bytes(page)} while it is matched, "
            f"its directory at least {format_bytes(facts.directory_least)}); "
            "give more memory or fewer rows to a page"
        )
    spare = memory - minimum
    intermediate += int(spare * needs.intermediate_share)
    spare -= int(spare * needs.intermediate_share)
    at_hand = facts.layout.max_bytes + spare // 12 if needs.at_hand else 0
    spare -= spare // 12 if needs.at_hand else 0
    directory = facts.directory_least + min(facts.directory_full - facts.directory_least, spare // 8)
    output = least_output + spare // 24
    arrivals = least_arrivals + spare // 16
    pages = least_pages + spare // 12
    spare -= directory - facts.directory_least + 2 * (spare // 24) + 2 * (spare // 16) + spare // 12
    if needs.cache_rows is not None or needs.front_partitions is not None:
        front = least_front
    else:
        front = least_front + (int(spare * needs.front_share) if needs.front != "none" else 0)
    spare -= front - least_front
    if needs.pending_rows is None:
        rows = _most_rows(LEAST_PENDING, least_pending + spare - LEAST_POOL - 2 * arrivals, needs, facts)
    array_bytes = _array_bytes(rows, needs, facts)
    # A piece of arrivals is staged beside the pending rows, and copied once on the way.
    pool = max(least_pending + spare - array_bytes, LEAST_POOL + 2 * least_arrivals)
    per_arrival = SCRATCH_PER_ARRIVAL + 3 * facts.stream_row_bytes
    arrival_rows = max(1, arrivals // per_arrival)
    if needs.probe_rows is not None:
        arrival_rows = min(arrival_rows, needs.probe_rows)
    per_answer = SCRATCH_PER_ANSWER + facts.stream_row_bytes + facts.master_row_bytes
    return Plan(
        directory_bytes=directory,
        pages_bytes=pages,
        partition_pages=needs.partition_pages,
        partitions_at_once=max(1, pages // (2 * page)),
        found_rows=max(16, pages // (4 * (SCRATCH_PER_FOUND + 2 * facts.master_row_bytes))),
        output_rows=max(1, min(needs.output_rows, output // per_answer)),
        output_bytes=max(1, output // 2),
        arrival_rows=arrival_rows,
        arrival_bytes=max(1, min(arrivals // 3, pool // 4)),
        pending_rows=rows,
        pool_bytes=pool,
        front_bytes=front,
        front_entries=_front_entries(front, needs, facts),
        intermediate_bytes=intermediate,
        at_hand_bytes=at_hand,
    )


def row_bytes_of(schema: pa.Schema, layout: PageLayout, columns: list[str]) -> int:
    """Average bytes of some columns of a master row, from the largest page and the types."""

    def fixed(names: list[str]) -> tuple[int, int]:
        total, varying = 0, 0
        for name in names:
            try:
                total += max(1, schema.field(name).type.bit_width // 8)
            except ValueError:  # a type without a width
                varying += 1
        return total, varying

    average = layout.max_bytes / max(1, layout.max_rows)
    all_fixed, all_varying = fixed(schema.names)
    some_fixed, some_varying = fixed(columns)
    share = some_varying / all_varying if all_varying else 0.0
    return int(some_fixed + max(0.0, average - all_fixed) * share) + 1


def _partition_bytes(needs: Needs, facts: Facts) -> int:
    """A partition while it is read and matched: what was read, a copy, its keys, the match table."""
    copies = 2 if facts.exact_keys else 4
    rows = needs.partition_pages * facts.layout.max_rows
    return needs.partition_pages * facts.layout.max_bytes * copies + 32 * rows + match_bytes(rows) + 8192


def _payload_bytes(facts: Facts) -> int:
    return int(facts.stream_row_bytes * POOL_SLACK) + 1


def _array_bytes(rows: int, needs: Needs, facts: Facts) -> int:
    arrays = Pending.bytes_for(rows, max(1, -(-facts.layout.pages // needs.partition_pages)))
    return arrays + (CodeIndex.bytes_for(rows) + rows if needs.indexed_rows else 0)


def _pending_bytes(rows: int, needs: Needs, facts: Facts) -> int:
    return _array_bytes(rows, needs, facts) + rows * _payload_bytes(facts)


def _most_rows(least: int, available: int, needs: Needs, facts: Facts) -> int:
    """The most pending rows that fit; table sizes are powers of two, so search."""
    low, high = least, max(least, available // 44)
    while low < high:
        middle = (low + high + 1) // 2
        if _pending_bytes(middle, needs, facts) <= available:
            low = middle
        else:
            high = middle - 1
    return low


def _least_front(needs: Needs, facts: Facts, page: int) -> int:
    if needs.front == "pages":
        return page * (needs.front_partitions if needs.front_partitions is not None else 1)
    if needs.front == "rows":
        rows = needs.cache_rows if needs.cache_rows is not None else 1
        # The pool refuses what is above half of it, and fills to FILL.
        return RowCache.bytes_for(max(1, rows)) + int(rows * facts.master_row_bytes / FILL * 1.5) + 16384
    return 0


def _front_entries(front: int, needs: Needs, facts: Facts) -> int:
    if needs.front != "rows":
        return 0
    if needs.cache_rows is not None:
        return max(1, needs.cache_rows)
    low, high = 1, max(1, front // 48)
    while low < high:
        middle = (low + high + 1) // 2
        if RowCache.bytes_for(middle) + middle * facts.master_row_bytes / FILL <= front * 0.95:
            low = middle
        else:
            high = middle - 1
    return low
