"""Partitioned Join (described in S2 to S5; reconstructed): a slot a partition, loaded when it is full enough.

    memory:   |cached| v_P + h_S (v_S + 8) + 8 n for the directory and the slots' heads
    cost:     per load c_I/O + d c_F + theta (c_O + c_A + c_E), with d rows installed in the cache
              and theta rows in the slot

No paper at hand prints a formula. With theta = 1/2 h_S / n, the algorithm's own, every load is taken to
answer theta rows. Corrected: the schedule is played: slots that never fill hold the queue's memory until
it is full, the fullest slot goes then, and the cache keeps what was loaded last, used or not. On
batches that are small beside the queue every row is loaded at once, as INLJ does.
"""

from __future__ import annotations

from semistream.costs.accounting import Account, predict
from semistream.costs.base import DeviceCosts, Prediction, Situation, UnitCosts
from semistream.costs.printed import FENCE_BYTES, buffer_bytes, memory_with_index, per_row
from semistream.costs.schedules import loop, page_fronts
from semistream.costs.schedules.loop import FILL, LEAST_SLOT
from semistream.costs.schedules.playing import Schedule, played

ACCOUNT = Account(front="partitions")
SLOT_ROW_BYTES = 8
SCHEDULE = Schedule(front=loop.PAGES, order=loop.FULLEST, held=page_fronts.RECENT)


def paper(situation: Situation, units: UnitCosts, device: DeviceCosts) -> Prediction:
    """Every load answers a slot."""
    slot = situation.slot_rows or max(LEAST_SLOT, FILL * situation.pending_rows / situation.partitions)
    cpu = situation.partition_rows * units.copy
    cpu += slot * (units.output + units.append + units.delete + units.read)
    row = situation.stream_row_bytes + SLOT_ROW_BYTES
    size = buffer_bytes(situation, 1 + situation.cached_partitions) + situation.pending_rows * row
    size += FENCE_BYTES * situation.partitions
    return per_row(slot, 0.0, device.load_seconds(buffer_bytes(situation)), cpu, size)


def corrected(situation: Situation, units: UnitCosts, device: DeviceCosts) -> Prediction:
    """By playing the schedule."""
    counts = played(situation, SCHEDULE)
    size = memory_with_index(situation, buffers=1 + situation.cached_partitions)
    return predict(situation, ACCOUNT, counts, units, device, size)
