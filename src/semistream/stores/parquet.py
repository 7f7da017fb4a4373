"""A Parquet file or folder that is sorted by key already, used as it lies.

A page is a row group. Fences are the first keys of the row groups, from the statistics where these
are exact, else read. That the order holds is verified: of fences and statistics when the store
opens, of the rows when a row group is read first.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from semistream.errors import ArgumentError, CorruptStoreError, StoreError
from semistream.keys import Keys, is_sorted, order, search
from semistream.stores.base import PageLayout, PageRun, Version
from semistream.stores.directory import FenceDirectory, Fences, Pages
from semistream.stores.manifest import digest
from semistream.stores.paged import PagedStore, neighbours
from semistream.stores.parquet_fences import RowGroup, first_key, greatest_key, has_exact_least, null_free
from semistream.stores.sorting import checked_columns, checked_key, codec_of, key_text
from semistream.structures.views import taken, taken_array


@dataclass(frozen=True, slots=True)
class _File:
    """A file as it was when the store opened: what it says of itself, and how to tell it was replaced."""

    path: Path
    metadata: pq.FileMetaData
    schema: pa.Schema
    stamp: tuple[int, int, int]


class ParquetStore(PagedStore):
    """Row groups of sorted Parquet files as pages. Rows whose key is null are left out."""

    def __init__(self, source: str | os.PathLike[str], key: str | Sequence[str]) -> None:
        self._path = Path(source)
        self._files = [_opened(path) for path in parquet_files(self._path)]
        names = checked_key(key)
        schema = self._files[0].schema
        for file in self._files[1:]:
            if not file.schema.equals(schema):
                raise StoreError(
                    f"{file.path} has another schema than {self._files[0].path}; "
                    f"write them alike, or {_REMEDY}"
                )
        checked_columns(schema, names, None)
        super().__init__(schema, names)
        groups, firsts = self._groups_in_order()
        self._groups = groups
        self._firsts = [pa.concat_arrays(list(part)) for part in zip(*firsts, strict=True)] or [
            pa.array([], schema.field(name).type) for name in names
        ]
        self._keys = self._codec.encode(self._firsts)
        self._fences = Fences.of_arrays(self._codec, self._firsts, self._checked_order())
        self._verified = np.zeros(len(groups), np.bool_)
        self._layout = self._measured()

    @property
    def rows(self) -> int | None:
        """None where some row may have a null key: only reading would tell."""
        if not all(group.null_free for group in self._groups):
            return None
        return sum(int(file.metadata.row_group(group.number).num_rows) for file, group in self._located())

    @property
    def unique(self) -> bool | None:
        return None

    @property
    def layout(self) -> PageLayout:
        """`max_bytes` is an estimate: Parquet doesn't say how large a row group will be as Arrow."""
        return self._layout

    @property
    def held_bytes(self) -> int:
        fences = sum(int(part.nbytes) for part in self._firsts) + self._keys.nbytes
        metadata = sum(int(file.metadata.serialized_size) for file in self._files)
        return super().held_bytes + fences + self._fences.root_bytes + metadata

    def version(self) -> Version:
        parts = [f"{file.path.name}:{file.stamp}" for file in self._files]
        return Version(digest("\n".join([*self._key, *parts]).encode()))

    def directory(self, memory: int) -> FenceDirectory:
        return FenceDirectory(self._fences, memory)

    def directory_bytes(self) -> tuple[int, int]:
        return self._fences.least_bytes, self._fences.flat_bytes

    def _runs(self, pages: Pages, columns: list[str]) -> Iterator[PageRun]:
        for run in neighbours(pages):
            for page in run.tolist():
                yield self._read_page(page, columns)

    def _read_page(self, page: int, columns: list[str]) -> PageRun:
        group = self._groups[page]
        file = self._files[group.file]
        checking = not self._verified[page] or not group.null_free
        needed = list(dict.fromkeys([*columns, *(self._key if checking or not columns else ())]))
        table = self._read(file, group.number, needed)
        batches = table.combine_chunks().to_batches()
        batch = batches[0] if len(batches) == 1 else pa.concat_batches(batches)
        if checking:
            keys = self._codec.encode([batch.column(name) for name in self._key])
            present = len(keys) - int(np.count_nonzero(keys.null))
            if present < len(keys):
                rows = np.flatnonzero(~keys.null)
                batch, keys = taken(batch, rows), keys.take(rows)
            self._check_rows(page, keys, [batch.column(name) for name in self._key])
            self._verified[page] = True
        reads, bytes_read = _device_work(file.metadata.row_group(group.number), needed)
        return PageRun(
            page, np.array([0, batch.num_rows], np.int64), batch.select(columns), bytes_read, reads
        )

    def _read(self, file: _File, number: int, columns: list[str]) -> pa.Table:
        # A reader of its own for each read: pyarrow's readers aren't thread-safe.
        try:
            with pq.ParquetFile(file.path, metadata=file.metadata) as reader:
                table = reader.read_row_group(number, columns=columns, use_threads=False)
            stamp = _stamp(file.path)
        except (pa.ArrowException, OSError) as error:
            raise CorruptStoreError(
                f"row group {number} of {file.path} can't be read ({error}); write the file again"
            ) from error
        if stamp != file.stamp:
            raise StoreError(f"{file.path} was replaced while this master was open; open it again")
        return table.replace_schema_metadata(None).select(columns)

    def _check_rows(self, page: int, keys: Keys, columns: list[pa.Array]) -> None:
        """That the rows ascend, from this page's fence and up to the next."""
        group = self._groups[page]
        where = f"row group {group.number} of {self._files[group.file].path}"
        if not is_sorted(keys):
            raise CorruptStoreError(f"{where} isn't in the order of {', '.join(self._key)}; {_REMEDY}")
        if len(keys) == 0:
            return
        ends = keys.take(np.array([0, len(keys) - 1]))
        left, right = search(self._keys, ends)
        # The first row must be at the fence; the last may reach the next fence but not pass it.
        if not left[0] <= page < right[0] or left[1] > page + 1:
            shown = " to ".join(key_text(columns, row) for row in (0, len(keys) - 1))
            raise CorruptStoreError(
                f"{where} has keys {shown}, which overlap those of other row groups or belie its "
                f"statistics; {_REMEDY}"
            )

    def _measured(self) -> PageLayout:
        """Encoded values grow when they become Arrow: by how much is measured on the largest row
        group, and taken for all."""
        sizes = [file.metadata.row_group(group.number) for file, group in self._located()]
        if not sizes:
            return PageLayout(0, 0, 0)
        encoded = [size.total_byte_size for size in sizes]
        largest = int(np.argmax(encoded))
        group = self._groups[largest]
        table = self._read(self._files[group.file], group.number, self._schema.names)
        growth = max(1.0, table.nbytes / max(encoded[largest], 1))
        return PageLayout(
            len(sizes), max(size.num_rows for size in sizes), int(encoded[largest] * growth) + 1
        )

    def _groups_in_order(self) -> tuple[list[RowGroup], list[list[pa.Array]]]:
        """Row groups that have a key, files ordered by their first key; and the first key of each."""
        by_file: list[tuple[list[RowGroup], list[list[pa.Array]]]] = []
        for number, file in enumerate(self._files):
            groups: list[RowGroup] = []
            firsts: list[list[pa.Array]] = []
            for at in range(file.metadata.num_row_groups):
                group = file.metadata.row_group(at)
                free = null_free(group, self._schema, self._key)
                if free and has_exact_least(group, self._schema, self._key):
                    first: list[pa.Array] | None = first_key(group, self._schema, self._key)
                elif free and group.num_rows:
                    first = self._first_row(file, at)
                else:
                    first = self._first_present(self._read(file, at, list(self._key)))
                if first is not None:
                    groups.append(RowGroup(number, at, free))
                    firsts.append(first)
            if groups:
                by_file.append((groups, firsts))
        if len(by_file) > 1:
            heads = [
                pa.concat_arrays([entry[1][0][part] for entry in by_file]) for part in range(len(self._key))
            ]
            head_keys = self._codec.encode(heads)
            rows = sorted(range(len(by_file)), key=_ranks(head_keys).__getitem__)
            by_file = [by_file[row] for row in rows]
        return [group for entry in by_file for group in entry[0]], [
            first for entry in by_file for first in entry[1]
        ]

    def _first_row(self, file: _File, number: int) -> list[pa.Array]:
        """The first key of a row group without nulls: one batch of one row is decoded."""
        with pq.ParquetFile(file.path, metadata=file.metadata) as reader:
            batches = reader.iter_batches(1, row_groups=[number], columns=list(self._key), use_threads=False)
            batch = next(iter(batches))
        return [pa.concat_arrays([batch.column(name)]) for name in self._key]

    def _first_present(self, table: pa.Table) -> list[pa.Array] | None:
        columns = (
            [pa.concat_arrays(table.column(name).chunks) for name in self._key] if table.num_rows else []
        )
        if not columns:
            return None
        present = np.flatnonzero(~self._codec.encode(columns).null)
        return [taken_array(column, present[:1]) for column in columns] if len(present) else None

    def _checked_order(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """One bit a page: its first key may be the last of the page before. Where statistics don't
        say, it may: that costs a page read, never a row."""
        continued = np.zeros(len(self._groups), np.bool_)
        for page in range(1, len(self._groups)):
            if not is_sorted(self._keys.take(np.array([page - 1, page]))):
                self._refuse(page, "begins below where")
            before = self._groups[page - 1]
            greatest = greatest_key(
                self._files[before.file].metadata.row_group(before.number), self._schema, self._key
            )
            if greatest is None:
                continued[page] = True
                continue
            last = codec_of(self._schema, self._key).encode(greatest)
            left, right = search(last, self._keys.take(np.array([page])))
            if left[0] == right[0] == 0:
                self._refuse(page, "begins below the last key where")
            continued[page] = right[0] > left[0]
        return continued

    def _refuse(self, page: int, how: str) -> None:
        group, before = self._groups[page], self._groups[page - 1]
        raise StoreError(
            f"{self._path} isn't sorted by {', '.join(self._key)}: row group {group.number} of "
            f"{self._files[group.file].path} {how} row group {before.number} of "
            f"{self._files[before.file].path} does; {_REMEDY}"
        )

    def _located(self) -> Iterator[tuple[_File, RowGroup]]:
        for group in self._groups:
            yield self._files[group.file], group


_REMEDY = "build a clustered copy of it: semistream index"


def parquet_files(path: Path) -> list[Path]:
    """The Parquet files at `path`, a file or a folder; hidden and underscored names aren't data."""
    if path.is_dir():
        found = sorted(
            file
            for file in path.rglob("*.parquet")
            if file.is_file()
            and not any(part.startswith(("_", ".")) for part in file.relative_to(path).parts)
        )
        if any("=" in part for file in found for part in file.relative_to(path).parts[:-1]):
            raise ArgumentError(
                f"{path} is partitioned into folders by value, whose columns aren't in its files; {_REMEDY}"
            )
        if not found:
            raise StoreError(f"{path} holds no .parquet file; name a folder or file that does")
        return found
    if not path.exists():
        raise StoreError(f"there is nothing at {path}; name an existing Parquet file or folder")
    return [path]


def _opened(path: Path) -> _File:
    try:
        stamp = _stamp(path)
        with pq.ParquetFile(path) as reader:
            return _File(path, reader.metadata, reader.schema_arrow.remove_metadata(), stamp)
    except (pa.ArrowException, OSError) as error:
        raise StoreError(
            f"{path} can't be read as Parquet ({error}); name a Parquet file or folder"
        ) from error


def _stamp(path: Path) -> tuple[int, int, int]:
    found = os.stat(path)
    return found.st_size, found.st_mtime_ns, found.st_ino


def _ranks(keys: Keys) -> list[int]:
    """Each row's place in key order."""
    ranks = np.empty(len(keys), np.int64)
    ranks[order(keys)] = np.arange(len(keys))
    return list(ranks.tolist())


def _device_work(group: pq.RowGroupMetaData, columns: list[str]) -> tuple[int, int]:
    """Reads and bytes of the column chunks wanted; chunks that lie end to end are one read."""
    wanted = set(columns)
    ranges = []
    for at in range(group.num_columns):
        column = group.column(at)
        if column.path_in_schema.split(".", 1)[0] in wanted or column.path_in_schema in wanted:
            begin = column.dictionary_page_offset or column.data_page_offset
            ranges.append((min(begin, column.data_page_offset), column.total_compressed_size))
    ranges.sort()
    apart = sum(begin != before + size for (before, size), (begin, _) in pairwise(ranges))
    return apart + bool(ranges), sum(size for _, size in ranges)
