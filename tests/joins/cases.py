"""Random joins: a `Case` says everything, so that a failing one can be read and run again."""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass
from random import Random
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from semistream.algorithms import algorithm as find_algorithm
from tests.joins.columns import KEYS, PAYLOAD, column, payload

SKEWS = ("even", "zipf", "in order", "one key")
FAN_OUT_MOST = 5_000  # output rows of one case, about


@dataclass(frozen=True)
class Case:
    """One join: its data by kind and seed, how it is called, and what it may hold."""

    algorithm: str
    how: str
    seed: int
    keys: tuple[str, ...]  # of `KEYS`
    renamed: bool  # whether the stream's key columns are called otherwise
    master_rows: int
    distinct: int  # how many keys the master's rows are drawn from
    hot_rows: int  # master rows that one key has beside
    master_payload: tuple[str, ...]  # of `PAYLOAD`
    master_form: str  # shuffled, sorted or chunked
    batches: tuple[int, ...]  # rows of each
    calls: tuple[str, ...]  # after each batch: "", "step", "drain" or "idle" (step until idle)
    skew: str
    hit_share: float  # of stream rows whose key is drawn from the master's
    null_share: float  # of key parts, on both sides
    stream_payload: tuple[str, ...]
    sliced: bool  # whether batches are windows into a larger one
    columns: int | None  # how many master columns are chosen; None: all, by default
    collide: bool  # whether two columns have one name
    status: bool
    page_rows: int | None
    on_disk: bool  # a clustered copy in the page cache, whose rows are at hand; else a table in memory
    spare: float  # memory above the least, as a share of the least
    hash_mask: int | None  # bits that the key hash keeps
    settings: tuple[tuple[str, Any], ...]

    def on(self) -> dict[str, str]:
        """Stream column -> master column."""
        return {(f"s{i}" if self.renamed else f"k{i}"): f"k{i}" for i in range(len(self.keys))}

    def suffix(self) -> str | None:
        return "_master" if self.collide else None

    def payload_names(self) -> list[str]:
        """The master columns that `columns` asks for."""
        names = [self._master_name(i) for i in range(len(self.master_payload))]
        return names[: self.columns]

    def _master_name(self, i: int) -> str:
        return "c0" if self.collide and i == 0 else f"m{i}"

    def master(self) -> pa.Table:
        """The master table, its key columns somewhere among the others."""
        rng = Random(self.seed)
        numbers = [rng.randrange(self.distinct) for _ in range(self.master_rows)]
        numbers += [rng.randrange(self.distinct)] * self.hot_rows
        rng.shuffle(numbers)
        if self.master_form == "sorted" and len(self.keys) == 1:
            numbers.sort(key=self._order)
        columns: dict[str, pa.Array] = {}
        for i, name in enumerate(self.keys):
            kind = KEYS[name]
            # A later part repeats among keys, so that a composite differs in any one of them.
            values = [kind.value(_part(n, i, len(self.keys)) % kind.distinct) for n in numbers]
            columns[f"k{i}"] = column(kind.master, self._with_nulls(values, rng))
        for i, name in enumerate(self.master_payload):
            columns[self._master_name(i)] = payload(name, len(numbers), rng)
        order = list(columns)
        rng.shuffle(order)
        table = pa.table({name: columns[name] for name in order})
        if self.master_form == "chunked" and len(numbers) > 2:
            middle = rng.randrange(1, len(numbers))
            table = pa.concat_tables([table.slice(0, middle), table.slice(middle)])
        return table

    def stream(self) -> list[pa.RecordBatch]:
        """The batches that are pushed."""
        rng = Random(self.seed + 1)
        rows = sum(self.batches)
        numbers = [self._stream_number(i, rng) for i in range(rows)]
        columns: dict[str, pa.Array] = {}
        for i, (name, key) in enumerate(zip(self.on(), self.keys, strict=True)):
            kind = KEYS[key]
            values = [kind.of_stream(_part(n, i, len(self.keys)) % kind.distinct) for n in numbers]
            if kind.foreign:
                values = [rng.choice(kind.foreign) if rng.random() < 0.1 else value for value in values]
            columns[name] = column(kind.stream, self._with_nulls(values, rng))
        for i, name in enumerate(self.stream_payload):
            columns[f"c{i}"] = payload(name, rows, rng)
        order = list(columns)
        rng.shuffle(order)
        whole = pa.record_batch({name: columns[name] for name in order})
        whole = whole.replace_schema_metadata({"origin": "a test"})
        batches, start = [], 0
        for size in self.batches:
            batch = whole.slice(start, size)
            if not self.sliced:
                empty = [pa.array([], field.type) for field in whole.schema]
                parts = [batch, pa.RecordBatch.from_arrays(empty, schema=whole.schema)]
                batch = pa.concat_batches(parts)
            batches.append(batch)
            start += size
        return batches

    def _stream_number(self, i: int, rng: Random) -> int:
        if rng.random() >= self.hit_share:
            return self.distinct + rng.randrange(self.distinct + 100)
        if self.skew == "zipf":
            return min(self.distinct, int(self.distinct ** rng.random())) - 1
        if self.skew == "in order":
            return i * 7 // 2 % self.distinct
        if self.skew == "one key":
            return self.seed % self.distinct
        return rng.randrange(self.distinct)

    def _with_nulls(self, values: list[Any], rng: Random) -> list[Any]:
        return [None if rng.random() < self.null_share else value for value in values]

    def _order(self, n: int) -> Any:
        kind = KEYS[self.keys[0]]
        value = kind.value(n % kind.distinct)
        return value.encode() if isinstance(value, str) else value


