"""How a copy is replaced: all or nothing, while others read.

1. take the lock of the copy; what dead builds left behind is removed;
2. write everything to `versions/<nonce>.tmp`, and sync it;
3. rename it to `versions/<content>-<nonce>`;
4. replace `CURRENT`: this is the moment at which new readers see the new version;
5. remove versions older than the one before: it stays for those who still read it.

A crash before 4 leaves the old version as it was.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import uuid
from pathlib import Path

from semistream.errors import StoreError
from semistream.stores.manifest import CURRENT, SEAL, VERSIONS, current_line, read_current

LOCK = "build.lock"


class Publication:
    """A version being written. `folder` is where its files go; then `publish`, or `abandon`.

    `scratch` is a place for what doesn't become part of it; whoever needs that makes the folder, and
    it goes with the end of the build.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        (path / VERSIONS).mkdir(parents=True, exist_ok=True)
        self._lock = _locked(path)
        self._nonce = uuid.uuid4().hex[:12]
        self.folder = path / VERSIONS / f"{self._nonce}.tmp"
        self.scratch = path / VERSIONS / f"{self._nonce}.parts.tmp"
        try:
            _remove_versions(path, keep=_referenced(path), only_unfinished=True)
            self.folder.mkdir()
        except BaseException:
            os.close(self._lock)
            raise

    def publish(self, content: str, manifest_digest: str) -> None:
        """Make the files in `folder` the version that is read from now on."""
        before = _referenced(self.path)
        name = f"{content}-{self._nonce}"
        write_synced(self.folder / SEAL, manifest_digest.encode())
        sync_folder(self.folder)
        final = self.path / VERSIONS / name
        os.rename(self.folder, final)
        sync_folder(self.path / VERSIONS)
        fresh = self.path / f"{CURRENT}.tmp"
        write_synced(fresh, current_line(name, manifest_digest))
        os.replace(fresh, self.path / CURRENT)
        sync_folder(self.path)
        _remove_versions(self.path, keep={name, *before})
        os.close(self._lock)

    def abandon(self) -> None:
        """Leave no trace of this version."""
        for folder in (self.folder, self.scratch):
            shutil.rmtree(folder, ignore_errors=True)
        os.close(self._lock)


def prune(path: str | os.PathLike[str]) -> None:
    """Remove every version but the current one. Those who have an older one open keep reading it."""
    root = Path(path)
    current = read_current(root)
    lock = _locked(root)
    try:
        _remove_versions(root, keep={current.folder})
    finally:
        os.close(lock)


def write_synced(path: Path, data: bytes) -> None:
    with open(path, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def sync_folder(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _locked(path: Path) -> int:
    descriptor = os.open(path / LOCK, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(descriptor)
        raise StoreError(f"another build of the copy at {path} is under way; wait for it to end") from error
    return descriptor


def _referenced(path: Path) -> set[str]:
    """The version that is current. One that can't be read any more needs no keeping."""
    try:
        return {read_current(path).folder}
    except StoreError:
        return set()


def _remove_versions(path: Path, keep: set[str], only_unfinished: bool = False) -> None:
    for folder in (path / VERSIONS).iterdir():
        if folder.name not in keep and (folder.name.endswith(".tmp") or not only_unfinished):
            shutil.rmtree(folder, ignore_errors=True)
