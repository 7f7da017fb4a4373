"""What stays while settings vary: the master, the memory, the algorithm, the stream; and what follows.

    settings -> plan (the join's own split of its memory) -> situation (what the cost models are asked)

The plan is the one that the join will make of the same settings, so that a choice fits by construction.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from semistream.algorithms import algorithm as find_algorithm
from semistream.columns import resolve
from semistream.costs import CostModel, model
from semistream.costs.base import DeviceCosts, Situation, UnitCosts
from semistream.costs.renewal import Floats
from semistream.errors import StoreError
from semistream.join import SemiStreamJoin
from semistream.phases.plan import Plan
from semistream.stores.base import PageLayout, Store
from semistream.structures.matching import CodeTable

Settings = dict[str, Any]

SHARE, PINNED = "cache_share", "pinned_partitions"
PROBED_PAGES = 3  # pages that are read to see how wide rows are


@dataclass(frozen=True)
class Job:
    """A join whose settings are looked for.

    example: rows as the stream has them. arguments: of the join, beside its settings: on, how, columns,
    suffix. given: settings that are not the
    tuner's to choose. warm_up_rows, measured_rows: of the stream a choice has to be good for.
    """

    store: Store
    memory: int
    algorithm: str
    example: pa.RecordBatch
    key_shares: Floats
    units: UnitCosts
    device: DeviceCosts
    warm_up_rows: int | None = None
    measured_rows: int | None = None
    seed: int = 0
    arguments: Mapping[str, Any] = field(default_factory=dict)
    given: Mapping[str, Any] = field(default_factory=dict)

    @property
    def stream(self) -> pa.Schema:
        return self.example.schema

    @property
    def costs(self) -> CostModel:
        return model(self.algorithm)

    @cached_property
    def layout(self) -> PageLayout:
        if self.store.layout is None or not self.store.layout.pages or not self.store.rows:
            raise StoreError(
                "this master has no pages to load, so there is nothing to tune: index it first "
                "(`semistream index`), and not without rows"
            )
        return self.store.layout

    @cached_property
    def front_setting(self) -> str | None:
        """The setting that splits the memory between front and pending rows, if the algorithm has one."""
        known = {item.name for item in fields(find_algorithm(self.algorithm).settings_type)}
        return next((name for name in (SHARE, PINNED) if name in known), None)

    @cached_property
    def page_rows(self) -> float:
        assert self.store.rows is not None
        return self.store.rows / self.layout.pages

    @cached_property
    def read_columns(self) -> list[str]:
        """The master's columns that the join reads."""
        columns = resolve(
            self.stream,
            self.store.schema,
            self.store.key,
            on=self.arguments.get("on"),
            how=self.arguments.get("how", "inner"),
            columns=self.arguments.get("columns"),
            suffix=self.arguments.get("suffix"),
            status=None,
        )
        return [*self.store.key, *columns.payload]

    @cached_property
    def row_bytes(self) -> float:
        """What the device brings for a master row."""
        pages = np.unique(np.linspace(0, self.layout.pages - 1, PROBED_PAGES).astype(np.int64))
        runs = list(self.store.read(pages, self.read_columns))
        size = sum(run.bytes_read or int(run.batch.nbytes) for run in runs)
        return float(size / max(1, sum(run.batch.num_rows for run in runs)))

    def join(self, settings: Settings, store: Store | None = None) -> SemiStreamJoin:
        """The join with these settings."""
        return SemiStreamJoin(
            store or self.store,
            memory=self.memory,
            algorithm=self.algorithm,
            **self.arguments,
            **settings,
        )

    def plan(self, settings: Settings) -> Plan:
        """How it will split its memory; `BudgetError` where that can't be."""
        with self.join(settings) as join:
            return join.plan_for(self.example)

    def situation(self, settings: Settings, plan: Plan) -> Situation:
        """What a cost model is asked about it."""
        known = {item.name for item in fields(Situation)}
        partition = max(1, round(plan.partition_pages * self.page_rows))
        own: Settings = {name: value for name, value in settings.items() if name in known}
        return Situation(
            **{
                "key_shares": self.key_shares,
                "master_row_bytes": max(1, round(self.row_bytes)),
                "partition_rows": partition,
                "cache_rows": plan.front_entries,
                "cached_partitions": self.kept_partitions(settings, plan),
                "probe_rows": min(plan.arrival_rows, max(64, plan.pending_rows // 4)),
                "warm_up_rows": self.warm_up_rows,
                "measured_rows": self.measured_rows,
                "seed": self.seed,
                **own,
                "pending_rows": plan.pending_rows,
            }
        )

    def kept_partitions(self, settings: Settings, plan: Plan) -> int:
        """Whole partitions in the front: those that are pinned, or that a page cache has room for."""
        if self.costs.ACCOUNT.front != "partitions":
            return 0
        if self.front_setting == SHARE:
            rows = round(plan.partition_pages * self.page_rows)
            kept = rows * (self.row_bytes + 8) + CodeTable.bytes_for(rows)
            return int(plan.front_bytes // kept)
        return int(settings.get(PINNED, 1))

    def most_pinned(self, settings: Settings) -> int:
        """How many partitions could be pinned if nothing but the least were left for the rest."""
        one = self.plan({**settings, PINNED: 1})
        free = self.plan({**settings, PINNED: None, "pinned_share": 1.0}).front_bytes
        partitions = -(-self.layout.pages // one.partition_pages)
        return max(1, min(partitions, free // one.front_bytes))
