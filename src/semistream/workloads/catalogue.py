"""The workloads by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from semistream.errors import ArgumentError
from semistream.workloads import flights, retail, synthetic, tpch, weather
from semistream.workloads.base import Workload

_MAKERS: dict[str, Callable[..., Workload]] = {
    "zipf": synthetic.zipf,
    "tpch": tpch.uniform,
    "tpch-zipf": tpch.skewed,
    "retail": retail.sales,
    "retail-promotions": retail.promotions,
    "flights-planes": flights.planes,
    "flights-weather": flights.weather,
    "flights-airports": flights.airports,
    "weather-reports": weather.reports,
}


def names() -> tuple[str, ...]:
    """The workloads there are.

    >>> names()[:3]
    ('zipf', 'tpch', 'tpch-zipf')
    """
    return tuple(_MAKERS)


def options(name: str) -> dict[str, Any]:
    """What a workload can be given, with the defaults.

    >>> options("weather-reports")
    {'scale': 1.0, 'stream_rows': None, 'seed': 0}
    """
    parameters = inspect.signature(_maker(name)).parameters
    return {option: parameter.default for option, parameter in parameters.items()}


def about(name: str) -> str:
    """What a workload is, in a sentence."""
    return (inspect.getdoc(_maker(name)) or "").split("\n", maxsplit=1)[0]


def workload(name: str, **given: Any) -> Workload:
    """A workload by its name, with some of its options.

    >>> workload("zipf", master_rows=10, stream_rows=5).stream.table()["sequence"].to_pylist()
    [0, 1, 2, 3, 4]
    """
    known = options(name)
    unknown = [option for option in given if option not in known]
    if unknown:
        raise ArgumentError(f"the workload {name} has no {', '.join(unknown)}: give {', '.join(known)}")
    return _maker(name)(**given)


def _maker(name: str) -> Callable[..., Workload]:
    if name not in _MAKERS:
        raise ArgumentError(f"there is no workload {name!r}: give one of {', '.join(_MAKERS)}")
    return _MAKERS[name]
