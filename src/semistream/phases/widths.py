"""How wide a stream row is, known from its schema or from a sample."""

from __future__ import annotations

import pyarrow as pa

from semistream.structures.sizes import row_sizes

LIKELY_VARYING = 24  # bytes of a string or a list that nobody has seen yet


def least_row_bytes(schema: pa.Schema) -> int:
    """Bytes of a row whose strings and lists are empty."""
    return _row_bytes(schema, 0)


def likely_row_bytes(schema: pa.Schema) -> int:
    """Bytes of a row of which only the types are known."""
    return _row_bytes(schema, LIKELY_VARYING)


def _row_bytes(schema: pa.Schema, varying: int) -> int:
    total = 0
    for field in schema:
        try:
            total += max(1, field.type.bit_width // 8)
        except ValueError:  # a type without a width: its offsets
            total += 8 + varying
    return total


def average_row_bytes(sample: pa.RecordBatch) -> int:
    if not sample.num_rows:
        return 0
    return int(row_sizes(sample).mean()) + 1
