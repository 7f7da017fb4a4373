"""The sinks of pipelines under fire: how each is written in a pipeline file, and read back without Spark."""

from __future__ import annotations

import datetime as dt
import sqlite3
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.servers.postgresql import Server
from tests.spark.pipeline.world import (
    QUARANTINE_SQL,
    WAREHOUSE_SQL,
    World,
    twice,
    write_csv,
    write_json,
)

Rows = list[tuple[Any, ...]]

_SINK = 'format = "parquet"\npath = "warehouse/sales"'
_COLUMNS = "sale_id, sold_at, quantity, product_key, price, supplier_id, supplier_name, total"
_QUARANTINED = "sale_id, product, sold_at, quantity, quarantine_source, quarantine_reason, quarantine_record"
_NEW_ROWS = '[new_rows]\nkey = "product_key"\n\n[columns]\n'
_BATCH = r"[0-9a-f]{8}-[0-9]{10}"


@dataclass(frozen=True)
class Warehouse:
    """A kind of sink. Nothing in it is unique: a row that is written twice is there twice."""

    kind: str
    toml: str
    files: Callable[[Path], list[str]] | None = None  # the Parquet files that count
    rows: Callable[[Path], Rows] | None = None  # of a database
    environment: Mapping[str, str] = field(default_factory=dict)


def parquet() -> Warehouse:
    def files(folder: Path) -> list[str]:
        return [str(file) for file in (folder / "warehouse/sales").glob("*/*.parquet")]

    return Warehouse("parquet", _SINK, files)


def delta() -> Warehouse:
    def files(folder: Path) -> list[str]:
        from deltalake import DeltaTable

        return list(DeltaTable(folder / "warehouse/sales").file_uris())

    return Warehouse("delta", 'format = "delta"\npath = "warehouse/sales"', files)


def sqlite() -> Warehouse:
    def rows(folder: Path) -> Rows:
        with sqlite3.connect(folder / "warehouse.db") as connection:
            found = connection.execute(f"SELECT {_COLUMNS} FROM sales").fetchall()
        return [(row[0], dt.datetime.fromisoformat(row[1]), *row[2:]) for row in found]

    return Warehouse("sqlite", 'format = "sql"\nurl = "sqlite:///warehouse.db"\ntable = "sales"', rows=rows)


def in_postgresql(server: Server, table: str, url: str | None = None) -> Warehouse:
    """Without a URL, each worker takes the password from its environment."""

    def rows(_: Path) -> Rows:
        from adbc_driver_postgresql import dbapi

        with dbapi.connect(server.url()) as connection, connection.cursor() as cursor:
            cursor.execute(f"SELECT {_COLUMNS} FROM {table}")
            found: Rows = cursor.fetchall()
            return found

    url = url or server.url("${WAREHOUSE_PASSWORD}")
    toml = f'format = "sql"\nurl = "{url}"\ntable = "{table}"'
    return Warehouse("postgresql", toml, rows=rows, environment={"WAREHOUSE_PASSWORD": server.password})


class WorldUnderFire(World):
    """Many small batches; duplicates come a batch later as well, and some records are corrupt."""

    def __init__(self, folder: Path, sink: Warehouse, sales: int = 2400, files: int = 8) -> None:
        super().__init__(folder, sales, files)
        self.sink = sink
        self._files = files
        self.edit((_SINK, sink.toml))
        if sink.files is not None:
            self.edit(("[columns]\n", _NEW_ROWS))

    def write_part(self, part: int, files: int) -> None:
        late = slice(max(0, part - 1), None, 5 * files)
        web, shop = ([*twice(sales[part::files]), *sales[late]] for sales in (self.web, self.shop))
        write_json(self.folder / "web" / f"{part}.json", web, raw=(_corrupt(part),))
        write_csv(self.folder / "shop" / f"{part}.csv", shop)

    def differences(self) -> list[str]:
        """From the oracle's answer, in words; none where each row is there once."""
        wanted = self.ask(WAREHOUSE_SQL)
        found = _difference("warehouse", self.warehouse(), wanted)
        wanted = [(*row, None) for row in self.ask(QUARANTINE_SQL)]
        wanted += [(*(None,) * 4, "web", "corrupt record", _corrupt(part)) for part in range(self._files)]
        quarantine = self.ask(f"SELECT {_QUARANTINED} FROM {self.parquet('state/quarantine')}")
        found += _difference("quarantine", quarantine, wanted)
        return found + self._wrongly_new()

    def warehouse(self) -> Rows:
        if self.sink.rows is not None:
            return self.sink.rows(self.folder)
        return self.ask(f"SELECT {_COLUMNS} FROM {self._from_files()}")

    def _wrongly_new(self) -> list[str]:
        """A product is new in all rows of its first batch, and in no other."""
        if self.sink.files is None:
            return []
        batch = f"regexp_extract(filename, '{_BATCH}')"
        first = f"{batch} = min({batch}) OVER (PARTITION BY product_key)"
        rows = f"SELECT sale_id, is_new, {first} AS first FROM {self._from_files()}"
        wrong = self.ask(f"SELECT sale_id FROM ({rows}) WHERE is_new <> first ORDER BY ALL")
        return [f"is_new is wrong in {len(wrong)} rows: sales {wrong[:3]}"] if wrong else []

    def _from_files(self) -> str:
        assert self.sink.files is not None
        files = self.sink.files(self.folder)
        return f"read_parquet({files}, hive_partitioning = false, filename = true)"


def _corrupt(part: int) -> str:
    return f'{{"sale": {part}, "product": "x'


def _difference(what: str, found: Rows, wanted: Rows) -> list[str]:
    """A row that is there twice is one too many."""
    have, want = Counter(found), Counter(wanted)
    told = {"lost": want - have, "too many": have - want}
    return [
        f"{what}: {rows.total()} rows of {len(wanted)} are {name}, such as {next(iter(rows))}"
        for name, rows in told.items()
        if rows
    ]
