"""HYBRIDJOIN-PQ (S4): frequent partitions when they are due.

    memory:   M = v_page k + 16 |PQ| + h_S (f v_S + v_Q), 16 bytes a node of the priority queue
    cost:     as HYBRIDJOIN (S3 Eq. 2 to 4); S4 prints none

Doubtful: S4's due time is only right if a frequency is the matches of one load per queue length, while a
load's matches have gathered for two. Corrected: the schedule is played (`costs.schedules.due`); with
gliding frequencies its fixed point is the square-root rule, whose loads per row are
(sum sqrt q_i)^2 / (2 h_S) (`costs.renewal.bound`).
"""

from __future__ import annotations

from dataclasses import replace

from semistream.costs import hybridjoin
from semistream.costs.accounting import predict
from semistream.costs.base import DeviceCosts, Prediction, Situation, UnitCosts
from semistream.costs.printed import memory_with_index
from semistream.costs.schedules.due import CAPACITY
from semistream.costs.schedules.playing import Schedule, played

NODE_BYTES = 16

ACCOUNT = hybridjoin.ACCOUNT


def paper(situation: Situation, units: UnitCosts, device: DeviceCosts) -> Prediction:
    """S3 Eq. 2 to 4, with the priority queue's memory."""
    printed = hybridjoin.paper(situation, units, device)
    return replace(printed, memory_bytes=printed.memory_bytes + queue_bytes(situation))


def corrected(situation: Situation, units: UnitCosts, device: DeviceCosts) -> Prediction:
    """By playing the schedule."""
    counts = played(situation, Schedule(by_due=True))
    size = memory_with_index(situation, other=queue_bytes(situation))
    return predict(situation, ACCOUNT, counts, units, device, size)


def queue_bytes(situation: Situation) -> int:
    """16 |PQ|, at the most."""
    return NODE_BYTES * min(CAPACITY, situation.partitions)
