"""Phases side by side in virtual time: two timelines, with a bounded buffer between them.

The front works on the stream piece by piece and puts misses into the buffer; it waits while they don't
fit. The page phase takes a piece when it is done with the one before, and waits while there is none:

    put(k)  = max(put(k - 1) + front(k), take(j))     j: the newest piece that has to be gone for k to fit
    take(k) = max(put(k), take(k - 1) + pages(k - 1))

So a long run takes as long as the longer phase, plus what a small buffer makes one wait for the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of the stream: what each phase takes for it, and the rows that go into the buffer."""

    front_seconds: float
    pages_seconds: float
    misses: int


def parallel_seconds(pieces: Sequence[Piece], buffer_rows: int) -> float:
    """When the last piece is answered.

    >>> parallel_seconds([Piece(1.0, 3.0, 10)] * 4, buffer_rows=100)
    13.0
    >>> parallel_seconds([Piece(3.0, 1.0, 10)] * 4, buffer_rows=100)
    13.0
    """
    put = 0.0
    end = 0.0  # of the page phase's work so far
    takes: list[float] = []
    first, waiting = 0, 0  # pieces first to k - 1 hold `waiting` rows
    for piece in pieces:
        put += piece.front_seconds
        while waiting and waiting + piece.misses > buffer_rows:
            waiting -= pieces[first].misses
            put = max(put, takes[first])
            first += 1
        waiting += piece.misses
        takes.append(max(put, end))
        end = takes[-1] + piece.pages_seconds
    return end
