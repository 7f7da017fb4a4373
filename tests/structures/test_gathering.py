"""The kernels that `Sources` doesn't call itself."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from semistream.structures.gathering import equal_bytes, is_run
from semistream.structures.sources import Sources

KEYS = [b"", b"a", b"ab", b"abc", b"abd", b"a longer key than the others", b"a longer key than the otherz"]


def test_equal_bytes() -> None:
    rng = np.random.default_rng(3)
    sides = []
    for _ in range(2):
        sources = Sources(pa.schema([("n", pa.int16()), ("key", pa.large_binary())]))
        kept = [[KEYS[k] for k in rng.integers(0, len(KEYS), 20)] for _ in range(3)]
        for keys in kept:
            batch = pa.RecordBatch.from_pydict({"n": range(22), "key": [b"?", *keys, b"!"]}, sources.schema)
            sources.add(batch.slice(1, 20))
        numbers = rng.integers(0, 3, 400).astype(np.int32)
        rows = rng.integers(0, 20, 400)
        values = [kept[number][row] for number, row in zip(numbers, rows, strict=True)]
        sides.append((sources, numbers, rows, values))
    (left, left_numbers, left_rows, left_values), (right, right_numbers, right_rows, right_values) = sides
    expected = [a == b for a, b in zip(left_values, right_values, strict=True)]
    same = equal_bytes(
        left.column_pointers(1), left_numbers, left_rows,
        right.column_pointers(1), right_numbers, right_rows,
    )  # fmt: skip
    assert same.tolist() == expected
    assert 0 < sum(expected) < len(expected)


def test_is_run() -> None:
    one = np.full(3, 4, dtype=np.int32)
    assert is_run(one, np.arange(3))
    assert is_run(one, np.arange(7, 10))
    assert not is_run(one, np.array([0, 2, 1]))
    assert not is_run(np.array([4, 4, 5], dtype=np.int32), np.arange(3))
