"""Every algorithm's corrected model against the algorithm, on a simulated disk: the cost of a stream row.

The models know the keys' probabilities and the sizes. They are not told what a run measured.
"""

from __future__ import annotations

import pytest

from semistream.algorithms import names
from semistream.costs import model
from semistream.costs.base import FIXED_UNITS
from tests.costs.running import DISK, Case, measured_seconds

TOLERANCE = 0.05

EVERY_ALGORITHM = [
    Case(name, exponent, order, seeds=seeds)  # skewed keys, fewer loads: more chance
    for name in names()
    for exponent, order, seeds in ((0.5, "frequency", 1), (1.0, "frequency", 2), (1.0, "scattered", 1))
]
AS_PRINTED = [
    Case(name, strict_paper=True)
    for name in ("cachejoin", "hybridjoin_l", "hybridjoin_pq", "sscj", "tuned_x_hybridjoin")
]
OTHER_SIZES = [
    Case("hybridjoin", 0.0, "scattered", pending=3000),
    Case("hybridjoin", 0.75, rows=60_000, partition_rows=300, pending=1500),
    Case("meshjoin", pending=1230),
    Case("r_meshjoin", pending=300),
    Case("r_meshjoin", settings=(("loads_per_chunk", 7),)),
    Case("cachejoin", 0.75, "scattered", pending=500, kept=2),
    Case("cachejoin_l", 1.0, "scattered", settings=(("position", 0.9),)),
    Case("cachejoin_pq", 0.75, settings=(("page_threshold", 30.0),)),
    Case("ssij", 0.75, rows=10_000, partition_rows=50, pending=2000, kept=40),
    Case("partitioned_join", 0.75, settings=(("slot_rows", 12),)),
    Case("partitioned_join", 0.5, pending=25_100, rows=5000, seeds=1),  # small batches: row by row
]


def _id(case: Case) -> str:
    parts = [case.name, f"{case.exponent:g}", case.order, *(f"{k}={v}" for k, v in case.settings)]
    return "-".join([*parts, *(["strict"] if case.strict_paper else []), f"{case.pending}of{case.rows}"])


@pytest.mark.parametrize("case", [*EVERY_ALGORITHM, *AS_PRINTED, *OTHER_SIZES], ids=_id)
def test_cost_per_row(case: Case) -> None:
    predicted = model(case.name).corrected(case.situation, FIXED_UNITS, DISK)
    assert predicted.seconds == pytest.approx(measured_seconds(case), rel=TOLERANCE)


def test_a_wrong_model_would_be_found() -> None:
    """The formulas as printed miss by far more than the tolerance; so would another algorithm's model."""
    case = Case("tuned_x_hybridjoin")
    measured = measured_seconds(case)
    printed = model(case.name).paper(case.situation, FIXED_UNITS, DISK)
    other = model("hybridjoin").corrected(case.situation, FIXED_UNITS, DISK)
    assert abs(printed.seconds / measured - 1) > 5 * TOLERANCE
    assert abs(other.seconds / measured - 1) > 5 * TOLERANCE
