"""The worker's half of a probe: what a worker that has this package sees of the masters."""

from __future__ import annotations

import dataclasses
import pickle
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark import TaskContext

import semistream
from semistream.join import SemiStreamJoin
from semistream.keys.kernels import copy_rows
from semistream.spark.facts import MasterFacts, facts_of
from semistream.stores.master import Master, master


@dataclass(frozen=True)
class Wanted:
    """A master to be looked at, and whether its keys have to be unique."""

    master: Master
    validate: bool


def seen(wanted: tuple[Wanted, ...]) -> tuple[dict[str, Any], bytes]:
    """What this process is like, and the facts of each master.

    A little join on the way loads the kernels, and compiles them where no process of this machine has:
    the first batch then needn't.
    """
    _join_a_little()
    facts = [facts_seen(one) for one in wanted]
    told = {
        "semistream": semistream.__version__,
        "kernels_cached": copy_rows.stats.cache_path is not None,  # type: ignore[attr-defined]
        "temporary_free": shutil.disk_usage(tempfile.gettempdir()).free,
        "resident_bytes": resident_bytes(),
    }
    return told, pickle.dumps(facts)


def facts_seen(wanted: Wanted) -> MasterFacts:
    """Open a master and look at it. Of all workers one checks that its keys are unique."""
    store = wanted.master.open()
    try:
        facts = facts_of(store)
        context = TaskContext.get()
        if wanted.validate and (context is None or context.partitionId() == 0):
            SemiStreamJoin(store, validate="m:1", memory=1 << 40).close()
            facts = dataclasses.replace(facts, unique=True)
        return facts
    finally:
        if not wanted.master.lends_store:
            store.close()


def resident_bytes() -> int | None:
    """The resident memory of this process, libraries included; None where the system doesn't say."""
    status = Path("/proc/self/status")
    if not status.exists():
        return None
    line = next(line for line in status.read_text().splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) * 1024


def _join_a_little() -> None:
    table = pa.table({"key": [1, 2, 3], "name": ["tea", "jam", None]})
    with SemiStreamJoin(master(table, key="key"), how="left", memory="1MiB") as join:
        for keys in ([1, 2, 9], [2, 3, None]):
            batch = pa.record_batch({"key": pa.array(keys, pa.int64()), "event": ["a", "b", "c"]})
            rows = sum(answers.num_rows for answers in join.push(batch))
            rows += sum(answers.num_rows for answers in join.drain())
            assert rows == len(keys), rows
