"""One byte budget for a whole join, its parts, and what each part really holds.

Two accountings stand side by side. *Actual*: the arrays and buffers that are allocated. *Paper*:
what the papers charge for the same capacities (a hash table's fudge factor of 8 on every pending
row and 12 bytes for its queue node), so that figures can be compared with theirs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from threading import Lock

from semistream.errors import ArgumentError, BudgetError

_UNITS = {"": 1, "b": 1}
_UNITS |= {f"{letter}ib": 1024**power for power, letter in enumerate("kmgt", start=1)}
_UNITS |= {f"{letter}b": 1000**power for power, letter in enumerate("kmgt", start=1)}

FUDGE_FACTOR = 8
QUEUE_NODE_BYTES = 12


def parse_memory(memory: int | str) -> int:
    """Bytes, from a number or a text such as "64MiB" (1024-based) or "64MB" (1000-based).

    >>> parse_memory("64MiB")
    67108864
    """
    if isinstance(memory, int) and not isinstance(memory, bool):
        size = memory
    else:
        found = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([a-zA-Z]*)\s*", str(memory))
        unit = _UNITS.get(found[2].lower()) if found else None
        if found is None or unit is None:
            raise ArgumentError(
                f"memory={memory!r} is no size: give bytes as a number, or a text like '64MiB' or '1GB'"
            )
        size = int(float(found[1]) * unit)
    if size <= 0:
        raise ArgumentError(f"memory={memory!r} is not above 0 bytes: give a size like '64MiB'")
    return size


def format_bytes(size: float) -> str:
    """
    >>> format_bytes(67108864)
    '64.0 MiB'
    """
    for unit in ("B", "KiB", "MiB"):
        if abs(size) < 1024:
            return f"{int(size)} B" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} GiB"


class Budget:
    """A limit, and what the parts of a join hold of it.

    A part says what it holds whenever that changes; the sum is compared with the limit each time
    and its peak is kept. Going over is a bug of ours and raises at once, rather than in a
    container's out-of-memory killer.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._held: dict[str, int] = {}
        self._total = 0
        self._lock = Lock()
        self.peak = 0

    def hold(self, part: str, size: int) -> None:
        """`part` now holds `size` bytes."""
        with self._lock:
            self._total += size - self._held.get(part, 0)
            self._held[part] = size
            self.peak = max(self.peak, self._total)
            total = self._total
        if total > self.limit:
            held = ", ".join(f"{name} {format_bytes(n)}" for name, n in self._held.items())
            raise BudgetError(
                f"the join holds {format_bytes(total)} of memory={format_bytes(self.limit)} ({held}); "
                "please report this, and give it more memory meanwhile"
            )

    @property
    def held(self) -> Mapping[str, int]:
        return dict(self._held)

    @property
    def total(self) -> int:
        return self._total


@dataclass(frozen=True, slots=True)
class PaperCharge:
    """What the papers' memory equation charges: M = buffers + front + h_S (f v_S + v_Q)."""

    buffer_bytes: int
    front_bytes: int
    pending_rows: int
    stream_row_bytes: int

    @property
    def total(self) -> int:
        row = FUDGE_FACTOR * self.stream_row_bytes + QUEUE_NODE_BYTES
        return self.buffer_bytes + self.front_bytes + self.pending_rows * row
