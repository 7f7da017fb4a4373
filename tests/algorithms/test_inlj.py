"""INLJ answers in the order of arrival, and loads one partition for each row."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from semistream import SemiStreamJoin
from semistream.stores.memory import MemoryStore
from semistream.workloads.keys import zipf_keys
from tests.algorithms.steady import ROWS, SCATTER, TRACES
from tests.algorithms.traces import consume, feed, master_of, stream_of


@pytest.mark.parametrize("output_rows", [1, 7, 65536])
@pytest.mark.parametrize("how", ["inner", "left", "left_semi", "left_anti"])
def test_output_keeps_the_order_of_arrival(how: str, output_rows: int) -> None:
    rng = np.random.default_rng(5)
    master_keys = np.sort(rng.integers(0, 200, 400))  # duplicates, some across pages, and gaps
    table = pa.table({"k": master_keys, "p": np.arange(400)})
    store = MemoryStore(table, "k", page_rows=9)
    keys = rng.integers(-20, 230, 500)
    null = rng.random(500) < 0.1
    expected: list[tuple[int, int | None]] = []
    for row, (key, missing) in enumerate(zip(keys.tolist(), null.tolist(), strict=True)):
        found = [] if missing else np.flatnonzero(master_keys == key).tolist()
        if how in ("inner", "left"):
            expected += [(row, payload) for payload in found]
        if how == "left" and not found:
            expected.append((row, None))
        if (how == "left_semi" and found) or (how == "left_anti" and not found):
            expected.append((row, None))
    assert expected
    out: list[pa.RecordBatch] = []
    with SemiStreamJoin(store, how=how, memory="1MiB", algorithm="inlj", output_rows=output_rows) as join:
        for start in range(0, 500, 160):
            end = start + 160
            consume(join.push(stream_of(keys[start:end], start, null[start:end])), out)
            # Whatever has arrived has been answered: nothing waits.
            assert join.waiting_rows == 0
            assert out[-1]["s"][-1].as_py() == max(row for row, _ in expected if row < end)
        consume(join.drain(), out)
    table = pa.Table.from_batches(out)
    payload = table["p"].to_pylist() if how in ("inner", "left") else [None] * table.num_rows
    assert list(zip(table["s"].to_pylist(), payload, strict=True)) == expected


@pytest.mark.parametrize(("order", "exponent"), TRACES)
def test_every_row_costs_one_load_whatever_its_key(order: str, exponent: float) -> None:
    keys = zipf_keys(300, ROWS, exponent, 1, scatter=SCATTER[order])
    with SemiStreamJoin(master_of(range(ROWS), 100), memory="4MiB", algorithm="inlj") as join:
        feed(join, keys, 100)
        assert join.stats.loads == 300
        feed(join, np.full(50, -5), 50)  # below the first page: the directory says that no page has it
        assert join.stats.loads == 300