def _part(number: int, i: int, parts: int) -> int:
    return number if parts == 1 else (number // 5**i) % (5 if i < parts - 1 else 1 << 30)


@st.composite
def cases(draw: st.DrawFn, algorithm: str, how: str) -> Case:
    """Random cases of one algorithm and one kind of join."""
    parts = draw(st.sampled_from([1, 1, 1, 2, 3]))
    sizes = st.integers(0, 40) | st.integers(0, 300) | st.sampled_from([0, 1])
    batches = draw(st.lists(sizes, min_size=1, max_size=6))
    calls = st.sampled_from(["", "", "", "step", "drain", "idle"])
    distinct = draw(st.integers(1, 10) | st.integers(1, 400))
    rows = draw(st.integers(0, 30) | st.integers(30, 400))
    skew = draw(st.sampled_from(SKEWS))
    # Rows that meet the hottest key, times its master rows, stay within bounds.
    most_hot = max(1, FAN_OUT_MOST // max(1, sum(batches)))
    if rows // distinct > most_hot:
        distinct = rows // most_hot + 1
    master_payload = draw(st.lists(st.sampled_from(sorted(PAYLOAD)), max_size=4))
    stream_payload = draw(st.lists(st.sampled_from(sorted(PAYLOAD)), max_size=3))
    return Case(
        algorithm=algorithm,
        how=how,
        seed=draw(st.integers(0, 2**32 - 1)),
        keys=tuple(draw(st.sampled_from(sorted(KEYS))) for _ in range(parts)),
        renamed=draw(st.booleans()),
        master_rows=rows,
        distinct=distinct,
        hot_rows=draw(st.just(0) | st.integers(0, min(150, most_hot))),
        master_payload=tuple(master_payload),
        master_form=draw(st.sampled_from(["shuffled", "sorted", "chunked"])),
        batches=tuple(batches),
        calls=tuple(draw(calls) for _ in batches),
        skew=skew,
        hit_share=draw(st.sampled_from([0.9, 0.7, 1.0, 0.3, 0.0])),
        null_share=draw(st.sampled_from([0.0, 0.05, 0.4])),
        stream_payload=tuple(stream_payload),
        sliced=draw(st.booleans()),
        columns=draw(st.none() | st.integers(0, len(master_payload))),
        collide=draw(st.booleans()) and bool(master_payload) and bool(stream_payload),
        status=draw(st.booleans()),
        page_rows=draw(st.integers(1, 12) | st.integers(1, 64) | st.none()),
        on_disk=draw(st.integers(0, 7)) == 0,
        spare=draw(st.sampled_from([0.0, 0.02]) | st.floats(0.1, 3) | st.floats(1, 4) | st.floats(4, 20)),
        hash_mask=draw(st.sampled_from([None, None, 0, 3])),
        settings=tuple(sorted(draw(_settings(algorithm)).items())),
    )


@st.composite
def _settings(draw: st.DrawFn, algorithm: str) -> dict[str, Any]:
    """Values for any setting an algorithm has, by its type; most are left as they are."""
    chosen: dict[str, Any] = {}
    for item in dataclasses.fields(find_algorithm(algorithm).settings_type):
        kind = str(item.type)
        if kind == "bool":
            chosen[item.name] = draw(st.booleans())
        elif kind.startswith("Literal"):
            chosen[item.name] = draw(st.sampled_from(re.findall(r"[\"'](.*?)[\"']", kind)))
        elif draw(st.sampled_from([True, False, False])):
            continue
        elif item.name == "pending_rows":
            chosen[item.name] = draw(st.none() | st.integers(1, 10) | st.integers(1, 300))
        elif item.name == "output_rows":
            chosen[item.name] = draw(st.sampled_from([65536, 100, 7, 1]))
        elif item.name == "partition_pages":
            chosen[item.name] = draw(st.integers(1, 4))
        elif item.name in ("probe_rows", "cache_rows"):
            chosen[item.name] = draw(st.none() | st.integers(1, 100))
        elif kind == "float" and isinstance(item.default, float) and item.default < 1.0:
            chosen[item.name] = draw(st.sampled_from([item.default, 0.05, 0.5, 0.95]))
        elif "int" in kind:
            chosen[item.name] = draw(st.integers(1, 5))
        elif "None" in kind:
            chosen[item.name] = draw(st.none() | st.sampled_from([1.0, 3.0]))
    return chosen
