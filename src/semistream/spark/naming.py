"""Names of lookups in a query's progress.

Spark wants the names of observations to be unique within a query, and a lookup can't see what else its
query will hold. So names are unique within the process: the master's own, then with a number. A script that
is started again gives the same names again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import PurePath
from threading import Lock

from pyspark.sql import DataFrame, Observation

from semistream.errors import ArgumentError
from semistream.stores.master import Master

_given: Counter[str] = Counter()
_lock = Lock()


def unique(masters: Iterable[Master]) -> str:
    """A name after these masters, not given before."""
    base = "+".join(dict.fromkeys(_name_of(master) for master in masters))
    with _lock:
        while True:
            _given[base] += 1
            name = base if _given[base] == 1 else f"{base}-{_given[base]}"
            if name == base or name not in _given:
                return name


def check(df: DataFrame, name: str | None, observation: Observation | None) -> None:
    """Refuse what would fail when the query starts."""
    # By its class's name: Connect has an Observation that isn't the classic one.
    if observation is not None and type(observation).__name__ != "Observation":
        raise ArgumentError(
            f"observation={observation!r} is no pyspark.sql.Observation; to name the counters give name="
        )
    if name is not None and (not isinstance(name, str) or not name.strip()):
        raise ArgumentError(f"name={name!r} names nothing: give a text such as 'products', or leave it out")
    if name is not None and observation is not None:
        raise ArgumentError(
            f"name={name!r} and an observation were given, and an observation has a name of its own: give one"
        )
    if observation is not None and df.isStreaming:
        raise ArgumentError(
            "an Observation ends with a batch query, and this DataFrame is a stream: give name=, and find "
            "the counters in each batch's progress (observedMetrics, or semistream.spark.metrics)"
        )


def _name_of(master: Master) -> str:
    if not isinstance(master.source, str):
        return "+".join(master.key)
    return PurePath(master.source.partition("?")[0]).name or "lookup"
