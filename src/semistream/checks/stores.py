"""Every kind of store, over a folder that the caller gives: each master is written once there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from semistream.checks.data import MasterData, plain
from semistream.errors import StoreError
from semistream.stores.base import Store
from semistream.stores.clustered import ClusteredStore
from semistream.stores.clustered_build import build
from semistream.stores.heap import HeapStore
from semistream.stores.memory import MemoryStore
from semistream.stores.parquet import ParquetStore
from semistream.stores.simulated import SSD, SimulatedStore


class Stores:
    """Opens masters as stores of each kind. Files are written on first use, and stay in `folder`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._written: list[tuple[MasterData, str, Path]] = []
        self._direct_refused: str | None = None
        self._direct_tried = False

    def open(self, kind: str, master: MasterData) -> Store:
        """A fresh store of this kind."""
        return _KINDS[kind](self, master)

    def why_not(self, kind: str) -> str | None:
        """Why this kind can't be had here; None: it can."""
        if kind != "clustered_direct":
            return None
        if not self._direct_tried:
            self._direct_tried = True
            try:
                store = self.open(kind, plain())
                list(store.read([0], store.key))
                store.close()
            except StoreError as error:
                self._direct_refused = str(error)
        return self._direct_refused

    def memory(self, master: MasterData) -> Store:
        return MemoryStore(master.table, master.key, page_rows=master.page_rows)

    def clustered(self, master: MasterData) -> Store:
        return ClusteredStore.open(self._clustered_path(master))

    def clustered_direct(self, master: MasterData) -> Store:
        return ClusteredStore.open(self._clustered_path(master), io="direct")

    def parquet(self, master: MasterData) -> Store:
        path = self._path(master, "parquet", lambda path: _write_parquet(master, path))
        return ParquetStore(path, master.key)

    def heap(self, master: MasterData) -> Store:
        path = self._path(master, "heap", lambda path: _write_heap(master, path))
        return HeapStore.open(path)

    def simulated(self, master: MasterData) -> Store:
        return SimulatedStore(self.memory(master), SSD)

    def _clustered_path(self, master: MasterData) -> Path:
        return self._path(
            master,
            "clustered",
            lambda path: build(master.table, path, master.key, page_rows=master.page_rows).close(),
        )

    def _path(self, master: MasterData, kind: str, write: Callable[[Path], object]) -> Path:
        for known, its_kind, path in self._written:
            if known is master and its_kind == kind:
                return path
        path = self._folder / f"{kind}-{len(self._written)}"
        write(path)
        self._written.append((master, kind, path))
        return path


_KINDS: dict[str, Callable[[Stores, MasterData], Store]] = {
    "memory": Stores.memory,
    "clustered": Stores.clustered,
    "clustered_direct": Stores.clustered_direct,
    "parquet": Stores.parquet,
    "heap": Stores.heap,
    "simulated": Stores.simulated,
}
KINDS = tuple(_KINDS)


def _write_parquet(master: MasterData, path: Path) -> None:
    path.mkdir()
    pq.write_table(master.table, path / "rows.parquet", row_group_size=master.page_rows)


def _write_heap(master: MasterData, path: Path) -> None:
    """In an order that isn't the key's; rows of one key stay together."""
    numbers: dict[tuple[object, ...], int] = {}
    keys = zip(*(master.table.column(name).to_pylist() for name in master.key), strict=True)
    of_row = np.array([numbers.setdefault(key, len(numbers)) for key in keys])
    places = np.random.default_rng(5).permutation(len(numbers))[of_row]
    shuffled: pa.Table = master.table.take(pa.array(np.argsort(places, kind="stable")))
    HeapStore.build(shuffled, path, master.key, page_rows=master.page_rows).close()
