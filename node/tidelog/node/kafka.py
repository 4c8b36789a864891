"""Kafka's protocol in a node: which APIs are served, by which handlers, and its limits.

Part of the composition root: `build_kafka` makes the server, and listeners hand it streams.
"""

from __future__ import annotations

from collections.abc import Callable

from tidelog.broker.kafka.connection import Request
from tidelog.broker.kafka.peer import ConnectionClosedError
from tidelog.broker.kafka.server import KafkaApis, KafkaServer, KafkaTimes
from tidelog.broker.partition.appender import Appender
from tidelog.net.call import Call
from tidelog.net.listeners import kafka_listeners
from tidelog.node.config import NodeConfig


async def _refuse(_request: Request, _call: Call) -> None:
    raise ConnectionClosedError("no API of Kafka's protocol is served")


NO_APIS = KafkaApis(forms=lambda _key, _version: None, handler=_refuse)
"""Nothing is advertised: whatever comes closes its connection."""


def build_kafka(
    config: NodeConfig,
    appender: Appender | None,
    *,
    apis: KafkaApis = NO_APIS,
    on_fatal: Callable[[BaseException], None],
) -> KafkaServer | None:
    """Build the server of a node's listeners of Kafka's protocol; None: it has none."""
    if not kafka_listeners(config.listeners):
        return None
    times = KafkaTimes(
        idle_ms=config.connections_max_idle_ms,
        unsent_ms=config.replica.unread.timeout_ms,
        unfinished_ms=config.unfinished.timeout_ms,
    )
    return KafkaServer(
        apis=apis,
        config=config.kafka,
        times=times,
        on_fatal=on_fatal,
        is_full=lambda: appender is not None and appender.is_full,
    )
