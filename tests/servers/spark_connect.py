"""A Spark Connect server of a test's own: a process of its own, on a free loopback port."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.servers.ports import free_port, listens

_START_SECONDS = 120.0
_CLASS = "org.apache.spark.sql.connect.service.SparkConnectServer"


@contextmanager
def spark_connect(spark_master: str, folder: Path, environment: Mapping[str, str]) -> Iterator[str]:
    """The address of a server that runs during the block; `environment` has `SPARK_HOME`."""
    port = free_port()
    loopback = {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
    }
    command = [f"{environment['SPARK_HOME']}/bin/spark-submit", "--class", _CLASS, "--master", spark_master]
    for name, value in loopback.items():
        command += ["--conf", f"{name}={value}"]
    log = folder / "server.log"
    with (
        log.open("wb") as output,
        subprocess.Popen(
            [*command, "spark-internal"], env=environment, cwd=folder, stdout=output, stderr=output
        ) as process,
    ):
        try:
            _wait(process, port, log)
            yield f"sc://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait()


def _wait(process: subprocess.Popen[Any], port: int, log: Path) -> None:
    end = time.monotonic() + _START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        if listens(port):
            return
        time.sleep(0.1)
    raise RuntimeError(f"the Spark Connect server didn't start: {log.read_text()[-4000:]}")
