"""What a join should cost: the papers' formulas and corrected ones, a file for each algorithm."""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module
from typing import Protocol, cast

from semistream.costs.accounting import Account
from semistream.costs.base import DeviceCosts, Prediction, Situation, UnitCosts
from semistream.errors import ArgumentError

SHARED = frozenset(  # files here that are no algorithm's
    {"accounting", "base", "drained", "printed", "renewal", "schedules", "steady"}
)


class CostModel(Protocol):
    """What each algorithm's file here offers, and what a run of it is charged for."""

    ACCOUNT: Account

    def paper(self, situation: Situation, units: UnitCosts, device: DeviceCosts) -> Prediction:
        """The formulas as printed."""
        ...

    def corrected(self, situation: Situation, units: UnitCosts, device: DeviceCosts) -> Prediction:
        """What a run costs."""
        ...


@cache
def names() -> tuple[str, ...]:
    """Every algorithm that has a cost model, in alphabetical order."""
    return tuple(sorted(m.name for m in pkgutil.iter_modules(__path__) if m.name not in SHARED))


def model(name: str) -> CostModel:
    """The cost model of this algorithm, or an error that lists them all."""
    if name not in names():
        raise ArgumentError(f"no cost model of {name!r} is known; there are {', '.join(names())}")
    return cast(CostModel, import_module(f"{__name__}.{name}"))
