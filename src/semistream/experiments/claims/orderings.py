"""The order of all algorithms that the papers give together: Zipf 1, R in frequency order, steady state."""

from __future__ import annotations

from semistream.experiments.claims import trials
from semistream.experiments.claims.claim import Claim, Looked, Verdict
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
WHY = {
    ("hybridjoin_l", "hybridjoin_pq"): "In frequency order at Zipf 1 the young position is at its best, and "
    "both come "
    "to the same loads; with R scattered, as their paper has it, the queue of pages is ahead (s4-fig-3a).",
    ("tuned_x_hybridjoin", "cachejoin"): "In frequency order the pinned partitions are the most frequent "
    "rows, as many as "
    "is best; CACHEJOIN has to find them row by row, in a quarter of memory. Scattered, it is ahead "
    "(s4-fig-3a).",
    ("p_cachejoin", "op_cachejoin"): "With one arm two loads at a time take twice as long: the second "
    "buffer only takes "
    "memory. On an SSD, see s2-fig-3a-ssd.",
}


def _claim(number: int, less: str, sign: str, more: str) -> Claim:
    def look(evidence: Evidence) -> Looked:
        if sign == "<=":
            return Looked((trials.not_below(evidence, FIGURE, more, less),))
        return Looked((trials.above(evidence, FIGURE, more, less),))

    reason = WHY.get((less, more))
    why = {} if reason is None else dict.fromkeys((Verdict.NOT, Verdict.ONLY_UNDER), reason)
    told = "is no slower than" if sign == "<=" else "is faster than"
    return Claim(f"O-{number}", f"{more} {told} {less}.", (FIGURE,), look, why)


CLAIMS = tuple(_claim(number, *order) for number, order in enumerate(ORDERS, start=1))
