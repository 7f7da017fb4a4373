"""Batches of every kind of column, for the tests of the structures."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

PLAIN = {
    "int64": pa.int64(),
    "int32": pa.int32(),
    "int16": pa.int16(),
    "int8": pa.int8(),
    "bool": pa.bool_(),
    "double": pa.float64(),
    "decimal": pa.decimal128(20, 3),
    "bytes3": pa.binary(3),
    "string": pa.string(),
    "binary": pa.binary(),
    "large_string": pa.large_string(),
    "timestamp": pa.timestamp("us", "UTC"),
    "null": pa.null(),
}
NESTED = {
    "list": pa.list_(pa.string()),
    "large_list": pa.large_list(pa.int32()),
    "pair": pa.list_(pa.int64(), 2),
    "struct": pa.struct([("n", pa.int64()), ("text", pa.string())]),
    "map": pa.map_(pa.string(), pa.int32()),
    "dictionary": pa.dictionary(pa.int32(), pa.string()),
}
TYPES = PLAIN | NESTED

FLAT_SCHEMA = pa.schema([("id", pa.int64()), ("text", pa.string()), ("flag", pa.bool_())])
NESTED_SCHEMA = pa.schema([("id", pa.int64()), ("words", NESTED["list"]), ("colour", NESTED["dictionary"])])


def _value(name: str, rng: np.random.Generator) -> Any:
    n = int(rng.integers(0, 100))
    text = "x" * int(rng.integers(0, 12)) + str(n)
    return {
        "bool": n % 2 == 0,
        "double": n / 7,
        "decimal": Decimal(n) / 8,
        "bytes3": f"{n:03}".encode(),
        "string": text,
        "large_string": text,
        "binary": text.encode(),
        "null": None,
        "list": [text] * (n % 4),
        "large_list": list(range(n % 5)),
        "pair": [n, -n],
        "struct": {"n": n, "text": text},
        "map": [(text, n)] * (n % 3),
        "dictionary": ("red", "green", "blue")[n % 3],
    }.get(name, n)


def array(name: str, rng: np.random.Generator, rows: int, nulls: float = 0.2) -> pa.Array:
    """Random values of a type of `TYPES`, as a slice that doesn't begin where its buffers do."""
    skipped = int(rng.integers(0, 11))
    values = [None if rng.random() < nulls else _value(name, rng) for _ in range(rows + skipped + 1)]
    return pa.array(values, type=TYPES[name]).slice(skipped, rows)


def batch(schema: pa.Schema, ids: list[int], rng: np.random.Generator, longest: int = 40) -> pa.RecordBatch:
    """Compact rows of FLAT_SCHEMA or NESTED_SCHEMA whose content differs from id to id."""
    columns = []
    for field in schema:
        values: list[Any] = ids
        if field.name == "text":
            values = [f"{i}:" + "x" * int(rng.integers(0, longest)) for i in ids]
        elif field.name == "flag":
            values = [None if i % 3 == 0 else i % 2 == 0 for i in ids]
        elif field.name == "words":
            values = [[str(i), "x" * int(rng.integers(0, longest))] if i % 5 else None for i in ids]
        elif field.name == "colour":
            values = [("red", "green", "blue")[i % 3] for i in ids]
        columns.append(pa.array(values, type=field.type))
    return pa.RecordBatch.from_arrays(columns, schema=schema)
