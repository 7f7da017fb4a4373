"""A cell: one algorithm on one workload, with one setting, on one disk.

Cells hold what a run does, in real numbers: a twentieth of the papers' memory is written as that many
bytes. Whatever changes a result is a field, so that a cell's id says whether a result is still good.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal, get_args

from semistream.algorithms import names
from semistream.errors import ArgumentError

Order = Literal["frequency", "scattered"]
Disk = Literal["simulated", "real"]
Workload = Literal["zipf", "tpch", "tpch-zipf", "weather"]
Setting = bool | int | float | str
Settings = tuple[tuple[str, Setting], ...]

FORMAT = 1  # raise it when a run of the same cell would give other numbers
ID_DIGITS = 16


@dataclass(frozen=True, slots=True)
class Cell:
    """What one run does.

    memory: bytes, in the papers' accounting.
    partition_rows: master rows that a load brings.
    settings: of the algorithm, and `intermediate_rows` of the two with an intermediate buffer.
    queue_node_bytes: what the accounting charges for a place in the queue (v_Q): 12, in S5 4.
    arrival_rate: rows per virtual second; None: there is always another row.
    disk: the hard disk of 2011 on a virtual clock, or this machine's, past the page cache.
    repeats: measured parts, one behind the other after one warm-up.
    scale: what the papers' sizes were multiplied with to get here; for the record.

    >>> Cell("hybridjoin", 100_000, 1.0, "frequency", 2_621_440, 850).id == Cell.from_json(
    ...     Cell("hybridjoin", 100_000, 1.0, "frequency", 2_621_440, 850).as_json()
    ... ).id
    True
    """

    algorithm: str
    master_rows: int
    exponent: float
    order: Order
    memory: int
    partition_rows: int
    settings: Settings = ()
    queue_node_bytes: int = 12
    workload: Workload = "zipf"
    arrival_rate: float | None = None
    disk: Disk = "simulated"
    seed: int = 1
    repeats: int = 1
    scale: float = 1.0

    def __post_init__(self) -> None:
        if self.algorithm not in names():
            raise ArgumentError(f"algorithm={self.algorithm!r} is not known; there are {', '.join(names())}")
        for field, known in (("order", Order), ("disk", Disk), ("workload", Workload)):
            if getattr(self, field) not in get_args(known):
                raise ArgumentError(
                    f"{field}={getattr(self, field)!r} isn't known: give {' or '.join(get_args(known))}"
                )

    @property
    def id(self) -> str:
        """A digest of every field but the scale, which only says where the numbers come from."""
        told = self.as_json()
        del told["scale"]
        text = json.dumps([FORMAT, told], sort_keys=True)
        return hashlib.blake2b(text.encode(), digest_size=ID_DIGITS // 2).hexdigest()

    @property
    def saturated(self) -> Cell:
        """The same cell without an arrival rate: both begin with the same warm-up."""
        return replace(self, arrival_rate=None)

    def setting(self, name: str) -> Setting | None:
        return dict(self.settings).get(name)

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "settings": dict(self.settings)}

    @staticmethod
    def from_json(made: dict[str, Any]) -> Cell:
        known = {item.name for item in fields(Cell)}
        given = {name: value for name, value in made.items() if name in known}
        return Cell(**{**given, "settings": tuple(sorted(made["settings"].items()))})
