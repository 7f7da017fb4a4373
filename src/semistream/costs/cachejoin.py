"""CACHEJOIN (S4; S5 Eq. 1 to 3 without the intermediate buffer).

    memory:   M = (d_B + h_R) v_R + h_S (f v_S + v_Q)
    cost:     c_loop = c_I/O(d_B) + d_B (c_H + c_F) + w_S (c_O + c_S + c_A + c_E) + w_N (c_H + c_O + c_S)
    rate:     mu = (w_N + w_S) / c_loop

S5 prints no formula for w_S and w_N. Here w_S is S3 Eq. 2, and w_N = w_S p_N / (1 - p_N) with p_N that of a
cache of the most frequent rows.

Doubtful: misses probe the cache too, and promotions take time; neither is charged. A cache with random
replacement doesn't hold the most frequent rows. Corrected: the schedule is played (`costs.schedules`):
which rows get in is decided by matches gathered since a page's last load, and full caches change
so slowly (one promotion in four loads) that after 25 queue lengths they still show what filled them.
"""

from __future__ import annotations

from semistream.costs.accounting import Account, predict
from semistream.costs.base import DeviceCosts, Prediction, Situation, UnitCosts
from semistream.costs.printed import (
    buffer_bytes,
    hybridjoin_matches,
    ideal_hit_ratio,
    memory,
    memory_with_index,
    per_row,
)
from semistream.costs.schedules import loop
from semistream.costs.schedules.playing import Schedule, played

ACCOUNT = Account(front="rows")
SCHEDULE = Schedule(front=loop.ROWS)


def paper(situation: Situation, units: UnitCosts, device: DeviceCosts) -> Prediction:
    """S5 Eq. 1 to 3 without i_B."""
    return printed_loop(situation, units, device)


def corrected(situation: Situation, units: UnitCosts, device: DeviceCosts) -> Prediction:
    """By playing the schedule."""
    return played_with_cache(situation, units, device, SCHEDULE, ACCOUNT)


def printed_loop(
    situation: Situation,
    units: UnitCosts,
    device: DeviceCosts,
    *,
    io_share: float = 1.0,
    buffers: int = 1,
    handed_over: int = 0,
) -> Prediction:
    """S5 Eq. 2: a serial sum. handed_over: appends of a miss to an intermediate buffer."""
    answered = hybridjoin_matches(situation)
    hit_ratio = min(ideal_hit_ratio(situation), 1 - 1e-9)
    hits = answered * hit_ratio / (1 - hit_ratio)
    io = io_share * device.load_seconds(buffer_bytes(situation))
    appends = (1 + handed_over) * units.append
    cpu = situation.partition_rows * (units.probe + units.copy)
    cpu += answered * (units.output + units.read + units.delete + appends)
    cpu += hits * (units.probe + units.output + units.read)
    fixed = buffer_bytes(situation, buffers) + situation.cache_rows * situation.master_row_bytes
    between = handed_over * situation.intermediate_rows * situation.stream_row_bytes
    return per_row(answered, hits, io, cpu, memory(situation, fixed + between))


def played_with_cache(
    situation: Situation,
    units: UnitCosts,
    device: DeviceCosts,
    schedule: Schedule,
    account: Account,
    *,
    buffers: int = 1,
    other_bytes: float = 0.0,
) -> Prediction:
    """A played schedule with a row cache, and what it costs."""
    counts = played(situation, schedule)
    size = memory_with_index(situation, buffers, situation.cache_rows, other_bytes)
    return predict(situation, account, counts, units, device, size)
