"""What a probe runs inside a Spark worker.

The worker may lack this package, so Spark gets the function of this file by value, and the function uses
the standard library until it has found the package.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

from pyspark import cloudpickle

TOLD = "told binary, facts binary"
LEAST_ADDRESS_SPACE = 1 << 30  # below it Numba's compiler can't be loaded
PACKAGES = ("semistream", "pyarrow", "numpy", "numba")


def asker(wanted: bytes) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """For `mapInArrow`: whatever rows come, one row that says what this worker is and what it sees."""
    packages, least = PACKAGES, LEAST_ADDRESS_SPACE

    def ask(batches: Iterator[Any]) -> Iterator[Any]:
        import json
        import os
        import pickle
        import resource
        import socket
        import sys
        from importlib import metadata

        import pyarrow

        for _ in batches:
            pass
        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        told: dict[str, Any] = {
            "host": socket.gethostname(),
            "process": os.getpid(),
            "python": "{}.{}.{}".format(*sys.version_info[:3]),
            "executable": sys.executable,
            "address_space": None if limit == resource.RLIM_INFINITY else limit,
            "cpus": os.cpu_count(),
            "packages": {},
            "error": None,
        }
        facts = b""
        for name in packages:
            try:
                told["packages"][name] = metadata.version(name)
            except metadata.PackageNotFoundError:
                told["packages"][name] = None
        if limit == resource.RLIM_INFINITY or limit >= least:
            try:
                from semistream.spark.seeing import seen

                more, facts = seen(pickle.loads(wanted))
                told.update(more)
            except Exception as error:
                told["error"] = [type(error).__name__, str(error)]
        columns = {"told": [json.dumps(told).encode()], "facts": [facts]}
        yield pyarrow.RecordBatch.from_pydict(columns)

    return ask


cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]
