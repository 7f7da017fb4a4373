"""What the papers' formulas share: a loop's cost, its matches, and memory.

The papers write memory as M = A + alpha (M - A) + (1 - alpha)(M - A), which is M = M and fixes neither
alpha nor h_S. Solved for h_S it is h_S = (M - A) / (f v_S + v_Q), with A what buffers and fronts take.
"""

from __future__ import annotations

from semistream.costs.base import DeviceCosts, Prediction, Situation, UnitCosts

MATCHES_CONSTANT = 1.36  # k of S3 Eq. 2, measured there; in steady state it is nearly 2
SLOT_BYTES = 16  # of a cached row in its hash table, which the papers leave out
FENCE_BYTES = 8  # of a partition in the directory, which they leave out as well


def pending_rows(memory: int, situation: Situation, fixed_bytes: float) -> int:
    """h_S of a budget of which buffers and fronts take a fixed part.

    >>> import numpy as np
    >>> any_one = Situation(key_shares=np.ones(1), partition_rows=850, pending_rows=1)
    >>> pending_rows(50 << 20, any_one, fixed_bytes=850 * 120)
    304225
    """
    return int((memory - fixed_bytes) / situation.pending_row_bytes)


def buffer_bytes(situation: Situation, buffers: int = 1) -> int:
    """d v_R for each disk buffer."""
    return buffers * situation.partition_rows * situation.master_row_bytes


def memory(situation: Situation, fixed_bytes: float) -> float:
    """A + h_S (f v_S + v_Q)."""
    return fixed_bytes + situation.pending_rows * situation.pending_row_bytes


def memory_with_index(
    situation: Situation, buffers: int = 1, cached_rows: int = 0, other: float = 0
) -> float:
    """The same with what the papers leave out: the directory, and the cached rows' slots."""
    fixed = buffer_bytes(situation, buffers) + cached_rows * (situation.master_row_bytes + SLOT_BYTES)
    return memory(situation, fixed + situation.partitions * FENCE_BYTES + other)


def hybridjoin_matches(situation: Situation) -> float:
    """S3 Eq. 2: w = k h_S d / R_t."""
    return MATCHES_CONSTANT * situation.pending_rows * situation.partition_rows / situation.master_rows


def ideal_hit_ratio(situation: Situation) -> float:
    """p_N of a cache that holds the most frequent rows."""
    count = min(situation.cache_rows, situation.master_rows)
    shares = situation.key_shares
    if not count or count == len(shares):
        return float(count > 0)
    shares = shares.copy()
    shares.partition(len(shares) - count)
    return float(shares[-count:].sum())


def iteration(
    situation: Situation,
    units: UnitCosts,
    device: DeviceCosts,
    *,
    matches: float,
    probes: float,
    memory_bytes: float,
) -> Prediction:
    """The common form of S1 Eq. 2, S2 Eq. 2 and 5, S3 Eq. 3, and of mu = w / c_loop:

    c_loop = c_I/O + probes c_H + w (c_O + c_E + c_S + c_A)
    """
    io = device.load_seconds(buffer_bytes(situation))
    cpu = probes * units.probe + matches * (units.output + units.delete + units.read + units.append)
    return per_row(matches, 0.0, io, cpu, memory_bytes)


def per_row(matches: float, hits: float, io: float, cpu: float, memory_bytes: float) -> Prediction:
    """One iteration's cost, spread over the rows it answers: matches (w or w_S) and hits (w_N).

    S1 Eq. 6 has none at all where a single partition is left: then a row costs without end.
    """
    rows = matches + hits
    if not rows > 0:
        endless = float("inf")
        return Prediction(0.0, 0.0, endless, endless, endless, endless, memory_bytes)
    return Prediction(
        rows_per_load=rows,
        hit_ratio=hits / rows,
        loads_per_row=1 / rows,
        io_seconds=io / rows,
        cpu_seconds=cpu / rows,
        seconds=(io + cpu) / rows,
        memory_bytes=memory_bytes,
    )
