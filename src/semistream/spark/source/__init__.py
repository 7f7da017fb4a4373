"""The Spark data source `semistream-zipf`: a reproducible stream of Zipf keys, for streaming and batch.

    register(spark)
    sales = spark.readStream.format("semistream-zipf").option("keys", 2_000_000).load()

Its options are the fields of `options.SourceOptions`.
"""

from __future__ import annotations

from semistream.errors import MissingDependencyError

try:
    from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow  # noqa: F401
except ImportError as error:
    raise MissingDependencyError(
        "semistream-zipf needs PySpark 4.2 or later, with rate limits for Python sources: "
        "pip install 'semistream[spark]' 'pyspark>=4.2'"
    ) from error

from semistream.spark.source.reader import ZipfDataSource, register

__all__ = ["ZipfDataSource", "register"]
