"""Raw memory is read and copied as NumPy reads and copies it, aligned or not."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from semistream.structures import memory
from semistream.structures.jit import kernel

Bytes = NDArray[np.uint8]


@kernel
def load_all(data: Bytes, at: int) -> tuple[int, int, int, int, int, int]:
    address = np.uint64(data.ctypes.data + at)
    return (
        memory.load_uint8(address),
        memory.load_uint16(address),
        memory.load_int32(address),
        memory.load_uint32(address),
        memory.load_int64(address),
        memory.load_uint64(address),
    )


@kernel
def copy(source: Bytes, at: int, target: Bytes, size: int) -> None:
    memory.copy_bytes(np.uint64(target.ctypes.data), np.uint64(source.ctypes.data + at), size)


@pytest.mark.parametrize("at", range(9))
def test_loads(at: int) -> None:
    data = np.random.default_rng(at).integers(128, 256, 32).astype(np.uint8)  # negative where signed
    types = ("u1", "u2", "i4", "u4", "i8", "u8")
    expected = tuple(int(np.frombuffer(data.tobytes(), dtype=t, count=1, offset=at)[0]) for t in types)
    assert load_all(data, at) == expected


def test_copy_touches_only_what_it_should() -> None:
    source = np.arange(1, 21, dtype=np.uint8)
    target = np.zeros(8, dtype=np.uint8)
    copy(source, 3, target, 5)
    assert target.tolist() == [4, 5, 6, 7, 8, 0, 0, 0]
    copy(source, 0, target, 0)
    assert target.tolist() == [4, 5, 6, 7, 8, 0, 0, 0]
