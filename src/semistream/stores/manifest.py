"""What a copy on disk says of itself: `CURRENT` names a version, its manifest names the rest.

Everything is verified from the top down: `CURRENT` carries the manifest's digest, the manifest
the root's, the root a checksum of each leaf, a leaf one of each page.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from semistream.errors import CorruptStoreError, StoreError, VersionGoneError

FORMAT = 1
CURRENT = "CURRENT"
VERSIONS = "versions"
MANIFEST = "manifest.json"
ROOT = "root.arrow"
SEAL = "manifest.digest"


@dataclass(frozen=True, slots=True)
class FileEntry:
    name: str
    bytes: int
    pages: int
    rows: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """`key_bytes`, `leaf_bytes` and `leaf_pages` size the directory; `content` is the version's token."""

    kind: str
    schema: pa.Schema
    stored: pa.Schema
    key: tuple[str, ...]
    rows: int
    null_key_rows: int
    unique: bool
    pages: int
    page_max_rows: int
    page_max_bytes: int
    leaf_pages: int
    leaf_bytes: int
    key_bytes: int
    data_files: tuple[FileEntry, ...]
    leaf_files: tuple[FileEntry, ...]
    root_bytes: int
    root_digest: str
    content: str
    inner_digest: str = ""  # of the manifest of a heap's index

    def to_json(self) -> str:
        fields: dict[str, Any] = {"format": FORMAT}
        for name in self.__slots__:
            fields[name] = getattr(self, name)
        for name in ("schema", "stored"):
            fields[name] = base64.b64encode(fields[name].serialize().to_pybytes()).decode()
        for name in ("data_files", "leaf_files"):
            fields[name] = [asdict(entry) for entry in fields[name]]
        return json.dumps(fields, indent=1)

    @classmethod
    def from_json(cls, text: str) -> Manifest:
        fields: dict[str, Any] = json.loads(text)
        found = fields.pop("format")
        if found != FORMAT:
            raise ValueError(f"format {found}, this version of semistream reads {FORMAT}")
        for name in ("schema", "stored"):
            fields[name] = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(fields[name], validate=True)))
        for name in ("data_files", "leaf_files"):
            fields[name] = tuple(FileEntry(**entry) for entry in fields[name])
        fields["key"] = tuple(fields["key"])
        return cls(**fields)


def digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def rebuild(path: Path) -> str:
    """The remedy that every error about a damaged copy ends in."""
    return f"build the copy at {path} again from its source"


@dataclass(frozen=True, slots=True)
class Current:
    """The line in `CURRENT`: which folder below `versions` is read, and its manifest's digest."""

    folder: str
    manifest_digest: str

    @property
    def content(self) -> str:
        return self.folder.partition("-")[0]


def read_current(path: Path) -> Current:
    try:
        line = (path / CURRENT).read_bytes()
    except FileNotFoundError as error:
        raise StoreError(
            f"{path} is not a copy of a master: it has no {CURRENT} file; build one there"
        ) from error
    except OSError as error:
        raise StoreError(f"{path / CURRENT} can't be read: {error.strerror}") from error
    words = line.decode("ascii", "replace").split(" ")
    if len(words) != 3 or words[2] != digest(" ".join(words[:2]).encode()):
        raise CorruptStoreError(f"{path / CURRENT} doesn't hold what was written; {rebuild(path)}")
    return Current(words[0], words[1])


def current_line(folder: str, manifest_digest: str) -> bytes:
    line = f"{folder} {manifest_digest}"
    return f"{line} {digest(line.encode())}".encode()


def read_manifest(folder: Path, manifest_digest: str, remedy: str) -> Manifest:
    """The manifest in `folder`, which must have this digest."""
    path = folder / MANIFEST
    try:
        text = path.read_bytes()
    except FileNotFoundError as error:
        raise StoreError(f"{path} is missing; {remedy}") from error
    except OSError as error:
        raise StoreError(f"{path} can't be read: {error.strerror}") from error
    if digest(text) != manifest_digest:
        raise CorruptStoreError(f"{path} doesn't hold what was written; {remedy}")
    try:
        return Manifest.from_json(text.decode())
    except (ValueError, KeyError, TypeError, binascii.Error, pa.ArrowException) as error:
        raise StoreError(f"{path} can't be understood ({error}); {remedy}") from error


def find_version(path: Path, content: str) -> tuple[Path, str]:
    """The folder of a version that may have been replaced, and its manifest's digest."""
    for folder in sorted((path / VERSIONS).iterdir()):
        seal = folder / SEAL
        if folder.name.startswith(f"{content}-") and seal.is_file():
            return folder, seal.read_bytes().decode("ascii", "replace")
    raise VersionGoneError(
        f"version {content} of {path} is gone; the version there now is {read_current(path).content}"
    )
