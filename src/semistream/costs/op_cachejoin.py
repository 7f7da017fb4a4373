"""OP-CACHEJOIN (S5): P-CACHEJOIN with two loads in flight.

    memory, S5:   Eq. 1 with 2 d_B v_R for the disk buffers
    cost, S5:     Eq. 2 with c_I/O(d_B) / 2
    rate, S5:     Eq. 3

Doubtful: half the I/O time takes a device that serves two loads at once, and a processor that does nothing
meanwhile; "adding" the second buffer to Eq. 1 alone would overspend M. Corrected:

    c_loop = max( stream phase, page phase, I/O with two loads in flight )

and the order counts too: the oldest row's partition and the youngest's in turn, each named one load
before it is answered. The schedule is played.
"""

from __future__ import annotations

from dataclasses import replace

from semistream.costs.accounting import LOADS_IN_FLIGHT, Account
from semistream.costs.base import DeviceCosts, Prediction, Situation, UnitCosts
from semistream.costs.cachejoin import SCHEDULE, played_with_cache, printed_loop
from semistream.costs.schedules import loop

ACCOUNT = Account(front="rows", phases="overlapped")


def paper(situation: Situation, units: UnitCosts, device: DeviceCosts) -> Prediction:
    """S5 Eq. 1 to 3, as changed for OP-CACHEJOIN."""
    return printed_loop(situation, units, device, io_share=0.5, buffers=2, handed_over=1)


def corrected(situation: Situation, units: UnitCosts, device: DeviceCosts) -> Prediction:
    """The longest of both phases and the loads."""
    schedule = replace(SCHEDULE, order=loop.ENDS)
    between = situation.intermediate_rows * situation.stream_row_bytes
    return played_with_cache(
        situation, units, device, schedule, ACCOUNT, buffers=LOADS_IN_FLIGHT, other_bytes=between
    )
