"""The ports of a client: transport, clock and randomness, given by the caller or the real ones.

Who runs the program may observe its clients beside that.

Imports gRPC only for the real transport, so that programs with another transport do not need it.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Self

from tidelog.client.connections import ConnectionConfig
from tidelog.client.observer import ClientObserver, Isolation, ReaderObserver
from tidelog.core.env import Clock, Random
from tidelog.core.system import SystemClock, SystemRandom
from tidelog.net.transport import Transport

if TYPE_CHECKING:
    from tidelog.net.grpc_transport import GrpcTransport


class OutsidePorts(NamedTuple):
    """The three ports of a client, made by what runs it, and what observes the client."""

    transport: Transport
    clock: Clock
    random: Random
    observer: ClientObserver | None = None


_outside: ContextVar[Callable[[], OutsidePorts] | None] = ContextVar(
    "tidelog-client-ports", default=None
)


def give_clients(ports: Callable[[], OutsidePorts]) -> None:
    """Give these ports to clients made in this context from now on, or in tasks begun in it.

    So a program that makes its clients from a bootstrap address runs unchanged in a simulation.
    `ports` is called for each client; what the program itself gives a client goes before, but is
    observed, too.
    """
    _outside.set(ports)


@dataclass(frozen=True, slots=True)
class ClientPorts:
    """The three ports; `close` closes the transport if it was created here."""

    transport: Transport
    clock: Clock
    random: Random
    _own_transport: GrpcTransport | None
    connections: ConnectionConfig = field(default_factory=ConnectionConfig)
    observer: ClientObserver | None = None

    @classmethod
    def of(
        cls,
        *,
        transport: Transport | None,
        clock: Clock | None,
        random: Random | None,
        connections: ConnectionConfig | None = None,
    ) -> Self:
        """The given ports; in place of None those of `give_clients`, or else the real ones."""
        own, connections = None, connections or ConnectionConfig()
        outside = _outside.get()
        given = None if outside is None else outside()
        if transport is None and given is not None:
            transport = given.transport
            clock, random = clock or given.clock, random or given.random
        if transport is None:
            transport = own = _grpc_transport(connections)
        observer = None if given is None else given.observer
        clock, random = clock or SystemClock(), random or SystemRandom()
        return cls(transport, clock, random, own, connections, observer)

    def observed_reader(self, isolation_level: Isolation) -> ReaderObserver | None:
        """The observer of a new reader of this level; None: there is none."""
        observer = self.observer
        return None if observer is None else observer.reader(isolation_level=isolation_level)

    async def close(self) -> None:
        """Close the transport if it was created here; one given by the caller stays open."""
        if self._own_transport is not None:
            await self._own_transport.close()


def _grpc_transport(connections: ConnectionConfig) -> GrpcTransport:
    from tidelog.net.grpc_transport import GrpcTransport

    return GrpcTransport(
        client_id=connections.client_id, max_idle_ms=connections.connections_max_idle_ms
    )
