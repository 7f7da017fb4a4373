"""What a join holds stays within its budget: by its own account, and by the allocators'."""

from __future__ import annotations

import gc
import tracemalloc
from dataclasses import dataclass

import pyarrow as pa

from semistream.budget import format_bytes
from semistream.checks.base import Subject, check, expect
from semistream.checks.data import of_keys, plain, stream_of, wide
from semistream.checks.recording import Pages

BUDGET = 384 << 10
# Objects that no budget counts: histograms of ages, the interpreter's frames and dictionaries.
UNCOUNTED = 96 << 10
ROWS = 400


@check()
def account_stays_within_the_budget(subject: Subject) -> None:
    """What the parts say they hold is within `memory` at all times, and within the peak they report."""
    with subject.join(plain(), how="left", memory=BUDGET, pending_rows=None, small=False) as trial:

        def look(where: str) -> None:
            stats = trial.join.stats
            held, peak = stats.held_total, stats.peak_bytes
            expect(
                0 < held <= peak <= BUDGET,
                f"{where}: expected 0 < held <= peak <= {BUDGET} bytes, and saw held {held} and peak {peak}",
            )

        trial.on_output = lambda batch: look("at an output batch")
        for seed in range(3):
            trial.push(stream_of(plain(), 100, seed=seed))
            look("after a push")
        trial.drain()
        look("after the drain")


@check(
    stores=("memory", "clustered", "parquet"),
    because="the other stores read pages with the code of these",
)
def memory_stays_within_the_budget(subject: Subject) -> None:
    """Arrow's pool and Python's allocator agree: a master of megabytes goes by, and nothing piles up."""
    keys = [617 * i % wide().table.num_rows for i in range(ROWS)]
    _measure(subject, keys[:100])  # what is allocated once: kernels, modules
    most = _measure(subject, keys)
    expect(
        most <= BUDGET + UNCOUNTED,
        f"expected at most {format_bytes(BUDGET)} and {format_bytes(UNCOUNTED)} of uncounted objects, "
        f"and saw {format_bytes(most)} allocated",
    )


@dataclass
class _Meter:
    """The most bytes allocated since it was started, beside those of the caller's own batches."""

    arrow: int
    most: int = 0

    def look(self, pages: Pages = ()) -> None:
        python, _ = tracemalloc.get_traced_memory()
        self.most = max(self.most, pa.total_allocated_bytes() - self.arrow + python)


def _measure(subject: Subject, keys: list[int]) -> int:
    """Push rows batch after batch, and look at every read and every output."""
    batches = [of_keys(keys[start : start + 100]) for start in range(0, len(keys), 100)]
    with subject.join(wide(), how="left", memory=BUDGET, pending_rows=None, small=False) as trial:
        gc.collect()
        meter = _Meter(pa.total_allocated_bytes())
        trial.store.before = meter.look
        trial.on_output = lambda batch: meter.look()
        tracemalloc.start()
        try:
            for batch in batches:
                trial.push(batch)
                meter.look()
            trial.drain()
            meter.look()
        finally:
            tracemalloc.stop()
    return meter.most
