"""The family: one algorithm, one file, and the files are the registry."""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module

from semistream.algorithms.base import Algorithm
from semistream.errors import ArgumentError

SHARED = frozenset({"base"})  # files here that are no algorithm


@cache
def names() -> tuple[str, ...]:
    """Every algorithm's name, in alphabetical order."""
    return tuple(sorted(m.name for m in pkgutil.iter_modules(__path__) if m.name not in SHARED))


def algorithm(name: str) -> type[Algorithm]:
    """The algorithm of this name, or an error that lists them all."""
    if name not in names():
        raise ArgumentError(f"algorithm={name!r} is not known; there are {', '.join(names())}")
    module = import_module(f"{__name__}.{name}")
    found: type[Algorithm] = module.ALGORITHM
    return found
