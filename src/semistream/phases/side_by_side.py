"""The page phase on a thread of its own, behind a bounded intermediate buffer.

The caller's thread probes the front and hands misses over; the page thread queues them, loads, and
hands batches back. Either waits when its buffer is full, so that memory stays bounded whoever is
the faster. An error on the page thread is raised in the caller's next call.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from threading import Condition, Thread
from typing import Protocol

import pyarrow as pa

from semistream.phases.arrivals import Misses

Batches = Iterator[pa.RecordBatch]
MOST_BATCHES_OUT = 1  # finished and not yet taken: the page thread holds one more in its hands


class PageWork(Protocol):
    """What the page thread does."""

    def take_in(self, misses: Misses) -> Batches: ...

    def flush(self) -> Batches: ...


class _Stopped(Exception):
    """The join is being closed while the page thread works."""


class PageThread:
    """Runs page work on another thread; the other methods are the caller's."""

    def __init__(self, work: PageWork, most_bytes: int, hold: Callable[[int], None]) -> None:
        self._work = work
        self._most_bytes = most_bytes
        self._hold = hold
        self._changed = Condition()
        self._inbox: deque[Misses] = deque()
        self._inbox_bytes = 0
        self._in_hand = 0
        self._outbox: deque[pa.RecordBatch] = deque()
        self._request: Callable[[], Batches] | None = None
        self._busy = False
        self._stopping = False
        self._error: BaseException | None = None
        self._thread = Thread(target=self._run, name="semistream-pages", daemon=True)
        self._thread.start()

    @property
    def waiting_rows(self) -> int:
        """Rows handed over that the page work has not taken in yet."""
        with self._changed:
            return self._in_hand + sum(len(misses) for misses in self._inbox)

    @property
    def quiet(self) -> bool:
        """Whether the page thread rests and nothing is on its way to it."""
        with self._changed:
            return not self._busy and not self._inbox

    def hand_over(self, misses: Misses) -> Batches:
        """Put misses into the buffer; yields what comes back while there is no room for them."""
        if not len(misses):
            return
        size = misses.batch.get_total_buffer_size() + 16 * len(misses)
        while True:
            with self._changed:
                self._changed.wait_for(lambda: bool(self._outbox) or self._room_for(size) or self._failed)
                self._raise_error()
                if not self._outbox:
                    self._inbox.append(misses)
                    self._inbox_bytes += size
                    self._hold(self._inbox_bytes)
                    self._changed.notify_all()
                    return
                batch = self._outbox.popleft()
                self._changed.notify_all()
            yield batch

    def finished(self) -> Batches:
        """What has come back by now, without waiting."""
        while True:
            with self._changed:
                self._raise_error()
                if not self._outbox:
                    return
                batch = self._outbox.popleft()
                self._changed.notify_all()
            yield batch

    def ask(self, request: Callable[[], Batches]) -> Batches:
        """Have the page thread do this once its buffer is empty; yields all until it is done."""
        with self._changed:
            self._raise_error()
            self._request = request
            self._changed.notify_all()
        while True:
            with self._changed:
                self._changed.wait_for(lambda: bool(self._outbox) or self._done or self._failed)
                self._raise_error()
                if not self._outbox:
                    return
                batch = self._outbox.popleft()
                self._changed.notify_all()
            yield batch

    def stop(self) -> None:
        """End the thread, whatever it is doing."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
        self._thread.join()
        self._inbox.clear()
        self._outbox.clear()

    def leave_if_stopping(self) -> None:
        """For the page work to call between loads: a close waits for no more than the one under way."""
        if self._stopping:
            raise _Stopped

    # -- both threads, holding the lock ---------------------------------------------------------

    @property
    def _failed(self) -> bool:
        return self._error is not None

    @property
    def _done(self) -> bool:
        return not self._busy and not self._inbox and self._request is None

    def _room_for(self, size: int) -> bool:
        return not self._inbox or self._inbox_bytes + size <= self._most_bytes

    def _raise_error(self) -> None:
        if self._error is not None:
            raise self._error

    # -- the page thread ------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            while True:
                batches = self._next_job()
                if batches is None:
                    return
                for batch in batches:
                    self._hand_back(batch)
                with self._changed:
                    self._busy = False
                    self._in_hand = 0
                    self._changed.notify_all()
        except _Stopped:
            pass
        except BaseException as error:  # raised again in the caller's thread
            with self._changed:
                self._error = error
                self._changed.notify_all()

    def _next_job(self) -> Batches | None:
        with self._changed:
            self._changed.wait_for(lambda: self._stopping or bool(self._inbox) or self._request is not None)
            if self._stopping:
                return None
            self._busy = True
            if self._inbox:
                misses = self._inbox.popleft()
                size = misses.batch.get_total_buffer_size() + 16 * len(misses)
                self._inbox_bytes -= size
                self._hold(self._inbox_bytes)
                self._in_hand = len(misses)
                self._changed.notify_all()
                return self._take_in(misses, last=not self._inbox)
            request, self._request = self._request, None
            assert request is not None
            return request()

    def _take_in(self, misses: Misses, *, last: bool) -> Batches:
        yield from self._work.take_in(misses)
        if last:
            yield from self._work.flush()

    def _hand_back(self, batch: pa.RecordBatch) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._stopping or len(self._outbox) < MOST_BATCHES_OUT)
            if self._stopping:
                raise _Stopped
            self._outbox.append(batch)
            self._changed.notify_all()
