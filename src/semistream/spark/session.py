"""The Spark session of our own commands: whoever has one already keeps it.

Workers start `python3` unless told otherwise, and then may lack this package or have another version of
it. A session that we create tells them to use the interpreter that runs here.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping

from pyspark.sql import SparkSession

_QUIET = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
}


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
    return builder.getOrCreate()
