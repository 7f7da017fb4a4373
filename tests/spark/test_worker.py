"""What a worker does with a task, in this process: no Spark here."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import semistream as ss
from semistream.errors import BudgetError, DuplicateKeyError
from semistream.spark import counters, worker
from semistream.spark.warm import Owner, WarmTrips
from semistream.spark.worker import JoinSpec, TripSpec, enrich
from semistream.stores.base import Store
from semistream.stores.duplicates import find_duplicate_keys

MIB = 2**20
ROWS = 500
MASTER = ss.master(
    pa.table({"id": range(ROWS), "name": [f"n{i}" for i in range(ROWS)]}), key="id", page_rows=10
)
STREAM = pa.schema([("id", pa.int64()), ("event", pa.int64())])


def spec(
    master: ss.Master = MASTER, how: str = "inner", validate: str | None = None, validated: str | None = None
) -> JoinSpec:
    return JoinSpec(master, None, how, None, None, None, validate, "cachejoin_pq", (), validated)


def trip(*joins: JoinSpec, memory: int = 4 * MIB, identity: str = "trip", new: int = 1) -> TripSpec:
    fields = [*STREAM, *(pa.field("name", pa.string()) for _ in range(new))]
    return TripSpec(joins, memory, pa.schema([*fields, (counters.COLUMN, counters.ARROW)]), identity)


def batch(keys: list[int]) -> pa.RecordBatch:
    return pa.record_batch(
        [pa.array(keys, pa.int64()), pa.array(range(len(keys)), pa.int64())], schema=STREAM
    )


def run(task: Iterator[pa.RecordBatch]) -> tuple[list[dict[str, object]], dict[str, object]]:
    """The rows of a task, and its counters."""
    rows = [row for out in task for row in out.to_pylist()]
    told = [row[counters.COLUMN] for row in rows if row[counters.COLUMN] is not None]
    assert len(told) == 1
    return [row for row in rows if row[counters.COLUMN] is None], told[0]


@pytest.fixture
def process(monkeypatch: pytest.MonkeyPatch) -> Iterator[WarmTrips]:
    """A worker process of its own."""
    trips = WarmTrips()
    monkeypatch.setattr(worker, "_trips", trips)
    monkeypatch.setattr(worker, "_validated", set())
    yield trips
    trips.check()
    trips.close()


@pytest.fixture
def owner(monkeypatch: pytest.MonkeyPatch) -> Owner:
    made = Owner("query", "run")
    monkeypatch.setattr(worker, "current_owner", lambda: made)
    return made


def test_the_second_task_is_warm(process: WarmTrips, owner: Owner) -> None:
    rows, first = run(enrich(iter([batch([1, 2, 3] * 50)]), trip(spec())))
    assert len(rows) == 150
    _, second = run(enrich(iter([batch([1, 2, 3])]), trip(spec())))
    assert first["loads"] == 1
    assert (second["loads"], second["cache_hits"], second["rows_in"]) == (0, 3, 3)
    assert process.given == 4 * MIB


def test_a_task_without_rows_opens_nothing(process: WarmTrips, owner: Owner) -> None:
    gone = spec(ss.master("there/is/nothing/here", key="id"))
    for batches in ([], [batch([]), batch([])]):
        rows, told = run(enrich(iter(batches), trip(gone)))
        assert rows == []
        assert (told["rows_in"], told["held_bytes"], told["master_version"]) == (0, 0, None)
    assert process.given == 0


def test_fused_lookups_take_empty_answers(process: WarmTrips, owner: Owner) -> None:
    """The first lets nothing through; the second never begins, and its counters say so."""
    both = trip(spec(how="left_anti"), spec(), new=1)
    rows, told = run(enrich(iter([batch([1, 2]), batch([]), batch([3])]), both))
    assert rows == []
    assert (told["rows_in"], told["rows_out"], told["matched"]) == (3, 0, 3)
    rows, told = run(enrich(iter([batch([ROWS + 1])]), both))
    assert (rows, told["rows_out"]) == ([], 0)


def test_a_failing_task_leaves_no_row_behind(process: WarmTrips, owner: Owner) -> None:
    def failing() -> Iterator[pa.RecordBatch]:
        yield batch([1] * 10)
        raise OSError("the shuffle file is gone")

    with pytest.raises(OSError, match="shuffle"):
        run(enrich(failing(), trip(spec(how="left"))))
    assert process.given == 0
    rows, _ = run(enrich(iter([batch([2])]), trip(spec(how="left"))))
    assert [row["id"] for row in rows] == [2]


def test_an_abandoned_task_leaves_no_row_behind(process: WarmTrips, owner: Owner) -> None:
    task = enrich(iter([batch(list(range(400))), batch([7] * 50)]), trip(spec(), memory=MIB))
    next(task)
    del task  # as after a `limit`
    assert process.given == 0
    rows, _ = run(enrich(iter([batch([2])]), trip(spec())))
    assert [row["id"] for row in rows] == [2]


def test_a_row_too_large_for_a_share_gets_the_whole_budget(process: WarmTrips, owner: Owner) -> None:
    """A neighbour must not make a query fail that runs when it is alone."""
    wide = pa.schema([*STREAM, ("note", pa.string())])
    output = pa.schema([*wide, ("name", pa.string()), (counters.COLUMN, counters.ARROW)])
    memory = 4 * MIB
    large = TripSpec((spec(),), memory, output, "large")
    for number in range(7):
        run(enrich(iter([batch([1])]), trip(spec(), memory=memory, identity=f"neighbour {number}")))
    before = pa.record_batch([[1, 2], [1, 2], ["a", "b"]], schema=wide)
    giant = pa.record_batch([[3], [3], ["x" * 90_000]], schema=wide)
    rows, told = run(enrich(iter([before, giant]), large))
    assert sorted(str(row["name"]) for row in rows) == ["n1", "n2", "n3"]
    assert told["rows_in"] == told["matched"] == 3
    assert process.given == memory
    hopeless = pa.record_batch([[3], [3], ["x" * 8 * MIB]], schema=wide)
    with pytest.raises(BudgetError, match="row 0"):
        run(enrich(iter([hopeless]), large))


def test_unique_keys_are_checked_once_for_a_version(
    process: WarmTrips, owner: Owner, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    scans: list[Store] = []

    def counted(store: Store, limit: int = 10) -> list[object]:
        scans.append(store)
        return find_duplicate_keys(store, limit)

    monkeypatch.setattr("semistream.join.find_duplicate_keys", counted)
    pq.write_table(pa.table({"id": [1, 2], "name": ["a", "b"]}), tmp_path / "once.parquet")
    once = ss.master(tmp_path / "once.parquet", key="id")  # Parquet doesn't say whether its keys are unique
    version = once.open().version().token
    for _ in range(3):
        spec(once, validate="m:1", validated=version).make(MIB).close()
    assert scans == []  # the client has seen to it
    for _ in range(3):
        spec(once, validate="m:1", validated="an older version").make(MIB).close()
    assert len(scans) == 1
    pq.write_table(pa.table({"id": [1, 1], "name": ["a", "b"]}), tmp_path / "twice.parquet")
    with pytest.raises(DuplicateKeyError, match="1"):
        spec(ss.master(tmp_path / "twice.parquet", key="id"), validate="m:1", validated=version).make(MIB)
