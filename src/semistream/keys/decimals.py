"""Decimals of any precision, scale and width as words at the master's scale, exactly.

Arrow's own cast fails the whole batch when one value does not fit; here that value is foreign.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from semistream.keys.kinds import Scaled
from semistream.keys.reading import numbers_of
from semistream.structures.jit import kernel

Words = tuple[NDArray[np.uint64], ...]

_STEP = 9  # the most decimal places whose power of ten, times a 32-bit digit, fits into 64 bits


def decimal_words(array: pa.Array, own: Scaled, master: Scaled) -> tuple[Words, NDArray[np.bool_] | None]:
    """Words, most significant first, in the order of the values; foreign where no master value equals it."""
    limbs = _limbs(array, own.stored, max(own.width, master.width) // 8)
    foreign = None
    shift = master.scale - own.scale
    if shift or own.precision > master.precision or own.width > master.width:
        foreign = np.zeros(len(array), np.bool_)
        steps = [_STEP] * (abs(shift) // _STEP) + [abs(shift) % _STEP]
        powers = np.array([10**places for places in steps if places], np.uint64)
        beyond = 10**master.precision
        digits = [beyond >> 32 * digit & 0xFFFFFFFF for digit in range(2 * limbs.shape[1])]
        limit = np.array(digits, np.uint64)
        _rescale(limbs, powers, int(shift < 0), limit, foreign.view(np.uint8))
    top = master.width // 8 - 1
    words = [np.ascontiguousarray(limbs[:, limb]) for limb in range(top, -1, -1)]
    words[0] ^= np.uint64(1 << 63)
    return tuple(words), foreign


def _limbs(array: pa.Array, stored: int, count: int) -> NDArray[np.uint64]:
    """Two's complement values as `count` 64-bit limbs a row, least significant first."""
    limbs = np.empty((len(array), count), np.uint64)
    if stored < 8:
        known = numbers_of(array, "i4").astype(np.int64).reshape(-1, 1)
    else:
        known = numbers_of(array, "i8", stored // 8).reshape(-1, stored // 8)
    signed = limbs.view(np.int64)
    signed[:, : known.shape[1]] = known
    signed[:, known.shape[1] :] = known[:, -1:] >> 63
    return limbs


@kernel
def _rescale(
    limbs: NDArray[np.uint64],
    powers: NDArray[np.uint64],
    divide: int,
    limit: NDArray[np.uint64],
    foreign: NDArray[np.uint8],
) -> None:
    """Multiply or divide every row by all `powers`; foreign where digits are lost or `limit` is reached.

    Works on the magnitude in 32-bit digits, so that no step leaves 64 bits.
    """
    low = np.uint64(0xFFFFFFFF)
    half = np.uint64(32)
    none = np.uint64(0)
    one = np.uint64(1)
    count = limbs.shape[1]
    digits = np.empty(2 * count, np.uint64)
    for row in range(limbs.shape[0]):
        negative = limbs[row, count - 1] >> np.uint64(63) == one
        carry = one
        for limb in range(count):
            value = limbs[row, limb]
            if negative:
                value = ~value + carry
                carry = one if carry == one and value == none else none
            digits[2 * limb] = value & low
            digits[2 * limb + 1] = value >> half
        lost = False
        for power in powers:
            carry = none
            if divide:
                for digit in range(2 * count - 1, -1, -1):
                    value = (carry << half) | digits[digit]
                    digits[digit] = value // power
                    carry = value - digits[digit] * power
            else:
                for digit in range(2 * count):
                    value = digits[digit] * power + carry
                    digits[digit] = value & low
                    carry = value >> half
            if carry != none:
                lost = True
                break
        highest = 2 * count - 1
        while highest > 0 and digits[highest] == limit[highest]:
            highest -= 1
        if lost or digits[highest] >= limit[highest]:
            foreign[row] = 1
            continue
        carry = one
        for limb in range(count):
            value = digits[2 * limb] | (digits[2 * limb + 1] << half)
            if negative:
                value = ~value + carry
                carry = one if carry == one and value == none else none
            limbs[row, limb] = value
