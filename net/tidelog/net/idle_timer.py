"""Timer of what is ended when it is idle for too long, as by Kafka's connections.max.idle.ms.

A stream uses its connection as long as it is open: it is ended without a request in flight, and a
connection without a call.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class IdleTimer:
    """Timer that calls `expire` once `touch` was not called for `max_idle_ms`, unless `is_busy`.

    Call `touch` at each use and at each end of one: no timer runs while it is busy for longer.
    """

    def __init__(
        self, max_idle_ms: int, *, is_busy: Callable[[], bool], expire: Callable[[], object]
    ) -> None:
        self._max_idle_s = max_idle_ms / 1000
        self._is_busy = is_busy
        self._expire = expire
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._is_stopped = False
        self.touch()

    def touch(self) -> None:
        """Begin the idle time again."""
        self._used_s = self._loop.time()
        if self._timer is None and not self._is_stopped:
            self._timer = self._loop.call_later(self._max_idle_s, self._look)

    def stop(self) -> None:
        """Call `expire` no more."""
        self._is_stopped = True
        if self._timer is not None:
            self._timer.cancel()

    def _look(self) -> None:
        self._timer = None
        left_s = self._used_s + self._max_idle_s - self._loop.time()
        if self._is_busy():
            return
        if left_s > 0:
            self._timer = self._loop.call_later(left_s, self._look)
        else:
            self._expire()
