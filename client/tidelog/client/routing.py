"""Routing: keeps the cluster metadata fresh, and finds a broker that answers.

Owns the bootstrap addresses and the metadata cache, with one refresh at a time. A producer's
refresh may create the topics that a send waits for, and no others: one that was deleted stays so.
Decides nothing about records.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from tidelog.client.backoff import Backoff
from tidelog.client.cluster_metadata import ClusterMetadata, TopicView
from tidelog.client.errors import (
    BootstrapRefusedError,
    CallFailedError,
    ClientClosedError,
    TidelogError,
    UnreachableError,
)
from tidelog.client.ports import ClientPorts
from tidelog.client.records import TopicPartition
from tidelog.client.unwinding import unwind
from tidelog.v1 import common_pb2
from tidelog.v1.data_pb2 import MetadataRequest
from tidelog.v1.methods import METADATA, Method, Request, Response

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RoutingConfig:
    """The limits of metadata requests, in milliseconds."""

    allow_auto_topic_creation: bool = False
    metadata_timeout_ms: int = 2_000
    """The limit of a request to one broker, before the next is asked; shorter than a broker's
    session, so that a silent broker does not hide its successor.
    """
    overdue_ms: int = 1_000
    """A leader that is silent for this long beyond its answer's time may have been replaced. From
    then on the metadata is refreshed every `overdue_interval_ms`, until the leader answers or
    another one leads."""
    overdue_interval_ms: int = 100
    metadata_max_age_ms: int = 300_000
    metadata_max_idle_ms: int | None = None
    """A topic that was not used for so long is forgotten at the next refresh; None: never."""
    unknown_topic_grace_ms: int = 2_000
    """The time for which "unknown topic" is retried: a broker may not know a new topic yet."""
    backoff: Backoff = field(default_factory=Backoff)


def named_bootstrap(
    bootstrap: str | Sequence[str] | None, bootstrap_servers: str | Sequence[str] | None
) -> str | Sequence[str]:
    """The one that is given: `bootstrap_servers` is Kafka's name. TypeError for none or both."""
    given = bootstrap if bootstrap_servers is None else bootstrap_servers
    if given is None or None not in (bootstrap, bootstrap_servers):
        raise TypeError('name the brokers once: bootstrap="host:port,…", or bootstrap_servers=')
    return given


def parse_bootstrap(bootstrap: str | Sequence[str]) -> list[str]:
    """Parse `host:port` addresses, comma-separated or in a list. Errors: ValueError."""
    parts = bootstrap.split(",") if isinstance(bootstrap, str) else bootstrap
    addresses = list(dict.fromkeys(part.strip() for part in parts if part.strip()))
    for address in addresses:
        host, _, port = address.rpartition(":")
        if not host or not port.isdigit():
            raise ValueError(f"bootstrap address {address!r} is not host:port")
    if not addresses:
        raise ValueError("bootstrap names no address: give host:port, separated by commas")
    return addresses


