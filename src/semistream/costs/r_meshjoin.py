"""R-MESHJOIN (reconstructed from its abstract): MESHJOIN with l loads to a chunk.

    memory:   M = b v_P + w v_S + h_S (f v_S + v_ptr)
    cost:     c_step = l c_I/O(b) + w (c_E + c_S + c_A + c_O) + l d c_H
    w:        w = h_S / k, k = ceil(n / l)

With the linear cost of a load the best b is the same as MESHJOIN's, so expect a few per cent at most; it
gains where MESHJOIN's chunk would be less than a row. No paper prints more than that. Corrected: whole
rows a chunk, as for MESHJOIN; l is the algorithm's own where it isn't given.
"""

from __future__ import annotations

from semistream.costs import meshjoin
from semistream.costs.base import DeviceCosts, Prediction, Situation, UnitCosts
from semistream.costs.meshjoin import scan, scan_of_whole_rows

LEAST_CHUNK_ROWS = 4

ACCOUNT = meshjoin.ACCOUNT


def paper(situation: Situation, units: UnitCosts, device: DeviceCosts) -> Prediction:
    """l loads a chunk."""
    return scan(situation, units, device, loads_per_chunk=loads_per_chunk(situation))


def corrected(situation: Situation, units: UnitCosts, device: DeviceCosts) -> Prediction:
    """With whole rows a chunk."""
    return scan_of_whole_rows(situation, units, device, loads_per_chunk=loads_per_chunk(situation))


def loads_per_chunk(situation: Situation) -> int:
    """l as it was given, else so many that a chunk has four rows."""
    wanted = situation.loads_per_chunk
    if wanted is None:
        wanted = max(1, -(-LEAST_CHUNK_ROWS * situation.partitions // situation.pending_rows))
    return min(wanted, situation.partitions)
