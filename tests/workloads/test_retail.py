"""The grocer's tables are those that were measured: how many rows, how skewed, what has no master row."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from semistream.workloads import retail
from semistream.workloads.base import Workload


@pytest.fixture(scope="module")
def sales() -> Workload:
    return retail.sales()


def keys_of(made: Workload, side: str) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    batches = getattr(made, side).batches()
    return np.concatenate([batch["product_id"].to_numpy() for batch in batches])


def test_sales_and_products(sales: Workload) -> None:
    sold, products = keys_of(sales, "stream"), keys_of(sales, "master")
    assert (len(sold), len(products)) == (1_469_307, 92_331)
    assert np.all(np.diff(products) > 0)
    assert sales.in_key_order
    assert np.count_nonzero(~np.isin(sold, products)) == 4836
    counts = np.sort(np.unique(sold, return_counts=True)[1])[::-1]
    assert len(counts) == 68_509
    assert counts[: len(counts) // 5].sum() / len(sold) == pytest.approx(0.86, abs=0.005)
    assert counts[: len(counts) // 100].sum() / len(sold) == pytest.approx(0.32, abs=0.01)


def test_times_are_microseconds_in_order(sales: Workload) -> None:
    assert sales.stream.schema.field("transaction_timestamp").type == pa.timestamp("us")
    times = pa.chunked_array([batch["transaction_timestamp"] for batch in sales.stream.batches()])
    passed = np.diff(times.cast(pa.int64()).to_numpy())
    assert passed.min() >= 0


def test_promotions_have_their_products() -> None:
    made = retail.promotions()
    products = keys_of(made, "master")
    counts = np.zeros(int(products.max()) + 1, dtype=np.int64)
    rows = 0
    for batch in made.stream.batches(1 << 20):
        found = batch["product_id"].to_numpy()
        counts += np.bincount(found, minlength=len(counts))
        rows += batch.num_rows
    assert rows == 20_940_529
    asked = np.flatnonzero(counts)
    assert len(asked) == 59_800
    assert np.isin(asked, products).all()
    most = np.sort(counts)[::-1]
    assert most[: 59_800 // 5].sum() / rows == pytest.approx(0.73, abs=0.01)


def test_the_first_rows_are_enough_for_a_trial() -> None:
    made = retail.promotions(stream_rows=1000)
    assert made.stream.table().num_rows == 1000
