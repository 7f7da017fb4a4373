"""Which columns meet, and which go out under which names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from semistream.errors import ArgumentError, ColumnError
from semistream.structures.answers import OutputPlan

HOWS = ("inner", "left", "left_semi", "left_anti")
On = str | Sequence[str] | Mapping[str, str] | None


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of one join, resolved against both schemas."""

    stream_key: tuple[int, ...]  # positions, in the order of the master's key
    payload: tuple[str, ...]  # master columns that are read and put out
    output: OutputPlan


def check_how(how: str) -> str:
    if how not in HOWS:
        raise ArgumentError(f"how={how!r} is not a join semistream does: choose one of {', '.join(HOWS)}")
    return how


def key_pairs(on: On, master_key: tuple[str, ...]) -> dict[str, str]:
    """Master key column -> stream column."""
    if on is None:
        return {name: name for name in master_key}
    if isinstance(on, str):
        on = [on]
    if isinstance(on, Mapping):
        pairs = {master: stream for stream, master in on.items()}
        if len(pairs) < len(on):
            raise ArgumentError(f"on={dict(on)!r} gives a master column twice: give each key column once")
    elif len(on) == len(master_key) and set(on) != set(master_key):
        raise ColumnError(
            f"on={list(on)!r} doesn't name the master's key {list(master_key)!r}: where the stream's columns "
            "are called otherwise give {stream column: master column}"
        )
    else:
        pairs = {name: name for name in on}
    if set(pairs) != set(master_key) or (not isinstance(on, Mapping) and len(on) != len(master_key)):
        raise ColumnError(
            f"on={on!r} doesn't cover the master's key {list(master_key)!r}: name every key column of the "
            "master exactly once, as {stream column: master column} where the names differ"
        )
    return pairs


def resolve(
    stream: pa.Schema,
    master: pa.Schema,
    master_key: tuple[str, ...],
    *,
    on: On = None,
    how: str = "inner",
    columns: Sequence[str] | None = None,
    suffix: str | None = None,
    status: str | None = None,
) -> Columns:
    """Find the key columns and make the output schema: the stream's columns, then the master's
    without its key, then the status."""
    check_how(how)
    pairs = key_pairs(on, master_key)
    stream_key = tuple(_position(stream, pairs[name]) for name in master_key)
    payload = _payload(master, master_key, columns) if how in ("inner", "left") else ()
    fields = list(stream)
    names = [field.name for field in fields]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ColumnError(f"the stream has columns {twice} twice: rename them before the join")
    for name in payload:
        field = master.field(name)
        if name in names:
            if suffix is None:
                raise ColumnError(
                    f"column {name!r} is in the stream and in the master: give suffix='_master' or the like, "
                    "or leave it out with columns=[...]"
                )
            field = field.with_name(name + suffix)
        if how == "left":
            field = field.with_nullable(True)
        fields.append(field)
        names.append(field.name)
    if status is not None:
        fields.append(pa.field(status, pa.string(), nullable=False))
        names.append(status)
    clash = sorted({name for name in names if names.count(name) > 1})
    if clash:
        raise ColumnError(f"the output would have columns {clash} twice: choose another suffix= or status=")
    plan = OutputPlan(
        how=how,
        schema=pa.schema(fields, metadata=stream.metadata),
        stream_columns=tuple(range(len(stream))),
        master_columns=tuple(range(len(payload))),
        status=status is not None,
    )
    return Columns(stream_key, payload, plan)


def _position(schema: pa.Schema, name: str) -> int:
    found = schema.get_all_field_indices(name)
    if len(found) != 1:
        what = "is not in the stream" if not found else "is in the stream more than once"
        raise ColumnError(
            f"key column {name!r} {what}; the stream has {schema.names}. Where names differ give "
            "on={stream column: master column}"
        )
    return int(found[0])


def _payload(master: pa.Schema, key: tuple[str, ...], columns: Sequence[str] | None) -> tuple[str, ...]:
    if columns is None:
        return tuple(name for name in master.names if name not in key)
    if isinstance(columns, str):
        columns = [columns]
    unknown = [name for name in columns if name not in master.names]
    if unknown:
        raise ColumnError(f"columns {unknown} are not in the master; it has {master.names}")
    twice = sorted({name for name in columns if list(columns).count(name) > 1})
    if twice:
        raise ColumnError(f"columns={list(columns)!r} names {twice} twice: name each once")
    # The key is in the output already, as the stream's own column.
    return tuple(name for name in columns if name not in key)
