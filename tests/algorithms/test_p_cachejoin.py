"""P-CACHEJOIN takes the same steps as CACHEJOIN: what it saves is time, not loads."""

from __future__ import annotations

from tests.algorithms.steady import counted

PINNED = {
    ("sorted", 0.0): 724,
    ("sorted", 0.5): 629,
    ("sorted", 1.0): 274,
    ("scattered", 0.0): 706,
    ("scattered", 0.5): 641,
    ("scattered", 1.0): 258,
}


def test_loads_are_those_pinned_and_cachejoins() -> None:
    assert counted("p_cachejoin") == PINNED == counted("cachejoin")
