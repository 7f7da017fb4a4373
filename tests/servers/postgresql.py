"""A PostgreSQL server of a test's own: a new cluster in a temporary folder, on a free port."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.servers.ports import free_port, listens

USER = "semistream"
_START_SECONDS = 60.0


@dataclass(frozen=True)
class Server:
    """Where it listens, and the password that it asks for."""

    port: int
    password: str

    def url(self, password: str | None = None) -> str:
        """For a connection; `password` may be a `${NAME}`."""
        return f"postgresql://{USER}:{password or self.password}@127.0.0.1:{self.port}/postgres"


@contextmanager
def postgresql(password: str = "a word of its own") -> Iterator[Server]:
    """Started before the block, gone with its data after it."""
    binaries = _binaries()
    folder = Path(tempfile.mkdtemp(prefix="semistream-postgresql-"))
    run = _as_somebody(folder)
    try:
        secret = folder / "password"
        secret.write_text(password)
        if run:
            shutil.chown(secret, run["user"])
        data = folder / "data"
        make = [
            f"{binaries}/initdb",
            "-D",
            str(data),
            "-U",
            USER,
            f"--pwfile={secret}",
            "-A",
            "scram-sha-256",
        ]
        subprocess.run([*make, "--no-sync", "-E", "UTF8"], check=True, capture_output=True, **run)
        port = free_port()
        serve = [f"{binaries}/postgres", "-D", str(data), "-p", str(port), "-h", "127.0.0.1"]
        serve += ["-k", str(folder), "-c", "fsync=off"]
        with (
            (folder / "log").open("wb") as log,
            subprocess.Popen(serve, stdout=log, stderr=log, **run) as process,
        ):
            try:
                _wait(process, port, folder / "log")
                yield Server(port, password.replace(" ", "%20"))
            finally:
                process.terminate()
                process.wait()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _binaries() -> Path:
    """Where PostgreSQL's programs are; Debian keeps them off the path."""
    found = shutil.which("initdb")
    if found is not None:
        return Path(found).resolve().parent
    kept = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    if not kept:
        raise RuntimeError("PostgreSQL isn't installed: call tools/postgresql, or make test, which does")
    return kept[-1]


def _as_somebody(folder: Path) -> Mapping[str, Any]:
    """PostgreSQL refuses to run as root: then its own user runs it."""
    if os.getuid() != 0:
        return {}
    pwd.getpwnam("postgres")  # the package makes this user
    shutil.chown(folder, "postgres")
    return {"user": "postgres", "group": "postgres", "extra_groups": [], "cwd": folder}


def _wait(process: subprocess.Popen[Any], port: int, log: Path) -> None:
    end = time.monotonic() + _START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        if listens(port) and "ready to accept" in log.read_text():
            return
        time.sleep(0.05)
    raise RuntimeError(f"PostgreSQL didn't start: {log.read_text()}")
