"""Sizes in and out of text, and a budget that notices when it is exceeded."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semistream.budget import (
    FUDGE_FACTOR,
    QUEUE_NODE_BYTES,
    Budget,
    PaperCharge,
    format_bytes,
    parse_memory,
)
from semistream.errors import ArgumentError, BudgetError


@pytest.mark.parametrize(
    ("memory", "expected"),
    [
        (1, 1),
        (65536, 65536),
        ("65536", 65536),
        ("10b", 10),
        ("1KiB", 1024),
        ("1kb", 1000),
        (" 64 MiB ", 64 * 2**20),
        ("64mib", 64 * 2**20),
        ("1.5GiB", 3 * 2**29),
        ("2GB", 2 * 10**9),
        ("1TiB", 2**40),
        (np.int64(4096), 4096),
    ],
)
def test_sizes(memory: int | str, expected: int) -> None:
    assert parse_memory(memory) == expected


@pytest.mark.parametrize(
    "memory", ["", "lots", "64XiB", "-1MiB", "1 2MiB", "MiB", True, None, "1e6", "64MiB/s"]
)
def test_what_is_no_size(memory: int | str) -> None:
    with pytest.raises(ArgumentError, match="is no size: give bytes") as raised:
        parse_memory(memory)
    assert repr(memory) in str(raised.value)


@pytest.mark.parametrize("memory", [0, -5, "0MiB", "0.2"])
def test_a_size_is_above_zero(memory: int | str) -> None:
    with pytest.raises(ArgumentError, match="not above 0 bytes"):
        parse_memory(memory)


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        (-2048, "-2.0 KiB"),
        (3 * 2**19, "1.5 MiB"),
        (2**30, "1.0 GiB"),
        (5 * 2**40, "5120.0 GiB"),
    ],
)
def test_format(size: int, text: str) -> None:
    assert format_bytes(size) == text


@given(st.integers(1, 2**45))
def test_a_formatted_size_is_read_back(size: int) -> None:
    assert parse_memory(format_bytes(size)) == pytest.approx(size, rel=0.05, abs=1)


def test_parts_replace_what_they_held() -> None:
    budget = Budget(100)
    budget.hold("pending", 60)
    budget.hold("front", 30)
    budget.hold("pending", 20)
    assert (budget.held, budget.total, budget.peak) == ({"pending": 20, "front": 30}, 50, 90)
    budget.hold("front", 80)
    assert (budget.total, budget.peak) == (100, 100)


def test_going_over_names_every_part() -> None:
    budget = Budget(4096)
    budget.hold("pending", 3072)
    with pytest.raises(BudgetError, match=r"holds 4\.0 KiB of memory=4\.0 KiB") as raised:
        budget.hold("front", 1025)
    assert "pending 3.0 KiB, front 1.0 KiB" in str(raised.value)
    assert "more memory" in str(raised.value)
    budget.hold("front", 0)
    assert (budget.total, budget.peak) == (3072, 4097)


def test_what_is_held_is_a_copy() -> None:
    budget = Budget(10)
    held = budget.held
    budget.hold("pending", 3)
    assert held == {}


def test_threads_share_it() -> None:
    budget = Budget(10**6)

    def work(name: str) -> None:
        for size in range(3000):
            budget.hold(name, size % 7)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, "abcd"))
    assert budget.total == sum(budget.held.values()) == 4 * (2999 % 7)
    assert budget.peak <= 4 * 6


def test_the_papers_equation() -> None:
    charge = PaperCharge(buffer_bytes=1000, front_bytes=500, pending_rows=10, stream_row_bytes=20)
    assert (FUDGE_FACTOR, QUEUE_NODE_BYTES) == (8, 12)
    assert charge.total == 1000 + 500 + 10 * (8 * 20 + 12)
