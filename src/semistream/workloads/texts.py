"""Text of a fixed width that is a function of a number: what fills a row up to the size it must have.

Letters come from the words of `draws`, so that no compression makes the rows smaller than they look.
Cost: O(width) a row.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from semistream.structures.jit import kernel
from semistream.workloads.draws import word_at

LETTERS = np.frombuffer(b"abcdefghijklmnopqrstuvwxyz234567", dtype=np.uint8)
LETTERS_A_WORD = 12  # five bits each


def texts(key: np.uint64, numbers: NDArray[np.int64], width: int) -> pa.Array:
    """A text of `width` letters for each number.

    >>> texts(np.uint64(1), np.array([7, 8, 7]), 5).to_pylist()
    ['5mxrr', 'b4k3h', '5mxrr']
    """
    letters = np.empty((len(numbers), width), dtype=np.uint8)
    letters_at(key, numbers, LETTERS, letters)
    ends = np.arange(len(numbers) + 1, dtype=np.int32) * np.int32(width)
    return pa.StringArray.from_buffers(len(numbers), pa.py_buffer(ends), pa.py_buffer(letters))


@kernel
def letters_at(
    key: np.uint64, numbers: NDArray[np.int64], letters: NDArray[np.uint8], out: NDArray[np.uint8]
) -> None:
    for i in range(len(numbers)):
        own = word_at(key, np.uint64(numbers[i]))
        word = own
        for j in range(out.shape[1]):
            if j % LETTERS_A_WORD == 0:
                word = word_at(own, np.uint64(j))
            out[i, j] = letters[word & np.uint64(31)]
            word >>= np.uint64(5)
