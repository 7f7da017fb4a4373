"""HYBRIDJOIN (paper S3): an index finds the page of the oldest pending row.

    fill the queue from the stream
    load the partition of the oldest row
    answer every row that waits for it, and free their slots

In steady state a load answers w = 1/D rows, D = sum_i q_i / (1 + q_i L) with L the root of
sum_i q_i L (1 + q_i L / 2) / (1 + q_i L) = h, where q_i is partition i's share of the stream and h
the number of pending rows (`costs.renewal`). No partition is loaded twice within h admitted rows
(S3, theorem 1), and no more than one partition a row (theorem 2).

Where the paper is silent: rows are read up to the free slots, not only when all of them are there
(a slow stream would never be answered); a row that no master row answers leaves with its page.
"""

from __future__ import annotations

from semistream.algorithms.base import Algorithm


class HybridJoin(Algorithm):
    """The shared loop with its default answers: no front, oldest first, one load at a time."""


ALGORITHM = HybridJoin
