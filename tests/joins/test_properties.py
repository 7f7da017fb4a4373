"""Every algorithm and every kind of join against the oracle, on random cases."""

from __future__ import annotations

from zlib import crc32

import pytest
from hypothesis import HealthCheck, given, seed, settings

import semistream as ss
from semistream.columns import HOWS
from tests.joins.cases import Case, cases
from tests.joins.runner import Tally, run_case

EXAMPLES = 40  # of each algorithm and kind of join
FEWEST = 2000  # in all
UNQUEUED = {"inlj"}  # algorithms in which no row waits for a later call


def proven(algorithm: str, how: str, start: int, examples: int) -> Tally:
    """Run random cases from a fixed start; returns what they met."""
    tally = Tally()

    @seed(start)
    @settings(max_examples=examples, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(cases(algorithm, how))
    def prove(case: Case) -> None:
        tally.add(run_case(case))

    prove()
    return tally


@pytest.mark.parametrize("how", HOWS)
@pytest.mark.parametrize("algorithm", ss.algorithms())
def test_the_output_is_the_oracles(algorithm: str, how: str) -> None:
    tally = proven(algorithm, how, crc32(f"{algorithm} {how}".encode()), EXAMPLES)
    # Cases without rows, matches or loads would prove nothing.
    assert tally.cases == EXAMPLES
    assert tally.matched > 4 * EXAMPLES
    assert tally.unmatched > 4 * EXAMPLES
    assert tally.null_keys
    assert tally.rows_out > 4 * EXAMPLES
    assert tally.loads > EXAMPLES
    assert tally.at_least_memory
    assert tally.weak_hashes
    assert tally.waited or algorithm in UNQUEUED


def test_there_are_enough_cases() -> None:
    assert len(ss.algorithms()) * len(HOWS) * EXAMPLES >= FEWEST
