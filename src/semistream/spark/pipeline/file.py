"""A pipeline file: what stands in it, as plain values. What only Spark can know is checked by `building`.

Paths are relative to the file's folder, so that a pipeline finds its checkpoint wherever it is started.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from semistream.algorithms import names as algorithms
from semistream.budget import parse_memory
from semistream.errors import ArgumentError, PipelineError
from semistream.join import DEFAULT_ALGORITHM
from semistream.spark.pipeline.places import Place, Table

HOWS = ("left", "inner", "left_semi", "left_anti")
UNMATCHED = ("keep", "drop", "quarantine")
SINKS = {"parquet": ("path",), "delta": ("path",), "sql": ("url", "table", "key", "latest")}
INTERNAL = "__semistream"
AVAILABLE_NOW = "available_now"
_INTERVAL = re.compile(r"\d+ (millisecond|second|minute|hour|day)s?")
_TABLES = (
    "pipeline",
    "source",
    "dedupe",
    "lookup",
    "new_rows",
    "columns",
    "sink",
    "quarantine",
)
_ARRAYS = ("source", "lookup")


@dataclass(frozen=True, slots=True)
class Source:
    place: Place
    name: str
    format: str
    path: str | None
    schema: str | None
    options: Mapping[str, Any]
    columns: Mapping[str, str]  # name: expression over the source's own columns; empty: they are as they come


@dataclass(frozen=True, slots=True)
class Dedupe:
    place: Place
    columns: tuple[str, ...]
    watermark: str  # the column of event time
    delay: str


@dataclass(frozen=True, slots=True)
class LookupTable:
    place: Place
    name: str
    master: str
    key: tuple[str, ...]
    on: tuple[str, ...] | Mapping[str, str] | None
    how: str
    unmatched: str
    columns: tuple[str, ...] | None
    suffix: str | None
    replaces: tuple[str, ...]
    source: str | None  # only this source's rows are looked up
    status: str | None
    validate: str | None
    algorithm: str
    options: Mapping[str, Any]

    @property
    def pairs(self) -> dict[str, str]:
        """Stream column: master column. One name beside a key of one column is the stream's."""
        if isinstance(self.on, Mapping):
            return dict(self.on)
        if self.on is not None and len(self.on) == len(self.key) == 1:
            return {self.on[0]: self.key[0]}
        return {name: name for name in (self.on or self.key)}


@dataclass(frozen=True, slots=True)
class NewRows:
    place: Place
    key: tuple[str, ...]
    column: str


