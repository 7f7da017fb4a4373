"""Makes one version of parts that many tasks wrote, and publishes it.

1. the driver takes the lock of the copy, and makes a scratch folder with a marker that tasks look for;
2. tasks write parts (`parts`), each attempt to a folder of its own, and say what they wrote;
3. the driver puts the parts in order, and checks that their keys don't overlap;
4. their files move into the version, and leaves, root and manifest are written from their entries;
5. the version is published; the scratch folder goes, and with it what attempts that lost left there.

A driver that dies before 5 leaves the old version as it was; the next build removes what it left.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType

import numpy as np
import pyarrow as pa

from semistream.errors import ArgumentError, CorruptStoreError, StoreError
from semistream.keys import KeyCodec, is_sorted, order, same_as_previous
from semistream.stores.clustered_build import PAGE_BYTES, PageCutter
from semistream.stores.directory_writer import DirectoryWriter, fence_names, manifest_digest
from semistream.stores.heap import INDEX
from semistream.stores.ipc_files import FILE_BYTES, file_name
from semistream.stores.leaves import LEAF_PAGES
from semistream.stores.manifest import FileEntry, Manifest
from semistream.stores.parts import HEAP, MARKER, Part, PartPlan, places_schema, read_entries, unpacked
from semistream.stores.publication import Publication, sync_folder, write_synced
from semistream.stores.sorting import checked_columns, checked_key, codec_of, key_text


@dataclass(frozen=True, slots=True)
class Built:
    """What was published, and the bytes of all its files but the manifest."""

    manifest: Manifest
    bytes: int


class PartedBuild:
    """A version in the making: tasks write by `plan`, then `publish` is given what they said.

    Leaving its `with` block without having published leaves the copy as it was.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        schema: pa.Schema,
        key: str | Sequence[str],
        kind: str = "clustered",
        *,
        page_rows: int | None = None,
        page_bytes: int = PAGE_BYTES,
        leaf_pages: int = LEAF_PAGES,
        file_bytes: int = FILE_BYTES,
    ) -> None:
        names = checked_key(key)
        checked_columns(schema, names, None)
        codec_of(schema, names)
        PageCutter(page_rows, page_bytes)
        self._leaf_pages = leaf_pages
        self._publication: Publication | None = Publication(Path(path).absolute())
        self._folder = self._publication.folder
        scratch = self._publication.scratch
        try:
            scratch.mkdir()
            marker = scratch.name
            write_synced(scratch / MARKER, marker.encode())
        except BaseException:
            self._abandon()
            raise
        self.plan = PartPlan(scratch, marker, kind, schema, names, page_rows, page_bytes, file_bytes)

    @property
    def index_plan(self) -> PartPlan:
        """How tasks write the index of a heap: rows (key, first page, last page, rows) in key order."""
        names = tuple(fence_names(len(self.plan.key)))
        schema = places_schema(self.plan.schema, self.plan.key)
        return replace(self.plan, kind=INDEX, schema=schema, key=names, page_rows=None, page_bytes=PAGE_BYTES)

    def __enter__(self) -> PartedBuild:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._abandon()

    def publish(self, parts: Sequence[Part], index: Sequence[Part] = ()) -> Built:
        """Make a version of these parts the one that is read from now on."""
        assert self._publication is not None
        seal, size = "", 0
        if self.plan.kind == HEAP:
            (self._folder / INDEX).mkdir()
            inner = assemble(self._folder / INDEX, self.index_plan, index, LEAF_PAGES)
            if not inner.unique:
                raise StoreError(
                    "a key's rows came to lie in two parts of the heap, although Spark was told to keep them "
                    "together: give a key whose equal values are equal bytes"
                )
            seal, size = manifest_digest(self._folder / INDEX), _bytes_of(inner)
        manifest = assemble(self._folder, self.plan, parts, self._leaf_pages, seal)
        self._publication.publish(manifest.content, manifest_digest(self._folder))
        self._publication = None
        return Built(manifest, size + _bytes_of(manifest))

    def _abandon(self) -> None:
        if self._publication is not None:
            self._publication.abandon()
            self._publication = None


