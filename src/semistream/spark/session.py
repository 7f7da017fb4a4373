"""The Spark session of our own commands: whoever has one already keeps it.

Workers start `python3` unless told otherwise, and then may lack this package or have another version of
it. A session that we create tells them to use the interpreter that runs here.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession

from semistream.errors import MissingDependencyError

_QUIET = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
}
_BROKEN = ("Py4JError", "Py4JNetworkError")  # by their names: a client of Spark Connect needs no Py4J


def session(
    app_name: str, *, master: str | None = None, config: Mapping[str, str] | None = None
) -> SparkSession:
    """The active session, or a new one whose workers run this interpreter.

    `master` is Spark's, or an `sc://` address of Spark Connect; None: what the environment says, else
    every core of this machine. `config` goes to a new session only.
    """
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    if not os.environ.get("PYSPARK_PYTHON"):
        os.environ["PYSPARK_PYTHON"] = sys.executable
    running = (master or os.environ.get("SPARK_REMOTE", "")).startswith("sc://")
    # A server that runs already would refuse, with a warning, what can only be said at its start.
    ours = {name: value for name, value in _QUIET.items() if not running or name.startswith("spark.sql.")}
    builder = SparkSession.builder.appName(app_name)
    for name, value in {**ours, **(config or {})}.items():
        builder = builder.config(name, value)
    if master is not None and running:
        return builder.remote(master).getOrCreate()
    if master is None and "SPARK_REMOTE" not in os.environ and "MASTER" not in os.environ:
        master = "local[*]"
    if master is not None:
        builder = builder.master(master)
        if re.match(r"local(-cluster)?(\[|$)", master):  # one machine: nobody else has to reach the driver
            builder = builder.config("spark.driver.host", "127.0.0.1")
            builder = builder.config("spark.driver.bindAddress", "127.0.0.1")
    try:
        return builder.getOrCreate()
    except PySparkRuntimeError as error:
        if error.getCondition() != "JAVA_GATEWAY_EXITED":
            raise
        raise MissingDependencyError(
            "Spark can't start Java: install a Java runtime, 17 or 21 (on Debian and Ubuntu the package "
            "openjdk-17-jre-headless), and let the PATH or JAVA_HOME lead to it"
        ) from error


@contextmanager
def session_for(
    app_name: str, *, master: str | None = None, config: Mapping[str, str] | None = None
) -> Iterator[SparkSession]:
    """`session` for a block; a new one ends with the block."""
    found_one = SparkSession.getActiveSession() is not None
    spark = session(app_name, master=master, config=config)
    try:
        yield spark
    finally:
        if not found_one:
            stop(spark)


def stop(spark: SparkSession) -> None:
    """End a session of our own. Where Spark's process is gone already, that is no error."""
    try:
        spark.stop()
    except Exception as error:
        if not is_gone(error):
            raise


def is_gone(error: Exception) -> bool:
    """Whether no answer comes from Spark any more. An error of Spark's own would be a `Py4JJavaError`."""
    return isinstance(error, ConnectionRefusedError) or type(error).__name__ in _BROKEN
