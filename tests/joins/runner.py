"""Runs a `Case` and holds it to the oracle, to its invariants and to its budget at every step."""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import semistream.keys
from semistream import SemiStreamJoin
from semistream.errors import BudgetError
from semistream.stores.base import Store
from semistream.stores.clustered_build import build
from semistream.stores.memory import MemoryStore
from tests.joins.cases import Case
from tests.joins.oracle import Expected, difference, rows_of


@dataclass
class Tally:
    """What a run of cases has met, so that a test can say it wasn't about nothing."""

    cases: int = 0
    rows_in: int = 0
    rows_out: int = 0
    matched: int = 0
    unmatched: int = 0
    null_keys: int = 0
    loads: int = 0
    waited: int = 0  # cases in which a row waited for a later call
    at_least_memory: int = 0
    weak_hashes: int = 0
    cache_hits: int = 0

    def add(self, other: Tally) -> None:
        for item in fields(self):
            setattr(self, item.name, getattr(self, item.name) + getattr(other, item.name))


def run_case(case: Case) -> Tally:
    """Run a case; any difference from what is right is an AssertionError."""
    with weak_hash(case.hash_mask):
        return _Run(case).run()


def least_memory(error: BudgetError) -> int:
    """The number of bytes that the error says are needed."""
    found = re.search(r"\((\d+) bytes\)", str(error))
    assert found is not None, f"a budget error that names no minimum: {error}"
    return int(found[1])


@contextmanager
def weak_hash(mask: int | None) -> Iterator[None]:
    """Let the key hash keep only the bits of `mask`, so that unequal keys have equal codes."""
    if mask is None:
        yield
        return
    real = semistream.keys.hash_bytes

    def weak(offsets: NDArray[np.int64], data: NDArray[np.uint8]) -> NDArray[np.uint64]:
        codes: NDArray[np.uint64] = real(offsets, data) & np.uint64(mask)
        return codes

    with patch.object(semistream.keys, "hash_bytes", weak):
        yield


class _Run:
    def __init__(self, case: Case) -> None:
        self.case = case
        self.master = case.master()
        self.batches = case.stream()
        self.store = self._stored(list(case.on().values()))
        self.join: SemiStreamJoin
        self.memory = 0
        self.out: list[pa.RecordBatch] = []
        self.pushed = 0
        self.waited = False

    def _stored(self, key: list[str]) -> Store:
        if not self.case.on_disk:
            return MemoryStore(self.master, key, self.case.page_rows)
        with tempfile.TemporaryDirectory() as folder:  # open files outlive their folder
            return build(self.master, Path(folder) / "master", key, page_rows=self.case.page_rows)

    def run(self) -> Tally:
        case = self.case
        first = self._begin()
        self._read(first)
        self.pushed += len(self.batches[0])
        self._after(case.calls[0])
        for batch, call in zip(self.batches[1:], case.calls[1:], strict=True):
            self._read(self.join.push(batch))
            self.pushed += len(batch)
            self._after(call)
        self._read(self.join.drain())
        expected = self._judge()
        stats = self.join.stats
        self.join.close()
        return Tally(
            cases=1,
            rows_in=self.pushed,
            rows_out=stats.rows_out,
            matched=expected.matched,
            unmatched=expected.unmatched,
            null_keys=expected.null_keys,
            loads=stats.loads,
            waited=self.waited,
            at_least_memory=case.spare == 0.0,
            weak_hashes=case.hash_mask is not None,
            cache_hits=stats.cache_hits,
        )

    def _begin(self) -> Iterable[pa.RecordBatch]:
        """Find the least memory by asking for it, add the spare, and push the first batch."""
        asked, spared = 1, False
        for _ in range(5):
            try:
                self.join = self._made(asked)
                self.memory = asked
                first = self.join.push(self.batches[0])
            except BudgetError as error:
                refused, asked = asked, least_memory(error)
            else:
                if spared or not self.case.spare:
                    return first
                asked, spared = int(asked * (1 + self.case.spare)), True
                self.join.close()
                continue
            assert asked > refused, f"{refused} bytes were refused, and {asked} asked for"
        raise AssertionError(f"memory={asked} is what the last error asked for, and is refused too")

    def _made(self, memory: int) -> SemiStreamJoin:
        case = self.case
        return SemiStreamJoin(
            self.store,
            case.on(),
            case.how,
            columns=None if case.columns is None else case.payload_names(),
            suffix=case.suffix(),
            memory=memory,
            algorithm=case.algorithm,
            status="status" if case.status else None,
            **dict(case.settings),
        )

    def _after(self, call: str) -> None:
        self.waited |= self.join.waiting_rows > 0
        if call == "step":
            self._read(self.join.step())
        elif call == "drain":
            self._read(self.join.drain())
            assert self.join.waiting_rows == 0
        elif call == "idle":
            most = 100 + 20 * self.join.waiting_rows + 20 * self.master.num_rows
            while self.join.waiting_rows:
                self._read(self.join.step())
                most -= 1
                assert most, "stepping doesn't end"

    def _read(self, batches: Iterable[pa.RecordBatch]) -> None:
        """Read a call's output to its end, looking at the budget after each batch."""
        limit = dict(self.case.settings).get("output_rows", 65536)
        for batch in batches:
            assert batch.schema.equals(self.join.output_schema, check_metadata=True)
            assert 0 < batch.num_rows <= limit, f"{batch.num_rows} rows in a batch of at most {limit}"
            self.out.append(batch)
            self._within_budget()
        self.join.check()
        self._within_budget()

    def _within_budget(self) -> None:
        stats = self.join.stats
        assert stats.held_total <= stats.peak_bytes <= self.memory == stats.memory_limit, stats.held_bytes

    def _judge(self) -> Expected:
        case = self.case
        names: list[str] = []
        if case.how in ("inner", "left"):
            names = case.payload_names()
            if case.columns is None:
                names = [name for name in self.master.column_names if name in names]
        stream = pa.Table.from_batches(self.batches)
        assert self.join.output_schema.equals(self._schema(stream.schema, names), check_metadata=True)
        expected = Expected(stream, self.master, case.on(), case.how, names, case.status)
        table = pa.Table.from_batches(self.out, self.join.output_schema)
        for column in table.columns:  # a date64 amid a day is a foreign key, and no valid date
            column.validate(full=not pa.types.is_date64(column.type))
        found = Counter(rows_of(table))
        assert found == expected.rows, difference(found, expected.rows)
        self._judge_stats(expected, table.num_rows)
        return expected

    def _schema(self, stream: pa.Schema, names: list[str]) -> pa.Schema:
        made = list(stream)
        for name in names:
            field = self.master.schema.field(name)
            made.append(field.with_name(name + "_master") if name in stream.names else field)
        if self.case.status:
            made.append(pa.field("status", pa.string(), nullable=False))
        return pa.schema(made, metadata=stream.metadata)

    def _judge_stats(self, expected: Expected, rows_out: int) -> None:
        stats = self.join.stats
        assert self.join.waiting_rows == stats.pending_rows == 0
        said: dict[str, Any] = {name: getattr(stats, name) for name in _EXACT}
        assert said == {
            "rows_in": self.pushed,
            "rows_out": rows_out,
            "matched": expected.matched,
            "unmatched": expected.unmatched,
            "null_keys": expected.null_keys,
        }
        assert stats.cache_hits + stats.cache_misses <= stats.rows_in - stats.null_keys
        assert stats.admitted <= stats.cache_misses


_EXACT = ("rows_in", "rows_out", "matched", "unmatched", "null_keys")
