"""Texts have their width, follow from their number, and every letter is as frequent as any other."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from semistream.workloads.draws import purpose_key
from semistream.workloads.texts import LETTERS, texts

KEY = purpose_key(1, 1)


@pytest.mark.parametrize("width", [0, 1, 11, 12, 13, 96])
def test_a_text_is_a_function_of_its_number(width: int) -> None:
    numbers = np.array([5, 1 << 40, 0, 5, 6])
    made = texts(KEY, numbers, width)
    made.validate(full=True)
    assert made.type == pa.string()
    assert [len(text) for text in made.to_pylist()] == [width] * 5
    assert made[0] == made[3]
    assert made.slice(1, 2).equals(texts(KEY, numbers[1:3], width))
    assert len(texts(KEY, numbers[:0], width)) == 0


def test_texts_of_other_numbers_and_keys_are_others() -> None:
    numbers = np.arange(10_000)
    made = texts(KEY, numbers, 12).to_pylist() + texts(purpose_key(2, 1), numbers, 12).to_pylist()
    assert len(set(made)) == 20_000


def test_every_letter_comes_alike_at_every_place() -> None:
    width, rows = 30, 20_000
    letters = np.frombuffer(texts(KEY, np.arange(rows), width).buffers()[2], np.uint8).reshape(rows, width)
    expected = rows / len(LETTERS)
    for place in range(width):
        drawn = np.bincount(letters[:, place], minlength=128)[LETTERS]
        assert drawn.sum() == rows
        chi_square = float(((drawn - expected) ** 2 / expected).sum())
        assert chi_square < 31 + 5 * (2 * 31) ** 0.5, (place, chi_square)