def assemble(
    folder: Path, plan: PartPlan, parts: Sequence[Part], leaf_pages: int, inner_digest: str = ""
) -> Manifest:
    """Move the files of `parts` to `folder`, and write leaves, root and manifest there.

    O(pages), holding one block of entries, one leaf and the root.
    """
    ordered, continued = in_order(plan, [part for part in parts if part.rows])
    directory = DirectoryWriter(
        folder,
        plan.kind,
        plan.schema,
        plan.key,
        fenced=plan.fenced,
        leaf_pages=leaf_pages,
        file_bytes=plan.file_bytes,
    )
    files: list[FileEntry] = []
    try:
        for part, goes_on in zip(ordered, continued, strict=True):
            first = True
            for entries in read_entries(plan, part):
                directory.add(_as_part_of_whole(entries, len(files), first and goes_on))
                first = False
            for file in part.files:
                name = file_name("pages", len(files))
                _move(plan.scratch / part.name / file.name, folder / name, file.bytes, part.host)
                files.append(replace(file, name=name))
        sync_folder(folder)
        manifest = directory.finish(
            tuple(files),
            unique=all(part.unique for part in parts) and not any(continued),
            null_key_rows=sum(part.null_key_rows for part in parts),
            inner_digest=inner_digest,
        )
    except BaseException:
        directory.abandon()
        raise
    said = sum(part.rows for part in parts), sum(part.pages for part in parts)
    if (manifest.rows, manifest.pages) != said:
        raise CorruptStoreError(
            f"tasks wrote {said[0]} rows on {said[1]} pages, but their entries tell of {manifest.rows} rows "
            f"on {manifest.pages} pages; build the copy again"
        )
    return manifest


def in_order(plan: PartPlan, parts: Sequence[Part]) -> tuple[list[Part], list[bool]]:
    """Parts as they follow each other, and whether each begins with the key that the one before ends with.

    Parts in key order must not overlap; those of a heap follow each other by number.
    """
    if not plan.fenced or not parts:
        return sorted(parts, key=lambda part: part.number), [False] * len(parts)
    codec = KeyCodec.of_master([plan.schema.field(name) for name in plan.key])
    table = pa.Table.from_batches([unpacked(part.ends) for part in parts]).combine_chunks()
    columns = [column.combine_chunks() for column in table.columns]
    firsts = np.arange(len(parts)) * 2
    # Of parts that begin with one key, those that also end with it come first.
    by_last = order(codec.encode([column.take(pa.array(firsts + 1)) for column in columns]))
    by_first = order(codec.encode([column.take(pa.array(firsts[by_last])) for column in columns]))
    follow = by_last[by_first]
    ends = np.stack([firsts[follow], firsts[follow] + 1], axis=1).reshape(-1)
    columns = [column.take(pa.array(ends)) for column in columns]
    keys = codec.encode(columns)
    if not is_sorted(keys):
        at = next(row for row in range(2, len(ends), 2) if not is_sorted(keys.take(np.array([row - 1, row]))))
        raise ArgumentError(
            f"a part ends with key {key_text(columns, at - 1)}, and the next one begins with "
            f"{key_text(columns, at)}: parts of a copy in key order must not overlap; "
            "range partitioning orders this key in another way: cast it to a plain type"
        )
    return [parts[at] for at in follow.tolist()], same_as_previous(keys)[::2].tolist()


def _as_part_of_whole(entries: pa.RecordBatch, files_before: int, continued: bool) -> pa.RecordBatch:
    """Entries of a part with the file numbers of the whole, and the truth about its first page."""
    columns = dict(zip(entries.schema.names, entries.columns, strict=True))
    columns["file"] = pa.array(columns["file"].to_numpy() + np.int32(files_before))
    if continued:
        flags = columns["continued"].to_numpy(zero_copy_only=False).copy()
        flags[0] = True
        columns["continued"] = pa.array(flags)
    return pa.RecordBatch.from_arrays(list(columns.values()), schema=entries.schema)


def _move(source: Path, target: Path, size: int, host: str) -> None:
    try:
        found = source.stat().st_size
    except OSError as error:
        raise StoreError(
            f"{source}, which host {host} wrote, isn't seen by the driver: the copy has to be on a "
            "file system that the driver and every executor share"
        ) from error
    if found != size:
        raise CorruptStoreError(f"{source} has {found} bytes, host {host} wrote {size}; build the copy again")
    os.rename(source, target)


def _bytes_of(manifest: Manifest) -> int:
    files = (*manifest.data_files, *manifest.leaf_files)
    return sum(file.bytes for file in files) + manifest.root_bytes
