"""Starts parts of tests in a process of their own, on a Spark of their own.

A part is a module of this folder with a function `run(spark, folder)`, which gives back what JSON can hold.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyspark

ROOT = Path(__file__).parents[3]
TOLD = "told.json"
SECONDS = 600


def run_parts(
    spark_master: str, folder: Path, *parts: str, settings: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Run the parts one after the other in one session, each in its own folder; what each has told."""
    command = [
        sys.executable,
        "-W",
        "error",
        "-m",
        "tests.spark.deployments.script",
        spark_master,
        str(folder),
        *parts,
    ]
    for name, value in (settings or {}).items():
        command += ["--set", f"{name}={value}"]
    done = subprocess.run(
        command,
        env={**environment(folder), "PYTHONPATH": str(ROOT)},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-8000:]
    told: dict[str, Any] = json.loads((folder / TOLD).read_text())
    return told


def environment(folder: Path) -> dict[str, str]:
    """What a process with Spark in it needs. Nothing says here which Python the workers have to run."""
    temporary = folder / "temporary"
    temporary.mkdir(exist_ok=True)
    kept = ("PATH", "HOME", "JAVA_HOME", "LANG", "NUMBA_CACHE_DIR")
    return {
        **{name: os.environ[name] for name in kept if name in os.environ},
        "SPARK_HOME": str(spark_home(folder)),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOCAL_DIRS": str(temporary),
        "TMPDIR": str(temporary),
        # Short lives: most of the best compiler's work would never pay.
        "JAVA_TOOL_OPTIONS": f"-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Djava.io.tmpdir={temporary}",
    }


def spark_home(folder: Path) -> Path:
    """The installed Spark under another roof: executors of `local-cluster` keep their files in its home."""
    home = folder / "spark"
    if not home.exists():
        home.mkdir()
        for name in ("bin", "jars"):
            (home / name).symlink_to(Path(pyspark.__file__).parent / name)
    return home