class Routing:
    """The cluster as a client sees it."""

    def __init__(
        self,
        bootstrap: str | Sequence[str],
        *,
        ports: ClientPorts,
        config: RoutingConfig | None = None,
    ) -> None:
        self.metadata = ClusterMetadata()
        self.transport = ports.transport
        self.clock = ports.clock
        self.random = ports.random
        self._bootstrap = parse_bootstrap(bootstrap)
        self._config = config or RoutingConfig()
        self._preferred = self._bootstrap[0]
        self._interest: dict[str, int] = {}
        """When each topic was used last."""
        self._waiting: Counter[str] = Counter()
        """Calls of `topic` that wait for a description."""
        self._is_all_wanted = False
        self._in_use: Callable[[], Collection[str]] = tuple
        self._silent: dict[str, None] = {}
        self._failures = 0
        self._not_before_ms = self.clock.monotonic_ms()
        self._refreshing: asyncio.Task[TidelogError | None] | None = None
        self._is_closed = self._has_connected = False
        self.connections = ports.connections
        self._listener: Callable[[], None] = lambda: None

    def on_change(self, listener: Callable[[], None]) -> None:
        """Call `listener` on the loop after every refresh."""
        self._listener = listener

    def keep(self, in_use: Callable[[], Collection[str]]) -> None:
        """Forget no topic that `in_use` names when it is asked."""
        self._in_use = in_use

    async def close(self) -> None:
        """Stop the refresh in flight; its waiters get a ClientClosedError."""
        self._is_closed = True
        if self._refreshing is not None:
            await unwind([self._refreshing])

    async def call_any(
        self,
        method: Method[Request, Response],
        request: Request,
        *,
        timeout_ms: int,
        is_idempotent: bool = True,
    ) -> Response:
        """The answer of the first broker that gives one; each is asked once, for `timeout_ms`.

        Raises UnreachableError when no broker could be reached, and CallFailedError when a call
        broke: at once, or after asking the other brokers if the request `is_idempotent`. Before the
        first connection refusals by all addresses are retried for `bootstrap_timeout_ms`, and raise
        BootstrapRefusedError then.
        """
        started_ms, failures = self.clock.monotonic_ms(), 0
        while True:
            try:
                return await self._call_each(
                    method, request, timeout_ms=timeout_ms, is_idempotent=is_idempotent
                )
            except BootstrapRefusedError:
                waited_ms = self.clock.monotonic_ms() - started_ms
                if waited_ms >= self.connections.bootstrap_timeout_ms:
                    raise
                failures += 1
                await asyncio.sleep(self._config.backoff.delay_ms(failures, self.random) / 1000)

    async def _call_each(
        self,
        method: Method[Request, Response],
        request: Request,
        *,
        timeout_ms: int,
        is_idempotent: bool,
    ) -> Response:
        """See `call_any`; does not wait for a cluster that is about to start."""
        failure: TidelogError | None = None
        addresses, is_refused = self._candidates(), not self._has_connected
        for following, address in enumerate(addresses, start=1):
            try:
                response = await self.transport.call(
                    address, method, request, timeout_ms=timeout_ms
                )
            except UnreachableError as error:
                is_refused &= error.is_broken
                self._silent[address] = None
            except CallFailedError as error:
                self._has_connected, is_refused = True, False
                self._silent[address] = None
                self._preferred = addresses[following % len(addresses)]
                if not is_idempotent:
                    raise
                failure = error
            else:
                self._silent.pop(address, None)
                self._preferred = address
                self._has_connected = True
                return response
        where = ", ".join(addresses)
        if is_refused:
            raise BootstrapRefusedError(
                f"no broker answers at {where}: nobody listens there; start the cluster, or name "
                "the brokers of a running one"
            )
        raise failure or UnreachableError(f"no broker answers at {where}: is the cluster running?")

    async def call_leader(
        self,
        address: str,
        method: Method[Request, Response],
        request: Request,
        *,
        partitions: Sequence[TopicPartition],
        answer_ms: int,
        timeout_ms: int,
    ) -> Response:
        """Call the broker that leads `partitions`, whose answer may take `answer_ms`.

        Errors: those of the call and of `while_it_leads`.
        """
        call = self.transport.call(address, method, request, timeout_ms=timeout_ms)
        return await self.while_it_leads(address, call, partitions=partitions, answer_ms=answer_ms)

    async def while_it_leads(
        self,
        address: str,
        answer: Awaitable[T],
        *,
        partitions: Sequence[TopicPartition],
        answer_ms: int,
    ) -> T:
        """Await the answer of the broker that leads `partitions`, which may take `answer_ms`.

        Errors: those of `answer`, and CallFailedError once the broker is overdue and leads none of
        the partitions any more: it may be paused or cut off. `answer` is then cancelled.
        """
        config = self._config
        try:
            async with asyncio.timeout(None) as scope:
                watch = _Watch(
                    scope,
                    is_over=lambda: self._leads_none(address, partitions),
                    otherwise=self.request_refresh,
                    interval_ms=config.overdue_interval_ms,
                )
                watch.look_in(answer_ms + config.overdue_ms)
                try:
                    return await answer
                finally:
                    watch.stop()
        except TimeoutError:
            raise CallFailedError(f"{address} was silent, and other brokers lead now") from None

    def _leads_none(self, address: str, partitions: Sequence[TopicPartition]) -> bool:
        leaders = [self.metadata.leader(tp) for tp in partitions]
        return all(leader is None or leader.address != address for leader in leaders)

    def prefer_another(self) -> None:
        """Ask the next broker first from now on, since the preferred one's answer did not help."""
        ring = list(dict.fromkeys([*self.metadata.addresses, *self._bootstrap]))
        place = ring.index(self._preferred) if self._preferred in ring else -1
        self._preferred = ring[(place + 1) % len(ring)]

    def known(self, name: str) -> TopicView | None:
        """The last description of the topic; an old one is refreshed in the background.

        None: there is none, or the topic was deleted since.
        """
        view = self.metadata.topic(name)
        if view is not None and self.metadata.is_gone(name, view.topic_id):
            return None
        if view is not None:
            now_ms = self.clock.monotonic_ms()
            self._interest[name] = now_ms
            if now_ms - view.updated_ms > self._config.metadata_max_age_ms:
                self.request_refresh()
        return view

    async def topic(self, name: str, *, timeout_ms: int) -> TopicView:
        """The description of the topic, requested if it is not known yet.

        Raises the broker's error (unknown or invalid topic), UnreachableError after `timeout_ms`,
        or ClientClosedError once this is closed.
        """
        view = self.known(name)
        if view is not None:
            return view
        self._interest[name] = self.clock.monotonic_ms()
        self._waiting[name] += 1
        try:
            return await self._wait_for(name, timeout_ms)
        finally:
            self._waiting -= Counter([name])

    async def _wait_for(self, name: str, timeout_ms: int) -> TopicView:
        started_ms = self.clock.monotonic_ms()
        while True:
            error = await self._try_refresh()
            view = self.known(name)
            if view is not None:
                return view
            error = error or self.metadata.error(name)
            waited_ms = self.clock.monotonic_ms() - started_ms
            if error is not None and (waited_ms >= timeout_ms or self._is_final(error, waited_ms)):
                self._interest.pop(name, None)
                raise error

    async def topic_with(
        self, name: str, partitions: Collection[int], *, timeout_ms: int
    ) -> TopicView:
        """The description of the topic, requested again while it lacks one of `partitions`.

        They may be younger than what this client knows, and than what the broker knows that
        answers. After `unknown_topic_grace_ms` they do not exist: the description lacks them then.
        Raises as `topic`.
        """
        started_ms = self.clock.monotonic_ms()
        patience_ms = min(timeout_ms, self._config.unknown_topic_grace_ms)
        while True:
            view = await self.topic(name, timeout_ms=timeout_ms)
            waited_ms = self.clock.monotonic_ms() - started_ms
            if waited_ms >= patience_ms or all(one in view.leaders for one in partitions):
                return view
            self.request_refresh()
            await self._try_refresh()

    def request_refresh(self) -> None:
        """Request a refresh in the background; several requests share one refresh."""
        self._is_all_wanted = True
        self._begin_refresh()

    def _begin_refresh(self) -> None:
        if self._refreshing is None and self._interest and not self._is_closed:
            self._refreshing = asyncio.create_task(self._refresh())

    def _is_final(self, error: TidelogError, waited_ms: int) -> bool:
        if error.code == common_pb2.UNKNOWN_TOPIC_OR_PARTITION:
            return waited_ms >= self._config.unknown_topic_grace_ms
        return not error.is_retriable

    def _candidates(self) -> list[str]:
        """The address that answered last, then other known brokers, then the bootstrap ones.

        Addresses that did not answer their last call come after all others: a paused broker costs
        the whole time-out, which would delay the news of its successor.
        """
        known = [self._preferred, *self.metadata.addresses, *self._bootstrap]
        return sorted(dict.fromkeys(known), key=lambda address: address in self._silent)

    async def _try_refresh(self) -> TidelogError | None:
        self._begin_refresh()
        task = self._refreshing
        if task is not None:
            # Not awaited directly: its cancellation by `close` must not cancel the caller.
            await asyncio.wait([task])
        if self._is_closed:
            raise ClientClosedError("the client was closed while it asked for metadata")
        return None if task is None else task.result()

    async def _refresh(self) -> TidelogError | None:
        """Refresh what is wanted, after a pause since the last refresh; return its error.

        A broker whose answer changed nothing is not the first to be asked the next time.
        """
        try:
            pause_ms = self._not_before_ms - self.clock.monotonic_ms()
            if pause_ms > 0:
                await asyncio.sleep(pause_ms / 1000)
            before = self.metadata.leaders
            await self._ask_for_topics()
            if self.metadata.leaders == before:
                # This broker may be cut off and learn nothing for long: another may know more.
                self.prefer_another()
            self._failures = 0
        except TidelogError as error:
            self._failures += 1
            return error
        finally:
            delay_ms = self._config.backoff.delay_ms(1 + self._failures, self.random)
            self._not_before_ms = self.clock.monotonic_ms() + delay_ms
            self._refreshing = None
            self._is_all_wanted = False
            self._listener()
        return None

    async def _ask_for_topics(self) -> None:
        """Ask for those that a call waits for, which may create them; for the others if wanted."""
        self._forget_the_idle()
        created = list(self._waiting) if self._config.allow_auto_topic_creation else []
        if created:
            await self._ask(created, may_create=True)
        others = [name for name in self._interest if name not in created]
        if others and (self._is_all_wanted or not created):
            await self._ask(others, may_create=False)

    async def _ask(self, topics: list[str], *, may_create: bool) -> None:
        request = MetadataRequest(topics=topics, allow_auto_topic_creation=may_create)
        response = await self.call_any(
            METADATA, request, timeout_ms=self._config.metadata_timeout_ms
        )
        self.metadata.update(response, now_ms=self.clock.monotonic_ms())

    def _forget_the_idle(self) -> None:
        max_idle_ms = self._config.metadata_max_idle_ms
        if max_idle_ms is None:
            return
        since_ms = self.clock.monotonic_ms() - max_idle_ms
        idle = {name for name, used_ms in self._interest.items() if used_ms < since_ms}
        for name in idle.difference(self._waiting, self._in_use() if idle else ()):
            del self._interest[name]
            self.metadata.forget(name)


class _Watch:
    """Ends the wait in a scope once `is_over`; calls `otherwise` at every interval before.

    It is no nested function: one that refers to itself would live, with the scope's task and the
    answer, until the next garbage collection.
    """

    def __init__(
        self,
        scope: asyncio.Timeout,
        *,
        is_over: Callable[[], bool],
        otherwise: Callable[[], None],
        interval_ms: int,
    ) -> None:
        self._scope = scope
        self._is_over = is_over
        self._otherwise = otherwise
        self._interval_ms = interval_ms
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None

    def look_in(self, delay_ms: int) -> None:
        """Check after `delay_ms`, and at every interval from then on."""
        self._timer = self._loop.call_later(delay_ms / 1000, self._look)

    def stop(self) -> None:
        """Stop checking."""
        if self._timer is not None:
            self._timer.cancel()

    def _look(self) -> None:
        if self._is_over():
            self._scope.reschedule(self._loop.time())
            return
        self._otherwise()
        self.look_in(self._interval_ms)
