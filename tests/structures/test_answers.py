"""Noted answers come out as the rows they name, in batches within the byte limit."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from semistream.structures.answers import NOTE_BYTES, Answers, OutputPlan, Status
from semistream.structures.rowpool import references
from semistream.structures.sources import Sources
from tests.structures.samples import FLAT_SCHEMA, NESTED_SCHEMA, batch

Int64s = NDArray[np.int64]
ROWS = 20  # in each of the three batches of either side
KEPT = {
    "inner": {Status.matched},
    "left": {*Status},
    "left_semi": {Status.matched},
    "left_anti": {Status.unmatched, Status.null_key},
}
each_how = pytest.mark.parametrize("how", KEPT)
with_and_without_status = pytest.mark.parametrize("status", [False, True], ids=["", "status"])


class Sides:
    """Stream and master rows, and answers that refer to them."""

    def __init__(
        self, how: str, status: bool, most_rows: int, most_bytes: int, longest: int = 30, nested: bool = True
    ) -> None:
        rng = np.random.default_rng(11)
        self.stream, self.stream_rows = self._side(FLAT_SCHEMA, rng, longest)
        self.master, self.master_rows = self._side(NESTED_SCHEMA if nested else FLAT_SCHEMA, rng, longest)
        pairs = how in ("inner", "left")
        fields = [FLAT_SCHEMA.field(i) for i in (1, 0)]
        if pairs:
            fields += [field.with_name(f"master_{field.name}") for field in self.master.schema]
        if status:
            fields.append(pa.field("status", pa.string()))
        self.plan = OutputPlan(
            how=how,
            schema=pa.schema(fields),
            stream_columns=(1, 0),
            master_columns=(0, 1, 2) if pairs else (),
            status=status,
        )
        self.answers = Answers(self.plan, self.stream, self.master, most_rows, most_bytes)
        self.expected: list[dict[str, Any]] = []

    @staticmethod
    def _side(
        schema: pa.Schema, rng: np.random.Generator, longest: int
    ) -> tuple[Sources, dict[int, dict[str, Any]]]:
        sources = Sources(schema)
        rows: dict[int, dict[str, Any]] = {}
        for i in range(3):
            content = batch(schema, [*range(i * ROWS, (i + 1) * ROWS)], rng, longest)
            refs = references(sources.add(content), ROWS)
            rows |= dict(zip(refs.tolist(), content.to_pylist(), strict=True))
        return sources, rows

    def some(self, rng: np.random.Generator, count: int) -> tuple[Int64s, Int64s]:
        stream = rng.choice(np.array([*self.stream_rows]), count)
        return stream, rng.choice(np.array([*self.master_rows]), count)

    def note(self, status: Status, stream: Int64s, master: Int64s) -> None:
        if status is Status.matched:
            self.answers.matched(stream, master)
        else:
            self.answers.unanswered(stream, status)
        if status in KEPT[self.plan.how]:
            self.expected += [
                self._row(status, s, m) for s, m in zip(stream.tolist(), master.tolist(), strict=True)
            ]

    def _row(self, status: Status, stream: int, master: int) -> dict[str, Any]:
        row = {name: self.stream_rows[stream][name] for name in ("text", "id")}
        if self.plan.pairs:
            found = self.master_rows[master]
            row |= {f"master_{k}": v if status is Status.matched else None for k, v in found.items()}
        return row | ({"status": status.name} if self.plan.status else {})


@with_and_without_status
@each_how
@pytest.mark.parametrize("seed", range(2))
def test_every_how(seed: int, how: str, status: bool) -> None:
    rng = np.random.default_rng(seed)
    sides = Sides(how, status, most_rows=50, most_bytes=4000)
    answers = sides.answers
    total = 0
    for _ in range(40):
        kind = Status(int(rng.integers(0, 3)))
        sides.note(kind, *sides.some(rng, int(rng.integers(0, 25))))
        waiting = len(sides.expected)
        assert answers.rows == waiting
        assert answers.held_bytes == NOTE_BYTES * waiting
        assert answers.full == (waiting >= 50)
        assert answers.room == max(1, 50 - waiting)
        assert sides.stream.pinned == sides.master.pinned == (waiting > 0)
        if answers.full or rng.random() < 0.1:
            found = []
            for out in answers.flush():
                out.validate(full=True)
                assert out.schema.equals(sides.plan.schema)
                assert answers.flushing_bytes == out.nbytes
                found += out.to_pylist()
            assert found == sides.expected
            total += waiting
            sides.expected = []
            assert (answers.rows, answers.held_bytes, answers.rows_out) == (0, 0, total)
            assert not sides.stream.pinned
            assert not sides.master.pinned
    assert total > 0


@pytest.mark.parametrize("most_bytes", [600, 3000, 30_000])
@pytest.mark.parametrize("nested", [False, True], ids=["flat", "nested"])
@with_and_without_status
@each_how
def test_batches_stay_within_their_bytes(how: str, status: bool, nested: bool, most_bytes: int) -> None:
    rng = np.random.default_rng(1)
    sides = Sides(how, status, most_rows=1000, most_bytes=most_bytes, longest=90, nested=nested)
    for kind in Status:
        sides.note(kind, *sides.some(rng, 300))
    sizes = [(out.nbytes, out.num_rows) for out in sides.answers.flush()]
    assert sum(rows for _, rows in sizes) == len(sides.expected)
    assert all(size <= most_bytes or rows == 1 for size, rows in sizes)
    together = sum(size for size, _ in sizes)
    assert len(sizes) <= 4 * together / most_bytes + 1, "batches far smaller than allowed"


def test_an_oversized_row_goes_alone() -> None:
    schema = pa.schema([("text", pa.string())])
    stream, master = Sources(schema), Sources(pa.schema([]))
    texts = ["a", "b", "x" * 5000, "c", "y" * 5000, "z" * 5000]
    refs = references(stream.add(pa.RecordBatch.from_pydict({"text": texts}, schema)), 6)
    answers = Answers(OutputPlan("left_semi", schema, (0,), (), False), stream, master, 100, 1000)
    answers.matched(refs, refs)
    found = [out.column(0).to_pylist() for out in answers.flush()]
    assert found == [["a", "b"], [texts[2]], ["c"], [texts[4]], [texts[5]]]


def test_noting_between_two_batches_of_a_flush() -> None:
    sides = Sides("left", True, most_rows=100, most_bytes=800)
    rng = np.random.default_rng(2)
    sides.note(Status.matched, *sides.some(rng, 40))
    flush = sides.answers.flush()
    found = next(flush).to_pylist()
    sides.note(Status.unmatched, *sides.some(rng, 7))
    assert sides.answers.rows == 47
    for out in flush:
        found += out.to_pylist()
    assert found == sides.expected[:40]
    assert sides.answers.rows == 7
    assert sides.stream.pinned
    found += [row for out in sides.answers.flush() for row in out.to_pylist()]
    assert found == sides.expected
    assert (sides.answers.rows, sides.stream.pinned, sides.master.pinned) == (0, False, False)


def test_a_flush_that_is_given_up_leaves_no_pin() -> None:
    sides = Sides("inner", False, most_rows=100, most_bytes=800)
    sides.note(Status.matched, *sides.some(np.random.default_rng(3), 40))
    flush = sides.answers.flush()
    next(flush)
    assert isinstance(flush, Generator)
    flush.close()
    assert (sides.answers.held_bytes, sides.stream.pinned, sides.master.pinned) == (0, False, False)


@each_how
def test_rows_that_were_noted_may_leave_their_source(how: str) -> None:
    sides = Sides(how, True, most_rows=1000, most_bytes=3000)
    rng = np.random.default_rng(4)
    for kind in Status:
        sides.note(kind, *sides.some(rng, 60))
    for side in (sides.stream, sides.master):
        for number in range(3):
            side.drop(number)
        assert side.held_bytes > 0
    assert [row for out in sides.answers.flush() for row in out.to_pylist()] == sides.expected
    for side in (sides.stream, sides.master):
        side.check()
        assert side.held_bytes == 0


def test_nothing_noted_nothing_flushed() -> None:
    sides = Sides("left", True, most_rows=5, most_bytes=800)
    nothing = np.empty(0, dtype=np.int64)
    sides.note(Status.matched, nothing, nothing)
    assert (sides.answers.rows, sides.stream.pinned) == (0, False)
    assert list(sides.answers.flush()) == []
