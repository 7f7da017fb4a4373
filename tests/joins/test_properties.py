"""Every algorithm and every kind of join against the oracle, on random cases."""

from __future__ import annotations

from zlib import crc32

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, seed, settings

import semistream as ss
from semistream.columns import HOWS
from tests.joins.cases import Case, cases
from tests.joins.runner import Tally, run_case

EXAMPLES = 32
FEWEST = 2000  # cases in all


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
    # Nothing that passes by doing nothing gets here.
    assert tally.cases >= EXAMPLES
    assert tally.matched > 10 * EXAMPLES
    assert tally.unmatched > 10 * EXAMPLES
    assert tally.null_keys > EXAMPLES
    assert tally.loads > 5 * EXAMPLES
    assert tally.at_least_memory >= 3
    assert tally.weak_hashes >= 3
    assert tally.rows_out > 10 * EXAMPLES
