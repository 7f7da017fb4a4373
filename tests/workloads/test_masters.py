"""Masters hold every key once, in the order asked for, in rows of the size asked for."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import numpy as np
import pyarrow as pa
import pytest

from semistream.errors import ArgumentError
from semistream.workloads.keys import KeyStream, Order
from semistream.workloads.masters import (
    FIXED_BYTES,
    ROW_BYTES,
    SCHEMA,
    MasterOrder,
    SyntheticMaster,
    rows_of,
)

KEYS = KeyStream(5000, seed=3)
ORDERS = pytest.mark.parametrize("order", get_args(MasterOrder))


@ORDERS
def test_every_key_has_one_row_that_follows_from_it(order: MasterOrder) -> None:
    table = SyntheticMaster(KEYS, order).side().table().combine_chunks()
    assert table.schema == SCHEMA
    assert table.sort_by("key").equals(pa.Table.from_batches([rows_of(np.arange(5000))]))


@ORDERS
def test_any_part_is_that_part_of_the_whole(order: MasterOrder) -> None:
    master = SyntheticMaster(KEYS, order)
    whole = master.batch(0, master.rows)
    for first, count in ((0, 0), (0, 1), (77, 1000), (4999, 1)):
        assert master.batch(first, count).equals(whole.slice(first, count))


def test_rows_lie_by_key_by_frequency_or_anyhow() -> None:
    by_key, by_frequency, scattered = (
        SyntheticMaster(KEYS, order).keys_at(0, 5000) for order in get_args(MasterOrder)
    )
    assert np.array_equal(by_key, np.arange(5000))
    assert np.array_equal(by_frequency, KEYS.key_of_rank(np.arange(5000)))
    # Scattered rows follow neither the keys nor their frequency.
    ranks = np.empty(5000, np.int64)
    ranks[by_frequency] = np.arange(5000)
    for other in (scattered, ranks[scattered]):
        assert abs(np.corrcoef(np.arange(5000), other)[0, 1]) < 0.06  # 4 deviations
        assert not np.array_equal(other, np.arange(5000))


@pytest.mark.parametrize("key_order", get_args(Order))
def test_the_first_rows_by_frequency_are_those_asked_for_most(key_order: Order) -> None:
    keys = replace(KEYS, order=key_order)
    drawn = np.bincount(keys.values(0, 200_000), minlength=5000)
    asked = drawn[SyntheticMaster(keys, "frequency").keys_at(0, 5000)]
    expected = keys.rank_shares()
    assert asked[:50].sum() / 200_000 == pytest.approx(expected[:50].sum(), abs=0.005)
    assert asked[:1000].sum() / 200_000 == pytest.approx(expected[:1000].sum(), abs=0.005)


@pytest.mark.parametrize("row_bytes", [FIXED_BYTES, 100, ROW_BYTES])
def test_rows_have_the_size_asked_for(row_bytes: int) -> None:
    batch = SyntheticMaster(KEYS, row_bytes=row_bytes).batch(10, 100)
    # Arrow holds an offset of four bytes for each text beside its letters.
    assert batch.nbytes == 100 * (row_bytes + 4)


def test_what_makes_no_master_is_refused() -> None:
    with pytest.raises(ArgumentError, match="key or frequency or scattered"):
        SyntheticMaster(KEYS, "random")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="row_bytes=27"):
        SyntheticMaster(KEYS, row_bytes=27)
