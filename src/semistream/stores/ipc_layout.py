"""Where a column's buffers lie in an Arrow IPC record batch, found without parsing the batch.

`pyarrow.ipc.read_record_batch` takes 100 microseconds a page of five columns, however few rows are wanted of
it; these kernels take less than one. A message is a 32-bit mark, the metadata's length, the metadata (a
FlatBuffer: a table begins with the distance back to its vtable, which says where each field is) and the
body. Only what `ipc_files` writes is understood: record batches, uncompressed, little-endian.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from semistream.structures.addressed import POINTERS, Kind, column_of
from semistream.structures.jit import inline
from semistream.structures.memory import (
    load_int32,
    load_int64,
    load_uint8,
    load_uint16,
    load_uint32,
)

Addresses = NDArray[np.uint64]
Int64s = NDArray[np.int64]

METADATA_LINES = 10  # cache lines that the metadata of a page of a dozen columns takes
_MARK = 0xFFFFFFFF
_RECORD_BATCH = 3
# Fields by their number in the format's schema.
_HEADER_TYPE, _HEADER = 1, 2  # of a message
_LENGTH, _NODES, _BUFFERS, _COMPRESSION = 0, 1, 2, 3  # of a record batch


def places_in_batch(schema: pa.Schema, columns: list[str]) -> Int64s | None:
    """Each column's node, its first buffer and how many buffers it has; None: one can't be gathered by
    its addresses alone."""
    nodes, buffers = 0, 0
    found: dict[str, tuple[int, int, int]] = {}
    for field in schema:
        counted = _parts(field.type)
        if counted is None:
            return None
        if column_of(field.type).kind is not Kind.OTHER:
            found[field.name] = nodes, buffers, counted[1]
        nodes, buffers = nodes + counted[0], buffers + counted[1]
    if any(name not in found for name in columns):
        return None
    return np.array([found[name] for name in columns], dtype=np.int64).reshape(len(columns), 3)


def _parts(data_type: pa.DataType) -> tuple[int, int] | None:
    """Nodes and buffers of a column of this type, its children's included."""
    t = pa.types
    if t.is_null(data_type):
        return 1, 0
    if column_of(data_type).kind is not Kind.OTHER:
        return 1, 2 if column_of(data_type).kind in (Kind.FIXED, Kind.BITS) else 3
    own = 2 if t.is_list(data_type) or t.is_large_list(data_type) or t.is_map(data_type) else 1
    if own == 1 and not (t.is_struct(data_type) or t.is_fixed_size_list(data_type)):
        return None
    nodes, buffers = 1, own
    for i in range(data_type.num_fields):
        below = _parts(data_type.field(i).type)
        if below is None:
            return None
        nodes, buffers = nodes + below[0], buffers + below[1]
    return nodes, buffers


@inline
def _field(table: int, number: int) -> int:
    """Where a field of a FlatBuffer's table is; 0: it isn't there."""
    vtable = table - int(load_int32(np.uint64(table)))
    if 4 + 2 * number >= np.int64(load_uint16(np.uint64(vtable))):
        return 0
    offset = np.int64(load_uint16(np.uint64(vtable + 4 + 2 * number)))
    return 0 if offset == 0 else int(table + offset)


@inline
def _followed(place: int) -> int:
    """What a field that holds an offset points to."""
    return int(place + np.int64(load_uint32(np.uint64(place))))


@inline
def point_to_columns_of(message: np.uint64, places: Int64s, pointers: Addresses, slot: int) -> int:
    """Fill in a message's addresses, column by column (see `gathering`), as row `slot` of `pointers`;
    returns its number of rows, or -1 if it is none that is understood."""
    begin = int(np.int64(message))
    if load_uint32(np.uint64(begin)) != _MARK:
        return -1
    metadata = begin + 8
    table = _followed(metadata)
    kind, header = _field(table, _HEADER_TYPE), _field(table, _HEADER)
    if kind == 0 or header == 0 or load_uint8(np.uint64(kind)) != _RECORD_BATCH:
        return -1
    batch = _followed(header)
    length = _field(batch, _LENGTH)
    nodes, buffers = _field(batch, _NODES), _field(batch, _BUFFERS)
    if nodes == 0 or buffers == 0 or _field(batch, _COMPRESSION) != 0:
        return -1
    first_node, first_buffer = _followed(nodes) + 4, _followed(buffers) + 4
    body = metadata + np.int64(load_int32(np.uint64(begin + 4)))
    for column in range(len(places)):
        node, buffer, count = places[column, 0], places[column, 1], places[column, 2]
        at = column * POINTERS
        nulls = load_int64(np.uint64(first_node + 16 * node + 8))
        validity = load_int64(np.uint64(first_buffer + 16 * buffer))
        pointers[slot, at] = np.uint64(body + validity) if nulls else np.uint64(0)
        for k in range(1, count):
            place = load_int64(np.uint64(first_buffer + 16 * (buffer + k)))
            pointers[slot, at + 1 + k] = np.uint64(body + place)
    return 0 if length == 0 else int(load_int64(np.uint64(length)))
