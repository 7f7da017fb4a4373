"""Join fast streams with master data far larger than memory, inside one byte budget."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

# Importing the subpackage here also binds its name, which the function of that name then takes over:
# a first import later on would put the module in its place.
from semistream.algorithms import names as algorithms
from semistream.errors import SemiStreamError
from semistream.join import SemiStreamJoin
from semistream.stats import Stats
from semistream.stores.master import Master, master

if TYPE_CHECKING:
    from semistream.spark.explain import explain
    from semistream.spark.lookup_join import lookup, lookup_join, lookup_joins

__all__ = [
    "Master",
    "SemiStreamError",
    "SemiStreamJoin",
    "Stats",
    "algorithms",
    "explain",
    "lookup",
    "lookup_join",
    "lookup_joins",
    "master",
]
__version__ = "0.1.0"

_ON_SPARK = {
    "explain": "semistream.spark.explain",
    "lookup": "semistream.spark.lookup_join",
    "lookup_join": "semistream.spark.lookup_join",
    "lookup_joins": "semistream.spark.lookup_join",
}


def __getattr__(name: str) -> Any:
    """Names that need PySpark are imported when they are first asked for."""
    if name in _ON_SPARK:
        return getattr(import_module(_ON_SPARK[name]), name)
    raise AttributeError(f"module 'semistream' has no attribute {name!r}")
