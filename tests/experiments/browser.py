"""A browser without a screen."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run")
# No name is looked up, so that a page that asks for anything outside itself gets nothing.
OFFLINE = ("--host-resolver-rules=MAP * ~NOTFOUND", "--disable-background-networking")
SECONDS = 240


def program() -> str:
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    assert found is not None, f"none of {', '.join(NAMES)} is installed: tools/chromium installs one"
    return found


def document(page: Path, profile: Path, *arguments: str) -> str:
    """The page's elements after its scripts have run."""
    return _run(page, profile, "--dump-dom", *arguments)


def screenshot(page: Path, profile: Path, picture: Path, width: int, height: int) -> None:
    _run(page, profile, f"--screenshot={picture}", f"--window-size={width},{height}", "--hide-scrollbars")


def _run(page: Path, profile: Path, *arguments: str) -> str:
    command = [program(), *ARGUMENTS, *OFFLINE, f"--user-data-dir={profile}", *arguments, page.as_uri()]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=True)
    return ended.stdout
