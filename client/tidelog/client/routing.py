"""Which broker to ask: keeps the cluster metadata fresh and finds a broker that answers.

Owns the bootstrap addresses, the metadata cache and its one refresh at a time. Decides nothing
about records.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from tidelog.client.backoff import Backoff
from tidelog.client.cluster_metadata import ClusterMetadata, TopicView
from tidelog.client.errors import (
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
    """Limits of metadata requests, milliseconds."""

    allow_auto_topic_creation: bool = False
    metadata_timeout_ms: int = 2_000
    """Of one broker, then the next is asked; less than a session, so that one that is silent does
    not hide its successor.
    """
    overdue_ms: int = 1_000
    """A leader silent for so long beyond its answer's time may have been replaced; from then on
    the metadata is refreshed every `overdue_interval_ms`, until it answers or leads no more."""
    overdue_interval_ms: int = 100
    metadata_max_age_ms: int = 300_000
    unknown_topic_grace_ms: int = 2_000
    """How long "unknown topic" is taken for a broker that has not heard of a new topic yet."""
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
    """The `host:port` addresses of a comma-separated string or a list; ValueError for none."""
    parts = bootstrap.split(",") if isinstance(bootstrap, str) else bootstrap
    addresses = list(dict.fromkeys(part.strip() for part in parts if part.strip()))
    for address in addresses:
        host, _, port = address.rpartition(":")
        if not host or not port.isdigit():
            raise ValueError(f"bootstrap address {address!r} is not host:port")
    if not addresses:
        raise ValueError("bootstrap names no address: give host:port, several separated by commas")
    return addresses


class Routing:
    """The cluster as one client sees it."""

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
        self._interest: dict[str, None] = {}
        self._silent: dict[str, None] = {}
        self._failures = 0
        self._not_before_ms = self.clock.monotonic_ms()
        self._refreshing: asyncio.Task[TidelogError | None] | None = None
        self._is_closed = False
        self._listener: Callable[[], None] = lambda: None

    def on_change(self, listener: Callable[[], None]) -> None:
        """Call `listener` on the loop after every refresh."""
        self._listener = listener

    async def close(self) -> None:
        """Stop the refresh under way; who waits for it gets a ClientClosedError."""
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
        """The answer of the first broker that gives one, each asked once, `timeout_ms` each.

        Raises UnreachableError when none could be reached, CallFailedError when a call broke: at
        once unless the request `is_idempotent`, else after the others were asked too.
        """
        failure: TidelogError | None = None
        addresses = self._candidates()
        for following, address in enumerate(addresses, start=1):
            try:
                response = await self.transport.call(
                    address, method, request, timeout_ms=timeout_ms
                )
            except UnreachableError:
                self._silent[address] = None
            except CallFailedError as error:
                self._silent[address] = None
                self._preferred = addresses[following % len(addresses)]
                if not is_idempotent:
                    raise
                failure = error
            else:
                self._silent.pop(address, None)
                self._preferred = address
                return response
        where = ", ".join(addresses)
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
        """The answer of the broker that leads `partitions`, which may take it `answer_ms`.

        Errors: as of the call, and those of `while_it_leads`.
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
        """What the broker that leads `partitions` answers, which may take it `answer_ms`.

        Errors: those of `answer`, and CallFailedError once the broker is overdue and leads none of
        them any more: it may be paused or cut off. `answer` is cancelled then.
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
            raise CallFailedError(f"{address} was silent, and others lead by now") from None

    def _leads_none(self, address: str, partitions: Sequence[TopicPartition]) -> bool:
        leaders = [self.metadata.leader(tp) for tp in partitions]
        return all(leader is None or leader.address != address for leader in leaders)

    def prefer_another(self) -> None:
        """Ask the next broker first from now on: the preferred one answered, but was of no help."""
        ring = list(dict.fromkeys([*self.metadata.addresses, *self._bootstrap]))
        place = ring.index(self._preferred) if self._preferred in ring else -1
        self._preferred = ring[(place + 1) % len(ring)]

    def known(self, name: str) -> TopicView | None:
        """The topic as it was described last; an old description is refreshed in the background.

        None: it never was, or was deleted since.
        """
        view = self.metadata.topic(name)
        if view is not None and self.metadata.is_gone(name, view.topic_id):
            return None
        if view is not None:
            age_ms = self.clock.monotonic_ms() - view.updated_ms
            if age_ms > self._config.metadata_max_age_ms:
                self.request_refresh()
        return view

    async def topic(self, name: str, *, timeout_ms: int) -> TopicView:
        """The topic's description, asked for when it is not known yet.

        Raises the broker's error (unknown or invalid topic), or UnreachableError after
        `timeout_ms`, ClientClosedError once this is closed.
        """
        view = self.known(name)
        if view is not None:
            return view
        self._interest[name] = None
        started_ms = self.clock.monotonic_ms()
        while True:
            error = await self._refreshed()
            view = self.known(name)
            if view is not None:
                return view
            error = error or self.metadata.error(name)
            waited_ms = self.clock.monotonic_ms() - started_ms
            if error is not None and (waited_ms >= timeout_ms or self._is_final(error, waited_ms)):
                self._interest.pop(name, None)
                raise error

    def request_refresh(self) -> None:
        """Refresh soon, in the background; several requests make one refresh."""
        if self._refreshing is None and self._interest and not self._is_closed:
            self._refreshing = asyncio.create_task(self._refresh())

    def _is_final(self, error: TidelogError, waited_ms: int) -> bool:
        if error.code == common_pb2.UNKNOWN_TOPIC_OR_PARTITION:
            return waited_ms >= self._config.unknown_topic_grace_ms
        return not error.is_retriable

    def _candidates(self) -> list[str]:
        """The address that answered last, then other known brokers, then the bootstrap ones.

        Those that did not answer when they were asked last come after all others: a paused broker
        costs the whole time-out, and its successor would be heard of that much later.
        """
        known = [self._preferred, *self.metadata.addresses, *self._bootstrap]
        return sorted(dict.fromkeys(known), key=lambda address: address in self._silent)

    async def _refreshed(self) -> TidelogError | None:
        self.request_refresh()
        task = self._refreshing
        if task is not None:
            # Not awaited itself: its cancellation by `close` is none of the caller's.
            await asyncio.wait([task])
        if self._is_closed:
            raise ClientClosedError("the client was closed while it asked for metadata")
        return None if task is None else task.result()

    async def _refresh(self) -> TidelogError | None:
        """Ask for every topic of interest, a while after the last time; returns its failure.

        Who has no news is not the first to be asked the next time.
        """
        try:
            pause_ms = self._not_before_ms - self.clock.monotonic_ms()
            if pause_ms > 0:
                await asyncio.sleep(pause_ms / 1000)
            request = MetadataRequest(
                topics=list(self._interest),
                allow_auto_topic_creation=self._config.allow_auto_topic_creation,
            )
            response = await self.call_any(
                METADATA, request, timeout_ms=self._config.metadata_timeout_ms
            )
            before = self.metadata.leaders
            self.metadata.update(response, now_ms=self.clock.monotonic_ms())
            if self.metadata.leaders == before:
                # It may be cut off and know of nothing new for long: the next one may know more.
                self.prefer_another()
            self._failures = 0
        except TidelogError as error:
            self._failures += 1
            return error
        finally:
            delay_ms = self._config.backoff.delay_ms(1 + self._failures, self.random)
            self._not_before_ms = self.clock.monotonic_ms() + delay_ms
            self._refreshing = None
            self._listener()
        return None


class _Watch:
    """Ends the wait in a scope once it is over; does something else each time it is not.

    Not a function within the wait: as one that names itself it would live, and by the scope's task
    the answer with it, until garbage is collected.
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
        """Look after so long, and every interval from then on."""
        self._timer = self._loop.call_later(delay_ms / 1000, self._look)

    def stop(self) -> None:
        """Look no more."""
        if self._timer is not None:
            self._timer.cancel()

    def _look(self) -> None:
        if self._is_over():
            self._scope.reschedule(self._loop.time())
            return
        self._otherwise()
        self.look_in(self._interval_ms)
