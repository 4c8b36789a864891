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
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, AbstractContextManager, suppress
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
from tidelog.client.loop_thread import GRACE_MS, CallerError, LoopThread, start_on_loop
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


class _AsyncClient(Protocol):
    """The common interface of Producer, Consumer and Admin."""

    async def __aenter__(self) -> object: ...

    async def __aexit__(self, *exc_info: object) -> None: ...

    async def close(self) -> None: ...


Client = TypeVar("Client", bound=_AsyncClient)
Client_co = TypeVar("Client_co", bound=_AsyncClient, covariant=True)


class _SyncClient(Generic[Client_co]):
    """A client without `await`: an asyncio object and its thread, which both end with `close`."""

    def __init__(self, make: Callable[[], Client_co]) -> None:
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
        self._leave(*exc_info)

    def start(self) -> None:
        """Start, as `with` does."""
        self._loop.run(self._client.__aenter__())

    def stop(self) -> None:
        """Close, as leaving `with` does."""
        self._leave(None, None, None)

    def _leave(self, *exc_info: object) -> None:
        def leave() -> Coroutine[Any, Any, None]:
            return self._client.__aexit__(*exc_info)

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
                    self._loop.run(close(), timeout_ms=timeout_ms + GRACE_MS)
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
            start_on_loop(wait(outcome), future)
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


def _wrap_block(
    method: Callable[[Client], AbstractAsyncContextManager[Item]],
) -> Callable[[_SyncClient[Client]], AbstractContextManager[Item]]:
    """A method that returns a plain block in place of an asynchronous one."""

    @wraps(method)
    def block(self: _SyncClient[Client], /) -> AbstractContextManager[Item]:
        return _Block(self._loop, self._loop.run(_call(lambda: method(self._client))))

    return block


class _Block(AbstractContextManager[Item]):
    def __init__(self, loop: LoopThread, block: AbstractAsyncContextManager[Item]) -> None:
        self._loop = loop
        self._block = block

    def __enter__(self) -> Item:
        return self._loop.run(self._block.__aenter__())

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool | None:
        return self._loop.run(self._block.__aexit__(exc_type, error, traceback))


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
    transaction = _wrap_block(AsyncProducer[SentKey, SentValue].transaction)
    begin_transaction = _wrap_wait(AsyncProducer[SentKey, SentValue].begin_transaction)
    commit_transaction = _wrap_wait(AsyncProducer[SentKey, SentValue].commit_transaction)
    abort_transaction = _wrap_wait(AsyncProducer[SentKey, SentValue].abort_transaction)
    hand_over_transaction = _wrap_wait(AsyncProducer[SentKey, SentValue].hand_over_transaction)
    send_offsets_to_transaction = _wrap_wait(
        AsyncProducer[SentKey, SentValue].send_offsets_to_transaction
    )


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
    unsubscribe = _wrap_wait(AsyncConsumer[ReadKey, ReadValue].unsubscribe)
    commit = _wrap_wait(AsyncConsumer[ReadKey, ReadValue].commit)
    commit_soon = _wrap_call(AsyncConsumer[ReadKey, ReadValue].commit_soon)
    committed = _wrap_wait(AsyncConsumer[ReadKey, ReadValue].committed)
    seek_to_committed = _wrap_wait(AsyncConsumer[ReadKey, ReadValue].seek_to_committed)
    group_metadata = _wrap_call(AsyncConsumer[ReadKey, ReadValue].group_metadata)
    membership_error = _wrap_call(AsyncConsumer[ReadKey, ReadValue].membership_error)
    extend_poll = _wrap_call(AsyncConsumer[ReadKey, ReadValue].extend_poll)
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
    describe_log_dirs = _wrap_wait(AsyncAdmin.describe_log_dirs)
    describe_producers = _wrap_wait(AsyncAdmin.describe_producers)
    list_groups = _wrap_wait(AsyncAdmin.list_groups)
    describe_groups = _wrap_wait(AsyncAdmin.describe_groups)
    delete_groups = _wrap_wait(AsyncAdmin.delete_groups)
    list_group_offsets = _wrap_wait(AsyncAdmin.list_group_offsets)
    alter_group_offsets = _wrap_wait(AsyncAdmin.alter_group_offsets)
    delete_group_offsets = _wrap_wait(AsyncAdmin.delete_group_offsets)
    list_transactions = _wrap_wait(AsyncAdmin.list_transactions)
    describe_transactions = _wrap_wait(AsyncAdmin.describe_transactions)
    abort_transaction = _wrap_wait(AsyncAdmin.abort_transaction)
    end_transactions = _wrap_wait(AsyncAdmin.end_transactions)
    find_hanging_transactions = _wrap_wait(AsyncAdmin.find_hanging_transactions)
    abort_hanging_transaction = _wrap_wait(AsyncAdmin.abort_hanging_transaction)
    close = _wrap_close(AsyncAdmin.close)
