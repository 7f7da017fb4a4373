"""Key columns of every joinable type, as 64-bit codes and order-preserving bytes.

`KeyCodec` is made from the master's key fields; its `StreamCodec` brings a stream's key columns
into the same domain, so that two rows have equal keys exactly when their encoded keys are equal.

>>> import pyarrow as pa
>>> codec = KeyCodec.of_master([pa.field("product_id", pa.int64())])
>>> stream = codec.accepts([pa.field("product", pa.uint8())])
>>> bool(codec.encode([pa.array([7])]).codes[0] == stream.encode([pa.array([7], pa.uint8())]).codes[0])
True
"""

from semistream.keys.codec import KeyCodec, StreamCodec
from semistream.keys.compare import is_sorted, order, same_as_previous, search
from semistream.keys.encoded import Keys
from semistream.keys.kernels import hash_bytes

__all__ = [
    "KeyCodec",
    "Keys",
    "StreamCodec",
    "hash_bytes",
    "is_sorted",
    "order",
    "same_as_previous",
    "search",
]
