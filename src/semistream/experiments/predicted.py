"""What the cost models say a cell should give: the papers' formulas, and the corrected ones."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from semistream.costs import model
from semistream.costs.base import (
    FIXED_UNITS,
    HARD_DISK_2011,
    DeviceCosts,
    Prediction,
    Situation,
    UnitCosts,
    zipf_key_shares,
)
from semistream.experiments.accounting import MASTER_ROW_BYTES, STREAM_ROW_BYTES, capacities, partitions_of
from semistream.experiments.cells import Cell
from semistream.experiments.measuring import warm_up_rows
from semistream.experiments.results import CellResult


def situation(cell: Cell, result: CellResult | None = None) -> Situation:
    """All that a model may know of a cell. Of its result, only how long its parts were."""
    split = capacities(cell)
    known = {
        name: value
        for name, value in split.settings.items()
        if name in Situation.__dataclass_fields__ and name not in ("pending_rows", "cache_rows")
    }
    measured, warm_up = None, warm_up_rows(cell, split)
    if result is not None and result.error is None:
        measured = sum(int(repeat["rows"]) for repeat in result.repeats)
        warm_up = int(result.capacities["warm_up_rows"])
    return Situation(
        key_shares=zipf_key_shares(cell.master_rows, cell.exponent, cell.order, cell.seed),
        partition_rows=cell.partition_rows,
        pending_rows=split.pending_rows,
        cache_rows=split.cache_rows,
        cached_partitions=split.cached_partitions,
        intermediate_rows=split.intermediate_rows,
        master_row_bytes=MASTER_ROW_BYTES,
        stream_row_bytes=STREAM_ROW_BYTES,
        node_bytes=cell.queue_node_bytes,
        memory=cell.memory,
        warm_up_rows=warm_up,
        measured_rows=measured,
        **known,
    )


def predict(
    cell: Cell,
    form: str,
    result: CellResult | None = None,
    units: UnitCosts = FIXED_UNITS,
    device: DeviceCosts = HARD_DISK_2011,
) -> Prediction:
    """By the `paper`'s formulas, or the `corrected` ones."""
    costs = model(cell.algorithm)
    predicts = costs.paper if form == "paper" else costs.corrected
    return predicts(situation(replace(cell, repeats=1), result), units, device)


def predicted(cell: Cell, form: str, result: CellResult | None = None) -> dict[str, Any]:
    """A prediction under the names of what is measured."""
    found = predict(cell, form, result)
    loads = found.loads_per_row
    return {
        "rows_per_load": found.rows_per_load,
        "hit_ratio": found.hit_ratio,
        "loads_per_row": loads,
        "seconds_per_row": found.seconds,
        "rows_per_second": found.rows_per_second,
        "io_seconds": found.io_seconds,
        "cpu_seconds": found.cpu_seconds,
        "constant": found.rows_per_load * partitions_of(cell) / capacities(cell).pending_rows,
        "hits_in_4000_loads": 4000 * found.hit_ratio * found.rows_per_load,
    }
