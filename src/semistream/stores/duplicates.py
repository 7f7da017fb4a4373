"""Finding the keys that stand twice in a master, for `validate="m:1"`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from semistream.keys import KeyCodec, order, same_as_previous
from semistream.stores.base import Store


def find_duplicate_keys(store: Store, limit: int = 10) -> list[Any]:
    """Up to `limit` keys that stand twice, in the order of their pages; a composite key is a tuple.

    Scans only the key columns, and not even these where the store knows that none does. Holds one
    run of pages and the last page before it: the rows of one key are on neighbouring pages.

    >>> from semistream.stores.memory import MemoryStore
    >>> find_duplicate_keys(MemoryStore(pa.table({"id": [1, 2, 2, 3, 2]}), "id"))
    [2]
    """
    if store.unique:
        return []
    codec = KeyCodec.of_master([store.schema.field(name) for name in store.key])
    found: dict[Any, None] = {}
    before: list[pa.Array] | None = None
    for run in store.scan(store.key):
        own = [run.batch.column(name) for name in store.key]
        columns = (
            own if before is None else [pa.concat_arrays(pair) for pair in zip(before, own, strict=True)]
        )
        keys = codec.encode(columns)
        rows = order(keys)
        for row in rows[np.flatnonzero(same_as_previous(keys.take(rows)))].tolist():
            values = tuple(column[row].as_py() for column in columns)
            found[values[0] if len(values) == 1 else values] = None
            if len(found) == limit:
                return list(found)
        last_page = int(run.offsets[-2])
        # Copies: slices would keep the whole run alive.
        before = [pa.concat_arrays([column.slice(last_page)]) for column in own]
    return list(found)
