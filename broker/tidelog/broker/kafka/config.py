"""Limits of listeners of Kafka's protocol, by Kafka's names. Pure."""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from dataclasses import dataclass

from tidelog.core.config_keys import declare
from tidelog.core.config_types import MAX_I32, whole_number

REQUEST_BYTES_KEY = "socket.request.max.bytes"
QUEUED_BYTES_KEY = "queued.max.request.bytes"


@dataclass(frozen=True, slots=True)
class KafkaConfig:
    """Limits; see `docs/CONFIGURATION.md`. A request fits into `queued_bytes_max`."""

    request_bytes_max: int = declare(
        16 << 20,
        # Below what the first bytes of TLS and HTTP say if they are taken for a size.
        whole_number(1 << 10, 256 << 20),
        "Maximum size of a request of Kafka's protocol; a larger one closes its connection.",
        key=REQUEST_BYTES_KEY,
    )
    queued_bytes_max: int = declare(
        64 << 20,
        whole_number(1 << 10),
        "Maximum bytes of requests of Kafka's protocol in memory, over all connections; those "
        "whose requests find no room are not read on. An address gets at most half of what others "
        "leave; an eighth is for small requests alone.",
        key=QUEUED_BYTES_KEY,
    )
    connections_max: int = declare(
        10_000,
        whole_number(1, MAX_I32),
        "Maximum connections of Kafka's protocol; further ones are closed at once, unless an idle "
        "one gives way: the longest idle of the address that has most.",
        key="max.connections",
    )
    connections_per_ip_max: int = declare(
        MAX_I32,
        whole_number(1, MAX_I32),
        "The same for connections from one address.",
        key="max.connections.per.ip",
    )
