"""Listeners: where a node is called, by which name, and which services it offers there. Pure.

A node has one listener or several, as Kafka's `listeners`, `advertised.listeners` and
`inter.broker.listener.name` say. Clients are answered addresses of the listener they came in by.
Nodes call each other at the internal listener's address, and only there a caller is taken for a
node (decision 0041). Listeners with a name that begins with KAFKA speak Kafka's protocol, all
others gRPC (decision 0054). Owns what a list of listeners may be; opens no socket.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tidelog.core.config_types import ValueType, is_address
from tidelog.core.errors import TidelogError

DEFAULT_NAME = "PLAINTEXT"
"""Kafka's name for the listener that is given as an address alone."""
LISTENERS_MAX = 16
NAME_CHARACTERS_MAX = 32
CLIENT, INTERNAL = "client", "internal"
GRPC, KAFKA = "grpc", "kafka"
"""Protocols of listeners, as registrations name them."""
KAFKA_PREFIX = "KAFKA"
_NAME = re.compile(rf"[A-Z][A-Z0-9_]{{0,{NAME_CHARACTERS_MAX - 1}}}")
_COMMA = re.compile(", ?")
_WILDCARDS = frozenset({"0.0.0.0", "[::]", "::"})  # refused as what others call


@dataclass(frozen=True, slots=True)
class Listener:
    """A socket of a node. `bind` and `advertised` are host:port, the second what others call."""

    name: str
    bind: str
    advertised: str
    protocol: str = GRPC
    security: str = "plaintext"
    services: frozenset[str] = frozenset({CLIENT, INTERNAL})
    """Callers served here: clients, and with INTERNAL the cluster's own nodes."""

    def __str__(self) -> str:
        """As in `listeners`."""
        return f"{self.name}://{self.bind}"

    @property
    def is_kafka(self) -> bool:
        """True where Kafka's protocol is spoken."""
        return self.protocol == KAFKA

    @property
    def is_internal(self) -> bool:
        """True where nodes call each other: Raft, the controllers, replication."""
        return INTERNAL in self.services

    @property
    def host(self) -> str:
        """Advertised; an IPv6 address without its brackets."""
        return self.advertised.rpartition(":")[0].strip("[]")

    @property
    def port(self) -> int:
        """Advertised."""
        return int(self.advertised.rpartition(":")[2])


class PortTakenError(TidelogError):
    """The listener's port is taken by another process."""

    def __init__(self, address: str) -> None:
        port = address.rpartition(":")[2]
        super().__init__(
            f"cannot listen on {address}: the port is taken; find its holder with"
            f" `ss -ltnp 'sport = :{port}'`, or choose another with listeners"
        )


def one_listener(address: str) -> tuple[Listener, ...]:
    """The only listener of a node, for clients and nodes alike, at `host:port`."""
    return (Listener(DEFAULT_NAME, bind=address, advertised=address),)


def host_and_port(host: str, port: int) -> str:
    """`host:port`; an IPv6 address in brackets."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def protocol_of(name: str) -> str:
    """Return the protocol that a listener of this name speaks."""
    return KAFKA if name.startswith(KAFKA_PREFIX) else GRPC


def grpc_listeners(of: Sequence[Listener]) -> list[Listener]:
    """Return those that speak gRPC, at least one of a node's."""
    return [one for one in of if not one.is_kafka]


def kafka_listeners(of: Sequence[Listener]) -> list[Listener]:
    """Return those that speak Kafka's protocol."""
    return [one for one in of if one.is_kafka]


def listener_list() -> ValueType:
    """Listeners by name: `NAME://host:port,...`; `host:port` is that of PLAINTEXT."""

    def parse(text: str) -> tuple[Listener, ...] | None:
        named = [_with_name(part).partition("://") for part in _COMMA.split(text)]
        if not all(_NAME.fullmatch(name) and is_address(address) for name, _, address in named):
            return None
        found = tuple(
            Listener(name, bind=where, advertised=where, protocol=protocol_of(name))
            for name, _, where in named
        )
        are_unique = len({one.name for one in found}) == len({one.bind for one in found})
        is_whole = len({one.name for one in found}) == len(found) <= LISTENERS_MAX
        return found if are_unique and is_whole else None

    rule = (
        f"host:port, or a list of at most {LISTENERS_MAX} such as CLIENT://host:port, with capital "
        "letters, each name and each address once"
    )
    return ValueType("LIST", rule, parse, (str, list))


def _with_name(part: str) -> str:
    return f"{DEFAULT_NAME}://{part}" if is_address(part) else part


def listeners_error(
    bound: Sequence[Listener], advertised: Sequence[Listener] | None, internal_name: str
) -> str | None:
    """The contradiction between the three keys, or None."""
    names = [one.name for one in bound]
    unknown = [one.name for one in advertised or () if one.name not in names]
    if unknown:
        return f"advertised.listeners names {unknown[0]}, which listeners does not"
    of_grpc = [one.name for one in grpc_listeners(bound)]
    if not of_grpc:
        return (
            "listeners needs one that speaks gRPC, such as GRPC://host:port: nodes call each other "
            f"there, and names that begin with {KAFKA_PREFIX} speak Kafka's protocol"
        )
    if internal_name not in of_grpc and (internal_name or len(of_grpc) > 1):
        return f"inter.broker.listener.name must be one of {', '.join(of_grpc)}"
    for one in combine(bound, advertised, internal_name):
        if one.host in _WILDCARDS:
            return (
                f"listener {one.name} binds every interface: advertised.listeners must say at "
                "which address it is reached"
            )
    return None


def combine(
    bound: Sequence[Listener], advertised: Sequence[Listener] | None, internal_name: str
) -> tuple[Listener, ...]:
    """The listeners of a node, the internal one of several by its name; the keys agree.

    The only one that speaks gRPC is internal without being named.
    """
    reached = {one.name: one.advertised for one in advertised or ()}
    of_grpc = grpc_listeners(bound)
    internal = of_grpc[0].name if len(of_grpc) == 1 else internal_name
    return tuple(
        replace(
            one,
            advertised=reached.get(one.name, one.advertised),
            services=frozenset({CLIENT, INTERNAL} if one.name == internal else {CLIENT}),
        )
        for one in bound
    )
