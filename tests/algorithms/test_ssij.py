"""SSIJ empties its queue in phases, and pays for it with later loads that meet fewer rows."""

from __future__ import annotations

import numpy as np
import pytest

from tests.algorithms.steady import CACHE_PAGES, PAGES, PENDING, TRACES, counted, steady

PINNED = {
    ("sorted", 0.0): 1433,
    ("sorted", 0.5): 1126,
    ("sorted", 1.0): 445,
    ("scattered", 0.0): 1328,
    ("scattered", 0.5): 1342,
    ("scattered", 1.0): 1019,
}


def test_loads_are_those_pinned() -> None:
    assert counted("ssij") == PINNED


@pytest.mark.parametrize("order", ["sorted", "scattered"])
def test_uniform_keys_cost_a_load_of_every_partition_a_phase(order: str) -> None:
    """B / (n (1 - e^(-B / n))) rows a load, for the n partitions that aren't cached: half of
    HYBRIDJOIN's 2 h / n, which is what S4 holds against it."""
    left = PAGES - CACHE_PAGES
    queued = PENDING / (left * (1 - np.exp(-PENDING / left)))
    found = steady("ssij", (order, 0.0)).rows_per_load
    assert found == pytest.approx(queued * PAGES / left, rel=0.03)
    assert found < 0.6 * steady("hybridjoin", (order, 0.0)).rows_per_load


def test_nothing_waits_longer_than_a_phase() -> None:
    assert max(steady("ssij", trace).age_max for trace in TRACES) <= PENDING
