"""What the papers leave to the future: R put into the order of its use while the stream runs (S3).

The join goes on with R in the order that some pending capacities of the stream have shown; writing R anew
costs two passes over it, during which the join could have answered rows. A cache of rows needs no order, and
is the other way to the same end.
"""

from __future__ import annotations

from semistream.experiments.accounting import REORDERED
from semistream.experiments.axes import SERVICE_RATE, only
from semistream.experiments.figure import Axis, Figure, Metric, Setup

PAPER = "S3"
OBSERVED = Axis(
    REORDERED, "stream seen before R is put in order; 0: never", (0, 1, 3, 10, 30), unit="pending capacities"
)
SCATTERED = Setup(order="scattered")
COMPARED = only(
    "hybridjoin", "hybridjoin_pq", "x_hybridjoin", "tuned_x_hybridjoin", "cachejoin", "cachejoin_pq"
)

FIGURES = (
    Figure(
        "s3-reordered",
        PAPER,
        "Service rate after R was put into the order of its use so far",
        (),
        SERVICE_RATE,
        OBSERVED,
        COMPARED,
        SCATTERED,
        note="R is scattered at first. At Zipf 1 in its true order, see s3-fig-7e.",
    ),
    Figure(
        "s3-reordering-cost",
        PAPER,
        "Rows that could have been answered while R was written in its new order",
        (),
        Metric("missed_capacities", "rows missed", "pending capacities"),
        OBSERVED,
        COMPARED,
        SCATTERED,
    ),
)
