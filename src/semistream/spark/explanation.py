"""What `explain` says, for people and for programs."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa

from semistream.budget import format_bytes


@dataclass(frozen=True)
class KeyPair:
    """A key column on both sides."""

    stream: str
    stream_type: str
    master: str
    master_type: str

    def __str__(self) -> str:
        return f"{self.stream}: {self.stream_type} = {self.master}: {self.master_type}"


@dataclass(frozen=True)
class LookupPlan:
    """One lookup: what it meets, how it would work, and what a batch would cost."""

    master: str
    how: str
    keys: tuple[KeyPair, ...]
    store: str
    rows: int | None
    unique: bool | None
    pages: int
    page_bytes: int  # of the largest page, in memory
    version: str
    algorithm: str
    reason: str
    memory: int  # of one worker
    memory_parts: dict[str, int]  # their sum is `memory`
    waiting_rows: int  # the most that wait at once
    cached_rows: int  # the most the front holds
    hit_ratio: float  # of a warm worker
    loads: float  # a batch, warm
    loads_cold: float  # a batch that meets empty caches
    bytes_per_load: int
    mapped_bytes: int  # of the master's files in the page cache, which resident memory counts

    def lines(self) -> dict[str, str]:
        size = f"{self.rows:,} rows" if self.rows is not None else "rows not counted"
        unique = {True: ", no key twice", False: ", keys stand more than once", None: ""}[self.unique]
        parts = ", ".join(f"{name} {format_bytes(part)}" for name, part in self.memory_parts.items() if part)
        return {
            "master": self.master,
            "keys": "; ".join(map(str, self.keys)),
            "how": self.how,
            "store": f"{self.store}: {size}{unique}, {self.pages:,} pages of up to "
            f"{format_bytes(self.page_bytes)}, version {self.version}",
            "algorithm": f"{self.algorithm}: {self.reason}",
            "memory": f"{format_bytes(self.memory)} a worker: {parts}",
            "room": f"{self.waiting_rows:,} waiting rows, {self.cached_rows:,} cached rows",
            "loads": f"{self.loads:,.0f} a batch, each about {format_bytes(self.bytes_per_load)}; "
            f"{self.hit_ratio:.0%} of the rows need none. Cold: {self.loads_cold:,.0f}",
        }


@dataclass(frozen=True)
class Explanation:
    """What a lookup, or several in one trip, would do. Print it, or take `as_dict`."""

    lookups: tuple[LookupPlan, ...]
    output_schema: pa.Schema
    memory: int  # one worker's, as asked for
    base_bytes: int  # of a worker that joins nothing: interpreter, libraries, Spark's batches
    base_measured: bool
    executors: int | None
    slots: int | None  # tasks that an executor runs at a time
    python_operators: int  # Python processes that one task needs
    batch_rows: int
    tasks: int  # that the batch was taken to be split into
    exponent: float
    warnings: tuple[str, ...]

    @property
    def workers_an_executor(self) -> int | None:
        return None if self.slots is None else self.slots * self.python_operators

    @property
    def executor_bytes(self) -> int | None:
        """Resident memory of an executor's Python workers at most, the page cache left out."""
        workers = self.workers_an_executor
        return None if workers is None else workers * (self.base_bytes + self.memory)

    @property
    def total_bytes(self) -> int | None:
        """The same for the whole query."""
        each = self.executor_bytes
        return None if each is None or self.executors is None else each * self.executors

    def as_dict(self) -> dict[str, Any]:
        """Everything as plain values, for JSON."""
        return {
            **{name: value for name, value in asdict(self).items() if name != "output_schema"},
            "output_schema": {field.name: str(field.type) for field in self.output_schema},
            "workers_an_executor": self.workers_an_executor,
            "executor_bytes": self.executor_bytes,
            "total_bytes": self.total_bytes,
        }

    def __str__(self) -> str:
        lines: list[tuple[str, str]] = []
        for plan in self.lookups:
            lines += plan.lines().items()
        lines.append(("batch", self._batch()))
        lines.append(("output", ", ".join(f"{field.name}: {field.type}" for field in self.output_schema)))
        lines.append(("workers", self._workers()))
        lines.append(("total", self._total()))
        lines += [("mind", text) for text in self.warnings]
        return "\n".join(f"{name:<10} {text}" for name, text in lines)

    def _batch(self) -> str:
        return (
            f"the loads are predicted for {self.batch_rows:,} rows in {_many(self.tasks, 'task')}, "
            f"keys by Zipf's law with exponent {self.exponent:g}, scattered over the master"
        )

    def _workers(self) -> str:
        if self.slots is None:
            return "as many an executor as it runs tasks at a time: not known from here"
        executors = "a number of executors" if self.executors is None else _many(self.executors, "executor")
        workers = _many(self.slots * self.python_operators, "worker")
        return (
            f"{executors}, {_many(self.slots, 'task')} at a time on each, "
            f"{_many(self.python_operators, 'Python process', 'es')} a task: {workers} an executor"
        )

    def _total(self) -> str:
        source = "measured" if self.base_measured else "about"
        each = (
            f"{format_bytes(self.base_bytes)} ({source}: interpreter, libraries, batches in flight) + "
            f"{format_bytes(self.memory)} a worker"
        )
        if self.executor_bytes is None:
            return each
        whole = "" if self.total_bytes is None else f", {format_bytes(self.total_bytes)} in all"
        text = f"{each} = {format_bytes(self.executor_bytes)} an executor{whole}"
        mapped = sum(plan.mapped_bytes for plan in self.lookups)
        if mapped:
            text += (
                f"; beside it the page cache, of which resident memory may show up to {format_bytes(mapped)} "
                "a worker, shared by all of them on a machine"
            )
        return text


def _many(number: int, what: str, plural: str = "s") -> str:
    """
    >>> _many(1, "worker"), _many(4, "worker")
    ('1 worker', '4 workers')
    """
    return f"{number} {what}{'' if number == 1 else plural}"
