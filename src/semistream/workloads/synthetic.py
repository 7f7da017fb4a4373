"""The papers' workload: keys by Zipf's law, a master with rows of 120 bytes, a stream with rows of 20."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from semistream.workloads.arrivals import Constant, arrivals_named
from semistream.workloads.base import Side, Workload
from semistream.workloads.keys import KeyStream, Law, Order
from semistream.workloads.masters import MasterOrder, SyntheticMaster
from semistream.workloads.streams import SCHEMA, Stream

STREAM_ROW_BYTES = 20  # key and sequence 8 each, quantity 4; a clock comes on top
QUANTITY = pa.field("quantity", pa.int32(), nullable=False)
MOST_AT_ONCE = 12


def zipf(
    *,
    master_rows: int = 2_000_000,
    stream_rows: int = 1_000_000,
    exponent: float = 1.0,
    law: Law = "exact",
    key_order: Order = "scattered",
    master_order: MasterOrder = "key",
    drift_every: int | None = None,
    drift_share: float = 0.1,
    unmatched: float = 0.0,
    nulls: float = 0.0,
    arrivals: str | None = None,
    rows_per_second: float = 1000.0,
    seed: int = 0,
) -> Workload:
    """Synthetic sales that look for their products: keys by Zipf's law, rows of the papers' sizes.

    exponent, law, key_order, drift_every, drift_share, unmatched, nulls, seed: see `KeyStream`.
    master_order: see `SyntheticMaster`.
    arrivals: gives the stream a clock, `event_time`: see `arrivals_named`. Without it a row has 20 bytes.
    rows_per_second: on average, by that clock.
    """
    keys = KeyStream(master_rows, exponent, law, key_order, seed, drift_every, drift_share, unmatched, nulls)
    clock = Constant() if arrivals is None else arrivals_named(arrivals, seed)
    return Workload(
        SyntheticMaster(keys, master_order).side(),
        sales(Stream(keys, clock, rows_per_second), clocked=arrivals is not None).first(stream_rows),
        {"key": "key"},
        in_key_order=master_order == "key",
    )


def sales(stream: Stream, *, clocked: bool = False) -> Side:
    """The stream's rows without end, with a quantity and, unless they shall have 20 bytes, their time."""
    names = [name for name in SCHEMA.names if clocked or name != "event_time"]
    schema = pa.schema([*(SCHEMA.field(name) for name in names), QUANTITY])

    def batches(batch_rows: int) -> Iterator[pa.RecordBatch]:
        at = stream.begin()
        while True:
            for batch in stream.batches(at, batch_rows, batch_rows):
                quantity = (batch["sequence"].to_numpy() % MOST_AT_ONCE + 1).astype(np.int32)
                columns = [*(batch[name] for name in names), pa.array(quantity)]
                yield pa.RecordBatch.from_arrays(columns, schema=schema)
            at = stream.after(at, batch_rows)

    return Side(schema, batches)
