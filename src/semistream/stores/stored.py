"""How Arrow types lie in the files of a copy.

Pages are read alone, so nothing may need what another page holds. A dictionary would have to be
held whole by every reader: its values are stored instead, and encoded again page by page. A slice
of a string view drags all its buffers along: it is stored as a large string.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from semistream.errors import ArgumentError, StoreError

_NARROW_BITS = 16  # a dictionary of at most this index width can run out of numbers


def stored_schema(schema: pa.Schema) -> pa.Schema:
    """The schema of the files, or an `ArgumentError` naming the column that files can't hold."""
    fields = []
    for field in schema:
        plain = _stored_type(field.type, field.name)
        if plain != field.type:
            try:
                restored(stored(pa.array([], field.type), plain), field.type)
            except pa.ArrowException as error:
                raise ArgumentError(
                    f"column {field.name!r} of type {field.type} can't be cut into pages ({error}); "
                    f"cast it to {plain} first"
                ) from error
        fields.append(field.with_type(plain))
    return pa.schema(fields, metadata=schema.metadata)


def stored(array: pa.Array, plain: pa.DataType) -> pa.Array:
    """`array` as it goes to the files."""
    return array if array.type == plain else array.cast(plain)


def restored(array: pa.Array, data_type: pa.DataType) -> pa.Array:
    """`array`, from the files, as the type that the master had."""
    if array.type == data_type:
        return array
    if pa.types.is_dictionary(data_type):
        return array.dictionary_encode().cast(data_type)
    return array.cast(data_type)


def restored_batch(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """A batch from the files under the master's schema."""
    if batch.schema.equals(schema):
        return batch
    try:
        columns = [restored(column, field.type) for column, field in zip(batch.columns, schema, strict=True)]
    except pa.ArrowException as error:
        raise StoreError(
            f"a page can't be brought back to its types ({error}); build the copy again"
        ) from error
    return pa.RecordBatch.from_arrays(columns, schema=schema)


class DictionaryLimits:
    """Counts the distinct values of dictionary columns whose index is narrow, while they are written.

    Pages are read in runs, and a run may hold values of many dictionaries: together they must fit
    the index type. Holds at most 65,536 values a column.
    """

    def __init__(self, schema: pa.Schema) -> None:
        self._seen: dict[str, pa.Array] = {
            field.name: pa.array([], field.type.value_type)
            for field in schema
            if pa.types.is_dictionary(field.type) and field.type.index_type.bit_width <= _NARROW_BITS
        }

    def add(self, batch: pa.RecordBatch) -> None:
        for name, seen in self._seen.items():
            data_type = batch.schema.field(name).type
            values = pc.unique(pc.drop_null(batch.column(name).cast(data_type.value_type)))
            together = pc.unique(pa.concat_arrays([seen, values]))
            bits = data_type.index_type.bit_width
            room = 2 ** (bits if pa.types.is_unsigned_integer(data_type.index_type) else bits - 1)
            if len(together) > room:
                raise ArgumentError(
                    f"column {name!r} has over {room} distinct values, more than its index type "
                    f"{data_type.index_type} can number; cast it to dictionary<{data_type.value_type}, int32>"
                )
            self._seen[name] = together


def _stored_type(data_type: pa.DataType, column: str) -> pa.DataType:
    t = pa.types
    if t.is_dictionary(data_type):
        if data_type.ordered:
            raise ArgumentError(
                f"column {column!r} is an ordered dictionary, whose order pages can't carry; "
                f"cast it to {data_type.value_type}"
            )
        return _stored_type(data_type.value_type, column)
    if t.is_string_view(data_type):
        return pa.large_string()
    if t.is_binary_view(data_type):
        return pa.large_binary()
    if t.is_list(data_type):
        return pa.list_(_stored_field(data_type.value_field, column))
    if t.is_large_list(data_type):
        return pa.large_list(_stored_field(data_type.value_field, column))
    if t.is_fixed_size_list(data_type):
        return pa.list_(_stored_field(data_type.value_field, column), data_type.list_size)
    if t.is_map(data_type):
        return pa.map_(
            _stored_field(data_type.key_field, column), _stored_field(data_type.item_field, column)
        )
    if t.is_struct(data_type):
        return pa.struct([_stored_field(field, column) for field in data_type.fields])
    return data_type


def _stored_field(field: pa.Field, column: str) -> pa.Field:
    return field.with_type(_stored_type(field.type, column))
