"""Producer, Consumer and Admin for callers without an event loop: scripts, notebooks, threads.

Owns the thread that the asyncio classes run in, one per object; decides nothing. Each method is the
one of `tidelog.client` with its arguments, wrapped by the helper that fits its return type, and
waits for the outcome: `tests/client/test_sync.py` shows which line to add for a new method.

    with Producer("127.0.0.1:9192") as producer:
        producer.send("greetings", value=b"hello")

Every method may be called from any thread. Ctrl-C during a call cancels its operation, and leaves
the object usable. All methods raise ClientClosedError after `close`, and CallerError when the
answer could never arrive: on the loop's own thread, or in a fork of the process.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
import weakref
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterator
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from contextvars import Context
from functools import wraps
from types import TracebackType
from typing import (
    Any,
    Concatenate,
    Generic,
    ParamSpec,
    Protocol,
    Self,
    TypeVar,
    TypeVarTuple,
    cast,
    get_origin,
)

from tidelog.client.admin import Admin as AsyncAdmin
from tidelog.client.consuming.consumer import Consumer as AsyncConsumer
from tidelog.client.errors import ClientClosedError
from tidelog.client.producing.producer import Producer as AsyncProducer
from tidelog.client.producing.serializers import K as SentKey
from tidelog.client.producing.serializers import V as SentValue
from tidelog.client.records import K as ReadKey
from tidelog.client.records import V as ReadValue

__all__ = ["Admin", "CallerError", "Consumer", "LoopThread", "Producer"]

Item = TypeVar("Item")
P = ParamSpec("P")
Arguments = TypeVarTuple("Arguments")

CLOSE_TIMEOUT_MS = 30_000
"""The limit of a close without `timeout_ms`."""
_GRACE_MS = 5_000
"""Further time of a close to end tasks and thread, after which they end with the process."""
_END = object()
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

    gRPC has one completion queue for all loops of a process: the loop that takes an event from the
    queue passes it to the loop of its call. An exception there would stop the events of the passing
    loop, and print a traceback.
    """

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
            self._thread.join(_GRACE_MS / 1000)

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
                self._loop.call_soon_threadsafe(_start, coroutine, future)
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


def _start(coroutine: Coroutine[Any, Any, Item], future: Future[Item]) -> None:
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


class _AsyncClient(Protocol):
    """The common interface of Producer, Consumer and Admin."""

    async def __aenter__(self) -> object: ...

    async def __aexit__(self, *exc_info: object) -> None: ...

    async def close(self) -> None: ...


Client = TypeVar("Client", bound=_AsyncClient)


class _SyncClient(Generic[Client]):
    """A client without `await`: an asyncio object and its thread, which both end with `close`."""

    def __init__(self, make: Callable[[], Client]) -> None:
        self._loop = LoopThread()
        self._closing = threading.RLock()  # a signal's handler may close, too
        self._loop.start()
        try:
            self._client = self._loop.run(_call(make))
        except BaseException:
            self._loop.close()
            raise

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start, as `with` does."""
        self._loop.run(self._client.__aenter__())

    def stop(self) -> None:
        """Close, as leaving `with` does."""

        def leave() -> Coroutine[Any, Any, None]:
            return self._client.__aexit__(None, None, None)

        timeout_ms = getattr(self._client, "close_timeout_ms", CLOSE_TIMEOUT_MS)
        self._close(leave, timeout_ms=timeout_ms)

    def _close(self, close: Callable[[], Coroutine[Any, Any, None]], *, timeout_ms: int) -> None:
        """Close the asyncio object, then the thread, whether or not the first ended in time."""
        self._loop.check_caller()
        with self._closing:
            if self._loop.is_closed:
                return
            try:
                with suppress(TimeoutError):
                    self._loop.run(close(), timeout_ms=timeout_ms + _GRACE_MS)
            finally:
                self._loop.close()


async def _call(function: Callable[[], Item]) -> Item:
    return function()


def _wrap_init(
    client_type: Callable[P, Client],
) -> Callable[[Callable[..., None]], Callable[Concatenate[_SyncClient[Client], P], None]]:
    """A constructor with the arguments of the asyncio class."""

    def replace(
        _declared: Callable[..., None],
    ) -> Callable[Concatenate[_SyncClient[Client], P], None]:
        # A class with type arguments is an alias, whose origin is the class.
        @wraps(vars(get_origin(client_type) or client_type)["__init__"])
        def build(self: _SyncClient[Client], /, *args: P.args, **kwargs: P.kwargs) -> None:
            _SyncClient.__init__(self, lambda: client_type(*args, **kwargs))

        return build

    return replace


def _wrap_wait(
    method: Callable[Concatenate[Client, P], Coroutine[Any, Any, Item]],
) -> Callable[Concatenate[_SyncClient[Client], P], Item]:
    """A method that waits for the result of a coroutine method."""

    @wraps(method)
    def wait(self: _SyncClient[Client], /, *args: P.args, **kwargs: P.kwargs) -> Item:
        return self._loop.run(method(self._client, *args, **kwargs))

    return wait


def _wrap_call(
    method: Callable[Concatenate[Client, P], Item],
) -> Callable[Concatenate[_SyncClient[Client], P], Item]:
    """A plain method, called on the loop: only the loop's thread uses the asyncio object."""

    @wraps(method)
    def call(self: _SyncClient[Client], /, *args: P.args, **kwargs: P.kwargs) -> Item:
        return self._loop.run(_call(lambda: method(self._client, *args, **kwargs)))

    return call


