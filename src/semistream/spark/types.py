"""Arrow types as Spark has them: what a master's column becomes in a DataFrame.

Spark has no unsigned integers, no dictionaries and no nanoseconds. A column is widened where nothing is
lost (uint8 becomes short, a dictionary its values, an unsigned long decimal(20, 0)); nanoseconds become
microseconds, and a value between two of them fails when it is met.
"""

from __future__ import annotations

import pyarrow as pa

from semistream.errors import SchemaError

_WIDENED = {
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
    pa.float16(): pa.float32(),
    pa.date64(): pa.date32(),
    pa.large_string(): pa.string(),
    pa.string_view(): pa.string(),
    pa.large_binary(): pa.binary(),
    pa.binary_view(): pa.binary(),
    pa.time32("s"): pa.time64("ns"),
    pa.time32("ms"): pa.time64("ns"),
    pa.time64("us"): pa.time64("ns"),
}
MOST_DIGITS = 38


def spark_arrow_type(data_type: pa.DataType, column: str) -> pa.DataType:
    """The Arrow type that Spark exchanges for a column of this type.

    >>> spark_arrow_type(pa.dictionary(pa.int8(), pa.large_string()), "name")
    DataType(string)
    """
    t = pa.types
    if data_type in _WIDENED:
        return _WIDENED[data_type]
    if t.is_dictionary(data_type):
        return spark_arrow_type(data_type.value_type, column)
    if t.is_timestamp(data_type):
        return pa.timestamp("us", tz=data_type.tz)
    if t.is_duration(data_type):
        return pa.duration("us")
    if t.is_fixed_size_binary(data_type):
        return pa.binary()
    if t.is_decimal(data_type):
        if data_type.precision > MOST_DIGITS:
            raise SchemaError(
                f"the master's column {column!r} is {data_type}, and Spark's decimals end at {MOST_DIGITS} "
                "digits: cast it in the master, or leave it out with columns=[...]"
            )
        return pa.decimal128(data_type.precision, data_type.scale)
    if t.is_map(data_type):
        key = spark_arrow_type(data_type.key_type, column)
        item = pa.field("value", spark_arrow_type(data_type.item_type, column), data_type.item_field.nullable)
        return pa.map_(pa.field("key", key, nullable=False), item)
    if t.is_list(data_type) or t.is_large_list(data_type) or t.is_fixed_size_list(data_type):
        below = data_type.value_field
        return pa.list_(pa.field("element", spark_arrow_type(below.type, column), below.nullable))
    if t.is_struct(data_type):
        return pa.struct([field.with_type(spark_arrow_type(field.type, column)) for field in data_type])
    if data_type == pa.month_day_nano_interval():
        raise _unknown(data_type, column)
    if t.is_primitive(data_type) or t.is_string(data_type) or t.is_binary(data_type) or t.is_null(data_type):
        return data_type
    raise _unknown(data_type, column)


def _unknown(data_type: pa.DataType, column: str) -> SchemaError:
    return SchemaError(
        f"the master's column {column!r} is {data_type}, which Spark has no type for: cast it in the master, "
        "or leave it out with columns=[...]"
    )
