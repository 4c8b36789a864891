"""An event loop in a thread of its own, for callers without one; `sync` is built on it."""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterator
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from contextvars import Context
from types import TracebackType
from typing import Any, TypeVar, TypeVarTuple, cast

from tidelog.client.errors import ClientClosedError
from tidelog.net.closed_loops import is_event_of_closed_loop

Item = TypeVar("Item")
Arguments = TypeVarTuple("Arguments")
_END = object()
GRACE_MS = 5_000
"""Further time of a close to end tasks and thread, after which they end with the process."""
_ON_ITS_THREAD = (
    "called on the loop's own thread, which would wait for itself: in a callback, do this work in "
    "another thread"
)
_NO_THREAD = (
    "the loop's thread does not run in this process, which was forked from the one that "
    "started it: create a new object here"
)


class CallerError(RuntimeError):
    """A wait would never end: on the loop's own thread, or in a process without that thread."""


class _Loop(asyncio.SelectorEventLoop):
    """An event loop that drops callbacks of other threads after its end.

    An exception in gRPC's callback would stop the events of the loop that passes them on
    (`tidelog.net.closed_loops`), so those for this one are dropped without an exception.
    """

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """See `asyncio.AbstractEventLoop`; an event for a call of a closed loop is nobody's."""
        if not is_event_of_closed_loop(context):
            super().call_exception_handler(context)

    def call_soon_threadsafe(
        self,
        callback: Callable[[*Arguments], object],
        *args: *Arguments,
        context: Context | None = None,
    ) -> asyncio.Handle:
        """See `asyncio.AbstractEventLoop`; after the loop is closed, the handle is cancelled."""
        with suppress(RuntimeError):
            return super().call_soon_threadsafe(callback, *args, context=context)
        dropped = asyncio.Handle(callback, args, self, context)
        dropped.cancel()
        return dropped


class LoopThread:
    """An event loop in a thread of its own, between `__enter__` and `__exit__`.

    It also ends when it is no longer referenced, or with the process.
    """

    def __init__(self) -> None:
        self._loop = _Loop()
        self._thread = threading.Thread(
            target=_serve, args=(self._loop,), name="tidelog-loop", daemon=True
        )
        self._lock = threading.Lock()
        self._is_closed = False
        self._end = weakref.finalize(self, _end, self._loop, self._thread)
        self._end.atexit = False

    def __enter__(self) -> LoopThread:
        self.start()
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def is_closed(self) -> bool:
        """True if the loop takes no more coroutines."""
        return self._is_closed

    @property
    def is_usable(self) -> bool:
        """True if the loop takes coroutines from this thread; false in a forked process."""
        try:
            self.check_caller()
        except CallerError:
            return False
        return not self._is_closed

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def close(self) -> None:
        """Cancel running tasks and end the thread, which is abandoned if it takes too long.

        Waits at most 5 seconds. Raises CallerError on the thread itself.
        """
        if self._thread is threading.current_thread():
            raise CallerError(_ON_ITS_THREAD)
        with self._lock:
            self._is_closed = True
        self._end()
        if self._thread.is_alive():
            self._thread.join(GRACE_MS / 1000)

    def check_caller(self) -> None:
        """Raise CallerError if a wait for the loop would never end."""
        if self._thread is threading.current_thread():
            raise CallerError(_ON_ITS_THREAD)
        if not self._is_closed and not self._thread.is_alive():
            raise CallerError(_NO_THREAD)

    def run(
        self,
        coroutine: Coroutine[Any, Any, Item],  # Any: what it may be sent
        *,
        timeout_ms: int | None = None,
    ) -> Item:
        """Wait for the coroutine's result, or raise its exception.

        Raises TimeoutError after `timeout_ms`, ClientClosedError after `close`, also when it is
        called during the wait, and CallerError. An early end of the wait, such as Ctrl-C, cancels
        the coroutine.
        """
        future: Future[Item] = Future()
        try:  # an interrupt may come as soon as the loop has the coroutine
            self._accept(coroutine, future)
            return future.result(None if timeout_ms is None else timeout_ms / 1000)
        except CancelledError:
            if self._is_closed:
                raise ClientClosedError("closed while the call was under way") from None
            raise
        finally:
            future.cancel()  # does nothing to one that is done

    def submit(self, coroutine: Coroutine[Any, Any, Item]) -> Future[Item]:
        """Run the coroutine, and return a future of its outcome; cancelling that cancels it.

        Raises ClientClosedError after `close`, and CallerError.
        """
        future: Future[Item] = Future()
        self._accept(coroutine, future)
        return future

    def iterate(self, items: AsyncIterator[Item]) -> Iterator[Item]:
        """Yield the items of an asynchronous iterator; close a generator at the end."""

        async def advance() -> Item | object:
            return await anext(items, _END)

        try:
            while (item := self.run(advance())) is not _END:
                yield cast("Item", item)  # _END is the only item of another type
        finally:
            if isinstance(items, AsyncGenerator):
                with suppress(ClientClosedError, CallerError):  # closed with its loop, then
                    self.run(items.aclose())

    def _accept(self, coroutine: Coroutine[Any, Any, Item], future: Future[Item]) -> None:
        """Pass a coroutine to the loop, or refuse it if the loop would never run it."""
        try:
            self.check_caller()
            with self._lock:
                if self._is_closed:
                    raise ClientClosedError("this object is closed: make a new one")
                self._loop.call_soon_threadsafe(start_on_loop, coroutine, future)
        except (CallerError, ClientClosedError):
            coroutine.close()
            raise


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    """Run the loop until stopped, then cancel all tasks, so that no caller waits for ever."""
    try:
        loop.run_forever()
    finally:
        loop.run_until_complete(_cancel_all())
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()


def start_on_loop(coroutine: Coroutine[Any, Any, Item], future: Future[Item]) -> None:
    """Run a coroutine as a task on the loop; task and future share their outcome."""
    loop = asyncio.get_running_loop()
    task = loop.create_task(coroutine)

    def cancel(ended: Future[Item]) -> None:
        if ended.cancelled():
            loop.call_soon_threadsafe(task.cancel)

    def notify(ended: asyncio.Task[Item]) -> None:
        if ended.cancelled():
            future.cancel()
            return
        error = ended.exception()
        if not future.set_running_or_notify_cancel():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(ended.result())

    task.add_done_callback(notify)
    future.add_done_callback(cancel)


async def _cancel_all() -> None:
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _end(loop: asyncio.AbstractEventLoop, thread: threading.Thread) -> None:
    """Stop the loop; in a fork, which lacks its thread, do nothing."""
    if thread.ident is None:
        loop.close()
    elif thread.is_alive():
        loop.call_soon_threadsafe(loop.stop)