def _wrap_submit(
    method: Callable[Concatenate[Client, P], Coroutine[Any, Any, asyncio.Future[Item]]],
) -> Callable[Concatenate[_SyncClient[Client], P], Future[Item]]:
    """A coroutine method that returns a future: one that threads can wait for."""

    @wraps(method)
    def submit(self: _SyncClient[Client], /, *args: P.args, **kwargs: P.kwargs) -> Future[Item]:
        async def start() -> Future[Item]:
            outcome = await method(self._client, *args, **kwargs)
            future: Future[Item] = Future()
            _start(wait(outcome), future)
            return future

        async def wait(outcome: asyncio.Future[Item]) -> Item:
            try:
                return await outcome
            except asyncio.CancelledError:
                if self._loop.is_closed:  # `self` keeps the thread alive until then
                    raise ClientClosedError("closed before the outcome was known") from None
                raise

        return self._loop.run(start())

    signature = inspect.signature(method)
    returned = str(signature.return_annotation).replace("asyncio.Future", "Future")
    vars(submit)["__signature__"] = signature.replace(return_annotation=returned)
    return submit


def _wrap_iterator(
    method: Callable[Concatenate[Client, P], AsyncIterator[Item]],
) -> Callable[Concatenate[_SyncClient[Client], P], Iterator[Item]]:
    """A method that returns a plain iterator in place of an asynchronous one."""

    @wraps(method)
    def iterate(self: _SyncClient[Client], /, *args: P.args, **kwargs: P.kwargs) -> Iterator[Item]:
        items = self._loop.run(_call(lambda: method(self._client, *args, **kwargs)))
        return self._loop.iterate(items)

    return iterate


def _wrap_close(
    method: Callable[Concatenate[Client, P], Coroutine[Any, Any, None]],
) -> Callable[Concatenate[_SyncClient[Client], P], None]:
    """The `close` method: also ends the thread, soon after `timeout_ms` at the latest."""

    @wraps(method)
    def close(self: _SyncClient[Client], /, *args: P.args, **kwargs: P.kwargs) -> None:
        timeout_ms = cast("int", kwargs.get("timeout_ms", CLOSE_TIMEOUT_MS))  # as declared there
        self._close(lambda: method(self._client, *args, **kwargs), timeout_ms=timeout_ms)

    return close


class Producer(_SyncClient[AsyncProducer[SentKey, SentValue]], Generic[SentKey, SentValue]):
    """`tidelog.client.Producer` without `await`; `submit` returns a concurrent.futures.Future.

    Every call changes threads twice: `send_many` and `submit` are the fast methods.
    """

    @_wrap_init(AsyncProducer[SentKey, SentValue])
    def __init__(self) -> None: ...

    send = _wrap_wait(AsyncProducer[SentKey, SentValue].send)
    submit = _wrap_submit(AsyncProducer[SentKey, SentValue].submit)
    send_many = _wrap_wait(AsyncProducer[SentKey, SentValue].send_many)
    submit_many = _wrap_submit(AsyncProducer[SentKey, SentValue].submit_many)
    flush = _wrap_wait(AsyncProducer[SentKey, SentValue].flush)
    close = _wrap_close(AsyncProducer[SentKey, SentValue].close)
    partitions_for = _wrap_wait(AsyncProducer[SentKey, SentValue].partitions_for)


