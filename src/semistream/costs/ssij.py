"""SSIJ (described in S2 and S4; reconstructed): fill the queue, load everything it needs, fill it again.

    memory:   |cached| v_P + h_S (v_S + pointer), and the index levels in memory
    cost:     phase = D c_I/O + h_S (c_H + c_O + c_A + c_E), with D the partitions that a queue needs:
              D = sum_i 1 - (1 - q_i)^h_S

No paper at hand prints a formula; D is the expectation, with the partitions of most use cached from the
start. Corrected: the schedule is played, with the cache as it gets by utilities that halve after each phase.
A phase meets about h_S / n rows a load where HYBRIDJOIN meets 2 h_S / n.
"""

from __future__ import annotations

import numpy as np

from semistream.costs.accounting import Account, predict
from semistream.costs.base import DeviceCosts, Prediction, Situation, UnitCosts
from semistream.costs.printed import buffer_bytes, memory_with_index, per_row
from semistream.costs.schedules import loop, page_fronts
from semistream.costs.schedules.playing import Schedule, played

ACCOUNT = Account(front="partitions")
POINTER_BYTES = 4
SCHEDULE = Schedule(front=loop.PAGES, order=loop.PHASES, held=page_fronts.USEFUL)


def paper(situation: Situation, units: UnitCosts, device: DeviceCosts) -> Prediction:
    """One phase, behind a cache of the most frequent partitions."""
    shares = np.sort(situation.partition_shares)[::-1]
    cached = min(situation.cached_partitions, len(shares) - 1)
    hit_ratio, rest = float(shares[:cached].sum()), shares[cached:]
    waiting = situation.pending_rows
    loads = float(-np.expm1(waiting * np.log1p(-np.minimum(rest / rest.sum(), 1 - 1e-12))).sum())
    hits = waiting * hit_ratio / (1 - hit_ratio)
    io = device.load_seconds(buffer_bytes(situation))
    cpu = waiting * (units.probe + units.output + units.append + units.delete)
    cpu += hits * (units.probe + units.output) + (waiting + hits) * units.read
    row = situation.stream_row_bytes + POINTER_BYTES
    size = buffer_bytes(situation, 1 + cached) + waiting * row
    return per_row(waiting / loads, hits / loads, io, cpu / loads, size)


def corrected(situation: Situation, units: UnitCosts, device: DeviceCosts) -> Prediction:
    """By playing the schedule."""
    counts = played(situation, SCHEDULE)
    size = memory_with_index(situation, buffers=1 + situation.cached_partitions)
    return predict(situation, ACCOUNT, counts, units, device, size)
