"""MESHJOIN (its own formulas as S3 and S5 recount them).

    memory:   M = b v_P + w v_S + h_S (f v_S + v_ptr), with h_S = k w and k = n chunks
    cost:     c_loop = c_I/O(b) + w (c_E + c_S + c_A) + d (c_H + sigma c_O), with sigma d = w answers
    w:        w = h_S / n

Doubtful: nothing here; that it does "worse with skewed data" (S1, S2) can't be, since nothing depends
on the keys. Corrected: chunks are whole rows, so w = floor(h_S / n), and slots are left over.
"""

from __future__ import annotations

from semistream.costs.accounting import Account, expected, predict
from semistream.costs.base import DeviceCosts, Prediction, Situation, UnitCosts
from semistream.costs.printed import buffer_bytes, per_row

ACCOUNT = Account(indexed=False)
POINTER_BYTES = 4  # v_ptr


def paper(situation: Situation, units: UnitCosts, device: DeviceCosts) -> Prediction:
    """One load a chunk."""
    return scan(situation, units, device, loads_per_chunk=1)


def corrected(situation: Situation, units: UnitCosts, device: DeviceCosts) -> Prediction:
    """With whole rows a chunk."""
    return scan_of_whole_rows(situation, units, device, loads_per_chunk=1)


def scan(situation: Situation, units: UnitCosts, device: DeviceCosts, *, loads_per_chunk: int) -> Prediction:
    """A chunk of w = h_S / k rows comes and goes every so many loads."""
    chunks = situation.partitions / loads_per_chunk
    rows = situation.pending_rows / chunks
    io = loads_per_chunk * device.load_seconds(buffer_bytes(situation))
    cpu = loads_per_chunk * situation.partition_rows * units.probe
    cpu += rows * (units.delete + units.read + units.append + units.output)
    chunk = per_row(rows, 0.0, io, cpu, scan_memory(situation, rows))
    return Prediction(
        rows_per_load=rows / loads_per_chunk,
        hit_ratio=0.0,
        loads_per_row=loads_per_chunk / rows,
        io_seconds=chunk.io_seconds,
        cpu_seconds=chunk.cpu_seconds,
        seconds=chunk.seconds,
        memory_bytes=chunk.memory_bytes,
    )


def scan_of_whole_rows(
    situation: Situation, units: UnitCosts, device: DeviceCosts, *, loads_per_chunk: int
) -> Prediction:
    """ceil(n / l) chunks of floor(h_S / chunks) rows; the last turn of a cycle may be short."""
    chunks = -(-situation.partitions // loads_per_chunk)
    rows = max(1, situation.pending_rows // chunks)
    loads = situation.partitions / chunks / rows
    size = scan_memory(situation, rows)
    return predict(situation, ACCOUNT, expected(situation, loads), units, device, size)


def scan_memory(situation: Situation, chunk_rows: float) -> float:
    """Disk buffer, one chunk in the stream buffer, and h_S rows in hash table and queue."""
    row = situation.fudge * situation.stream_row_bytes + POINTER_BYTES
    chunk = chunk_rows * situation.stream_row_bytes
    return buffer_bytes(situation) + chunk + situation.pending_rows * row
