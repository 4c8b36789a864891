"""Endpoints of brokers: what a registration names, and what the image keeps of it. Pure."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tidelog.net.listeners import (
    KAFKA,
    LISTENERS_MAX,
    NAME_CHARACTERS_MAX,
    Listener,
    host_and_port,
)
from tidelog.v1.common_pb2 import BrokerEndpoint

HOST_CHARACTERS_MAX = 255
WORD_CHARACTERS_MAX = 32
"""A protocol, or how connections are secured."""
PORT_MAX = 65_535


@dataclass(frozen=True, slots=True)
class EndpointImage:
    """An address that a broker advertises, of one of its listeners."""

    listener: str
    host: str
    port: int
    protocol: str
    security: str
    is_internal: bool

    @property
    def address(self) -> str:
        """host:port."""
        return host_and_port(self.host, self.port)


def endpoints_of(listeners: Iterable[Listener]) -> list[BrokerEndpoint]:
    """A broker's listeners as its registration names them."""
    return [
        BrokerEndpoint(
            listener=one.name,
            host=one.host,
            port=one.port,
            protocol=one.protocol,
            security=one.security,
            internal=one.is_internal,
        )
        for one in listeners
    ]


def images_of(endpoints: Iterable[BrokerEndpoint]) -> tuple[EndpointImage, ...]:
    """Return the endpoints of a record."""
    return tuple(
        EndpointImage(
            listener=one.listener,
            host=one.host,
            port=one.port,
            protocol=one.protocol,
            security=one.security,
            is_internal=one.internal,
        )
        for one in endpoints
    )


def records_of(endpoints: Iterable[EndpointImage]) -> list[BrokerEndpoint]:
    """The reverse of `images_of`."""
    return [
        BrokerEndpoint(
            listener=one.listener,
            host=one.host,
            port=one.port,
            protocol=one.protocol,
            security=one.security,
            internal=one.is_internal,
        )
        for one in endpoints
    ]


def are_well_formed(endpoints: Iterable[BrokerEndpoint]) -> bool:
    """True if a broker may register with these; `ENDPOINTS_RULE` says it in words."""
    given = list(endpoints)
    return (
        len({one.listener for one in given}) == len(given) <= LISTENERS_MAX
        and [one.protocol == KAFKA for one in given if one.internal] == [False]
        and all(_is_well_formed(one) for one in given)
    )


ENDPOINTS_RULE = (
    f"1 to {LISTENERS_MAX} endpoints, one of them internal and of gRPC, each with a listener's "
    f"name of at most {NAME_CHARACTERS_MAX} characters that no other has, a host of at most "
    f"{HOST_CHARACTERS_MAX} characters and a port"
)


def _is_well_formed(one: BrokerEndpoint) -> bool:
    return (
        0 < len(one.listener) <= NAME_CHARACTERS_MAX
        and 0 < len(one.host) <= HOST_CHARACTERS_MAX
        and 0 < one.port <= PORT_MAX
        and max(len(one.protocol), len(one.security)) <= WORD_CHARACTERS_MAX
    )
