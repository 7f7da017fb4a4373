"""`master`: says what a master is and where, and opens it where it is needed.

A `Master` is small and travels to the workers; the store that it opens there doesn't.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from semistream.errors import ArgumentError, StoreError
from semistream.stores.base import Store
from semistream.stores.clustered import ClusteredStore, open_current
from semistream.stores.device import IO_MODES
from semistream.stores.heap import HeapStore
from semistream.stores.manifest import CURRENT, Manifest, read_manifest, rebuild
from semistream.stores.memory import MemoryStore
from semistream.stores.parquet import ParquetStore, parquet_files
from semistream.stores.sorting import checked_columns, checked_key, codec_of
from semistream.stores.wrapped import ProjectedStore

Lent: TypeAlias = pa.Table | pa.RecordBatch | Store

_TABLE_OPTIONS = ("page_rows",)
_PATH_OPTIONS = ("io",)
_COMING = ("postgresql", "mysql", "sqlite", "delta")
_SOURCES = (
    "a pyarrow Table or RecordBatch, an open store, or the path of a clustered copy, a heap or Parquet files"
)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Master:
    """A description of a master: picklable wherever its source is, and without data in its repr."""

    source: str | Lent
    key: tuple[str, ...]
    columns: tuple[str, ...] | None = None
    options: tuple[tuple[str, Any], ...] = ()

    def open(self) -> Store:
        """The store. An open store that was given as source comes back as it is."""
        options = dict(self.options)
        if isinstance(self.source, pa.Table | pa.RecordBatch):
            return MemoryStore(self.source, self.key, options.get("page_rows"), self.columns)
        if isinstance(self.source, str):
            store = _open_path(Path(self.source), self.key, options.get("io", "cached"))
        else:
            store = self.source
        try:
            if store.key != self.key:
                raise ArgumentError(
                    f"the master's rows are found by {', '.join(store.key)}, but key={', '.join(self.key)} "
                    "was given; give its own key, or build a copy with the other one"
                )
            if self.columns is None:
                return store
            return ProjectedStore(store, self.columns)
        except BaseException:
            if store is not self.source:
                store.close()
            raise

    @property
    def lends_store(self) -> bool:
        """Whether `open` gives a store that somebody else opened, and will close."""
        return not isinstance(self.source, pa.Table | pa.RecordBatch | str)

    def __repr__(self) -> str:
        parts = [_shown(self.source), f"key={list(self.key)!r}"]
        if self.columns is not None:
            parts.append(f"columns={list(self.columns)!r}")
        parts.extend(f"{name}={value!r}" for name, value in self.options)
        return f"master({', '.join(parts)})"


def master(
    source: str | os.PathLike[str] | Lent,
    key: str | Sequence[str],
    *,
    table: str | None = None,
    columns: Sequence[str] | None = None,
    **options: Any,
) -> Master:
    """Describe a master.

    `source` is a pyarrow Table or RecordBatch, the path of a clustered copy, of a heap or of
    Parquet files in key order, or an open store. `key` is a column or several. `columns` are those to show,
    beside the key. Options: `page_rows` for a table; `io` (cached or direct) for a copy or a heap.
    What can be checked without reading rows is checked here, where the source can be seen; the
    rest when it is opened.

    >>> master(pa.table({"id": [2, 1], "name": ["b", "a"]}), "id").open().rows
    2
    """
    names = checked_key(key)
    if table is not None:
        raise ArgumentError(
            f"table={table!r} names a table of a database; {_shown(source)} isn't one: leave it out"
        )
    lent: str | Lent
    known: tuple[str, ...] = ()
    if isinstance(source, str | os.PathLike):
        lent = os.fspath(source)
        _refuse_schemes(lent)
        known = _PATH_OPTIONS
        schema = _schema_at(Path(lent))
    elif isinstance(source, pa.Table | pa.RecordBatch):
        lent, known, schema = source, _TABLE_OPTIONS, source.schema
    elif isinstance(source, Store):
        lent, schema = source, source.schema
    else:
        raise ArgumentError(f"a {type(source).__name__} can't be a master; give {_SOURCES}")
    _check_options(options, known, lent)
    if schema is not None:
        checked_columns(schema, names, columns)
        codec_of(schema, names)
    elif isinstance(columns, str):
        raise ArgumentError(f"columns={columns!r} is one string; give a sequence of column names")
    shown = None if columns is None else tuple(columns)
    return Master(lent, names, shown, tuple(sorted(options.items())))


def _open_path(path: Path, key: tuple[str, ...], io: str) -> Store:
    if not path.exists():
        raise StoreError(f"there is nothing at {path}; give {_SOURCES}")
    if (path / CURRENT).exists():
        store: Store = (
            HeapStore.open(path, io=io)
            if _manifest(path).kind == "heap"
            else ClusteredStore.open(path, io=io)
        )
        return store
    if io != "cached":
        raise ArgumentError(
            f"io={io!r} needs a clustered copy; {path} is Parquet, which is read through the page cache"
        )
    return ParquetStore(path, key)


def _schema_at(path: Path) -> pa.Schema | None:
    """The schema, where the path can be seen from here: workers may see what a client can't."""
    if not path.exists():
        return None
    if (path / CURRENT).exists():
        return _manifest(path).schema
    first = parquet_files(path)[0]
    try:
        return pq.read_schema(first)
    except (pa.ArrowException, OSError) as error:
        raise StoreError(f"{first} can't be read as Parquet ({error}); give {_SOURCES}") from error


def _manifest(path: Path) -> Manifest:
    return open_current(path, lambda folder, seal: read_manifest(folder, seal, rebuild(path)))


def _refuse_schemes(source: str) -> None:
    scheme, _, rest = source.partition(":")
    if scheme in _COMING and (rest.startswith("//") or scheme == "delta"):
        raise ArgumentError(f"{_masked(source)}: {scheme} masters are not in this version; give {_SOURCES}")
    if re.match(r"[a-z][a-z0-9+.-]*://", source):
        raise ArgumentError(
            f"{_masked(source)}: {scheme!r} isn't a kind of master; known are "
            f"{', '.join(_COMING)} (not in this version) and {_SOURCES}"
        )


def _check_options(options: dict[str, Any], known: tuple[str, ...], source: str | Lent) -> None:
    for name in options:
        if name not in known:
            listed = ", ".join(known) if known else "none"
            raise ArgumentError(f"{name!r} isn't an option of {_shown(source)}; its options are: {listed}")
    if "io" in options and options["io"] not in IO_MODES:
        raise ArgumentError(f"io={options['io']!r} isn't known; choose one of {', '.join(IO_MODES)}")
    rows = options.get("page_rows")
    if rows is not None and (not isinstance(rows, int) or rows < 1):
        raise ArgumentError(f"page_rows={rows!r}; give the rows of a page, at least 1")


def _shown(source: object) -> str:
    """The source without its data and secrets."""
    if isinstance(source, str | os.PathLike):
        return repr(_masked(os.fspath(source)))
    if isinstance(source, pa.Table | pa.RecordBatch):
        return f"<{type(source).__name__} of {source.num_rows} rows>"
    return f"<{type(source).__name__}>"


def _masked(source: str | bytes) -> str:
    """A URL without its password and without what may hold one behind the question mark."""
    text = source if isinstance(source, str) else os.fsdecode(source)
    text = re.sub(r"(://[^/@:]*):[^@]*@", r"\1:***@", text)
    return re.sub(r"(://[^?]*)\?.*", r"\1?***", text, flags=re.DOTALL)