@dataclass(frozen=True, slots=True)
class SinkTable:
    place: Place
    format: str
    path: str
    url: str
    table: str
    key: tuple[str, ...]
    latest: str | None
    columns: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class Quarantine:
    place: Place
    path: str


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A whole file."""

    file: str
    name: str
    checkpoint: str
    trigger: str | None
    memory: int | str
    sources: tuple[Source, ...]
    dedupe: Dedupe | None
    lookups: tuple[LookupTable, ...]
    new_rows: NewRows | None
    columns: Mapping[str, str]
    sink: SinkTable
    quarantine: Quarantine | None

    def place(self, table: str) -> Place:
        return Place(self.file, table)


def read_pipeline(path: str | os.PathLike[str]) -> Pipeline:
    """The pipeline in a file, or an error that names file, table and key."""
    file = Path(path)
    try:
        found = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise PipelineError(
            f"{file} can't be read ({error.strerror}): give the path of a pipeline file"
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise PipelineError(f"{file} is no TOML: {error}") from None
    return _pipeline(str(file), file.absolute().parent, found)


def _pipeline(file: str, folder: Path, found: dict[str, Any]) -> Pipeline:
    top = Table(Place(file, "the file"), found)
    for name in _TABLES:
        value, kind = found.get(name), list if name in _ARRAYS else dict
        if value is not None and not isinstance(value, kind):
            written = f"[[{name}]]" if name in _ARRAYS else f"[{name}]"
            raise top.place.error(name, f"is written {written}")
    top.knows(_TABLES)
    top.done()
    head = _table(file, found, "pipeline")
    called, checkpoint = head.text_or("name", None), _path(folder, head.text("checkpoint"))
    trigger, memory = _trigger(head), head.size("memory", "64MiB")
    try:
        parse_memory(memory)
    except ArgumentError as error:
        raise head.place.error("memory", str(error)) from None
    head.done()
    sources = _sources(file, folder, found)
    quarantine = _quarantine(file, folder, found)
    lookups = _lookups(file, folder, found, [source.name for source in sources], quarantine is not None)
    return Pipeline(
        file=file,
        name=called or Path(file).stem,
        checkpoint=checkpoint,
        trigger=trigger,
        memory=memory,
        sources=sources,
        dedupe=_dedupe(file, found),
        lookups=lookups,
        new_rows=_new_rows(file, found),
        columns=top.named_pairs("columns"),
        sink=_sink(file, folder, found),
        quarantine=quarantine,
    )


def _trigger(head: Table) -> str | None:
    trigger = head.text_or("trigger", None)
    if trigger is not None and trigger != AVAILABLE_NOW and not _INTERVAL.fullmatch(trigger):
        raise head.place.error(
            "trigger", f"{trigger!r} isn't known: give an interval such as '2 seconds', or '{AVAILABLE_NOW}'"
        )
    return trigger


def _sources(file: str, folder: Path, found: dict[str, Any]) -> tuple[Source, ...]:
    sources = []
    for table in _tables(file, found, "source"):
        path = table.text_or("path", None)
        sources.append(
            Source(
                place=table.place,
                name=table.text("name"),
                format=table.text("format"),
                path=None if path is None else _path(folder, path),
                schema=table.text_or("schema", None),
                options=table.options("options"),
                columns=table.pairs("columns"),
            )
        )
        table.done()
    _refuse_twice(sources)
    return tuple(sources)


def _dedupe(file: str, found: dict[str, Any]) -> Dedupe | None:
    if "dedupe" not in found:
        return None
    table = _table(file, found, "dedupe")
    columns, watermark = table.some_names("columns"), table.below("watermark")
    dedupe = Dedupe(table.place, columns, watermark.text("column"), watermark.text("delay"))
    watermark.done()
    table.done()
    return dedupe


def _lookups(
    file: str, folder: Path, found: dict[str, Any], sources: list[str], quarantined: bool
) -> tuple[LookupTable, ...]:
    lookups = []
    for table in _tables(file, found, "lookup"):
        how = table.choice("how", HOWS, "left")
        source = table.text_or("source", None)
        if source is not None and source not in sources:
            raise table.place.error(
                "source", f"{source!r} is no source: there is {', '.join(map(repr, sources))}"
            )
        lookups.append(
            LookupTable(
                place=table.place,
                name=table.text("name"),
                master=_path(folder, table.secret_text("master")),
                key=table.some_names("key"),
                on=table.names_or_pairs("on"),
                how=how,
                unmatched=_unmatched(table, how, quarantined),
                columns=table.names("columns"),
                suffix=table.text_or("suffix", None),
                replaces=table.names("replaces") or (),
                source=source,
                status=table.text_or("status", None),
                validate=table.choice("validate", ("m:1",), "m:1") if table.has("validate") else None,
                algorithm=table.choice("algorithm", algorithms(), DEFAULT_ALGORITHM),
                options=table.options("options"),
            )
        )
        if source is not None and how in ("left_semi", "left_anti"):
            raise table.place.error(
                "how", f"{how!r} concerns all rows: a lookup of one source is left or inner"
            )
        table.done()
    _refuse_twice(lookups)
    return tuple(lookups)


def _unmatched(table: Table, how: str, quarantined: bool) -> str:
    """What becomes of rows without a match; `how` alone says it where nothing else does."""
    if how in ("left_semi", "left_anti"):
        table.not_here(["unmatched"], f"says nothing beside how = {how!r}, which is about just that")
        if quarantined:
            raise table.place.error(
                "how", f"{how!r} would drop rows that are on their way to [quarantine]: give left or inner"
            )
        return "keep"
    unmatched = table.choice("unmatched", UNMATCHED, "drop" if how == "inner" else "keep")
    if how == "inner" and unmatched == "keep":
        raise table.place.error("unmatched", "'keep' contradicts how = 'inner': give how = 'left'")
    if unmatched == "quarantine" and not quarantined:
        raise table.place.error("unmatched", "'quarantine' needs the table [quarantine] with a path")
    return unmatched


def _new_rows(file: str, found: dict[str, Any]) -> NewRows | None:
    if "new_rows" not in found:
        return None
    table = _table(file, found, "new_rows")
    new_rows = NewRows(table.place, table.some_names("key"), table.text_or("column", None) or "is_new")
    table.done()
    return new_rows


def _sink(file: str, folder: Path, found: dict[str, Any]) -> SinkTable:
    table = _table(file, found, "sink")
    kind = table.choice("format", tuple(SINKS))
    for other, keys in SINKS.items():
        table.not_here(
            [key for key in keys if key not in SINKS[kind]],
            f"is for a sink of format {other!r}, not {kind!r}",
        )
    is_sql = kind == "sql"
    url = table.secret_text("url") if is_sql else ""
    sink = SinkTable(
        place=table.place,
        format=kind,
        path="" if is_sql else _path(folder, table.text("path")),
        url=_sqlite_path(folder, url),
        table=table.text("table") if is_sql else "",
        key=(table.names("key") or ()) if is_sql else (),
        latest=table.text_or("latest", None) if is_sql else None,
        columns=table.names("columns"),
    )
    if sink.latest is not None and not sink.key:
        raise table.place.error("latest", "says which row of a key wins, and there is no key: give key too")
    table.done()
    return sink


def _quarantine(file: str, folder: Path, found: dict[str, Any]) -> Quarantine | None:
    if "quarantine" not in found:
        return None
    table = _table(file, found, "quarantine")
    quarantine = Quarantine(table.place, _path(folder, table.text("path")))
    table.done()
    return quarantine


def _table(file: str, found: dict[str, Any], name: str) -> Table:
    place = Place(file, f"[{name}]")
    if name not in found:
        raise PipelineError(f"{file}: the table [{name}] is missing")
    return Table(place, found[name])


def _tables(file: str, found: dict[str, Any], name: str) -> list[Table]:
    """The tables of an array, each with its number and its name in its place."""
    values = found.get(name, [])
    if not values and name == "source":
        raise PipelineError(f"{file}: the table [[{name}]] is missing: give at least one")
    tables = []
    for number, value in enumerate(values, start=1):
        if not isinstance(value, dict):
            raise PipelineError(f"{file}, [[{name}]] {number}: is no table")
        called = value.get("name")
        shown = f' "{called}"' if isinstance(called, str) else ""
        tables.append(Table(Place(file, f"[[{name}]] {number}{shown}"), value))
    return tables


def _refuse_twice(named: list[Source] | list[LookupTable]) -> None:
    seen: set[str] = set()
    for one in named:
        if one.name in seen:
            raise one.place.error("name", "is taken by another one: give each its own")
        seen.add(one.name)


def _path(folder: Path, path: str) -> str:
    """A path relative to the file's folder; a URL, or what may hold a secret, as it is."""
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", path) or "${" in path:
        return path
    return os.path.normpath(folder / path)


def _sqlite_path(folder: Path, url: str) -> str:
    prefix = "sqlite:///"
    return prefix + _path(folder, url.removeprefix(prefix)) if url.startswith(prefix) else url
