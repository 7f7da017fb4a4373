"""The order of all algorithms that the papers give together: Zipf 1, R in frequency order, steady state."""

from __future__ import annotations

from semistream.experiments.claims import trials
from semistream.experiments.claims.claim import Claim, Looked
from semistream.experiments.claims.evidence import Evidence

FIGURE = "s2-fig-3a"
ORDERS = (
    ("inlj", "<", "meshjoin"),
    ("meshjoin", "<=", "r_meshjoin"),
    ("r_meshjoin", "<", "hybridjoin"),
    ("hybridjoin", "<", "hybridjoin_l"),
    ("hybridjoin_l", "<", "hybridjoin_pq"),
    ("hybridjoin", "<", "x_hybridjoin"),
    ("x_hybridjoin", "<", "tuned_x_hybridjoin"),
    ("tuned_x_hybridjoin", "<", "cachejoin"),
    ("cachejoin", "<=", "sscj"),
    ("cachejoin", "<", "p_cachejoin"),
    ("p_cachejoin", "<", "op_cachejoin"),
    ("cachejoin_l", "<", "cachejoin_pq"),
)


def _claim(number: int, less: str, sign: str, more: str) -> Claim:
    def look(evidence: Evidence) -> Looked:
        if sign == "<=":
            return Looked((trials.not_below(evidence, FIGURE, more, less),))
        return Looked((trials.above(evidence, FIGURE, more, less),))

    told = "is no slower than" if sign == "<=" else "is faster than"
    return Claim(f"O-{number}", f"{more} {told} {less}.", (FIGURE,), look)


CLAIMS = tuple(_claim(number, *order) for number, order in enumerate(ORDERS, start=1))
