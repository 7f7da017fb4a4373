"""On Spark: lookups in DataFrames, streaming and batch, classic and Connect. Needs `semistream[spark]`;
a client of Spark Connect, `semistream[connect]`.
"""

from __future__ import annotations

from semistream.errors import MissingDependencyError

try:
    import pyspark  # noqa: F401
except ImportError as error:
    raise MissingDependencyError(
        "semistream on Spark needs PySpark, which isn't installed: pip install 'semistream[spark]'"
    ) from error