class Consumer(_SyncClient[AsyncConsumer[ReadKey, ReadValue]], Generic[ReadKey, ReadValue]):
    """`tidelog.client.Consumer` without `await`: `for record in consumer`, or by `getmany`.

    Iterating changes threads for each record, so that the position is always that of the last one;
    `getmany` changes threads once per call.
    """

    @_wrap_init(AsyncConsumer[ReadKey, ReadValue])
    def __init__(self) -> None: ...

    # An alias with type arguments forwards every method of its class except dunder methods.
    __iter__ = _wrap_iterator(
        cast("type[AsyncConsumer[ReadKey, ReadValue]]", AsyncConsumer).__aiter__
    )
    assign = _wrap_call(AsyncConsumer[ReadKey, ReadValue].assign)
    subscribe = _wrap_wait(AsyncConsumer[ReadKey, ReadValue].subscribe)
    assignment = _wrap_call(AsyncConsumer[ReadKey, ReadValue].assignment)
    pause = _wrap_call(AsyncConsumer[ReadKey, ReadValue].pause)
    resume = _wrap_call(AsyncConsumer[ReadKey, ReadValue].resume)
    paused = _wrap_call(AsyncConsumer[ReadKey, ReadValue].paused)
    seek = _wrap_call(AsyncConsumer[ReadKey, ReadValue].seek)
    seek_to_beginning = _wrap_call(AsyncConsumer[ReadKey, ReadValue].seek_to_beginning)
    seek_to_end = _wrap_call(AsyncConsumer[ReadKey, ReadValue].seek_to_end)
    seek_to_time = _wrap_wait(AsyncConsumer[ReadKey, ReadValue].seek_to_time)
    tail = _wrap_wait(AsyncConsumer[ReadKey, ReadValue].tail)
    position = _wrap_wait(AsyncConsumer[ReadKey, ReadValue].position)
    lag = _wrap_wait(AsyncConsumer[ReadKey, ReadValue].lag)
    partitions_for = _wrap_wait(AsyncConsumer[ReadKey, ReadValue].partitions_for)
    beginning_offsets = _wrap_wait(AsyncConsumer[ReadKey, ReadValue].beginning_offsets)
    end_offsets = _wrap_wait(AsyncConsumer[ReadKey, ReadValue].end_offsets)
    offsets_for_times = _wrap_wait(AsyncConsumer[ReadKey, ReadValue].offsets_for_times)
    getmany = _wrap_wait(AsyncConsumer[ReadKey, ReadValue].getmany)
    getbatches = _wrap_wait(AsyncConsumer[ReadKey, ReadValue].getbatches)
    close = _wrap_close(AsyncConsumer[ReadKey, ReadValue].close)


class Admin(_SyncClient[AsyncAdmin]):
    """`tidelog.client.Admin` without `await`."""

    @_wrap_init(AsyncAdmin)
    def __init__(self) -> None: ...

    create_topic = _wrap_wait(AsyncAdmin.create_topic)
    create_topics = _wrap_wait(AsyncAdmin.create_topics)
    delete_topic = _wrap_wait(AsyncAdmin.delete_topic)
    delete_topics = _wrap_wait(AsyncAdmin.delete_topics)
    create_partitions = _wrap_wait(AsyncAdmin.create_partitions)
    list_topics = _wrap_wait(AsyncAdmin.list_topics)
    describe_topic = _wrap_wait(AsyncAdmin.describe_topic)
    describe_topics = _wrap_wait(AsyncAdmin.describe_topics)
    describe_cluster = _wrap_wait(AsyncAdmin.describe_cluster)
    describe_quorum = _wrap_wait(AsyncAdmin.describe_quorum)
    describe_node = _wrap_wait(AsyncAdmin.describe_node)
    prepare_stop = _wrap_wait(AsyncAdmin.prepare_stop)
    list_events = _wrap_wait(AsyncAdmin.list_events)
    describe_configs = _wrap_wait(AsyncAdmin.describe_configs)
    alter_configs = _wrap_wait(AsyncAdmin.alter_configs)
    elect_leaders = _wrap_wait(AsyncAdmin.elect_leaders)
    list_offsets = _wrap_wait(AsyncAdmin.list_offsets)
    delete_records = _wrap_wait(AsyncAdmin.delete_records)
    close = _wrap_close(AsyncAdmin.close)
