"""Kafka's protocol in a node: which APIs are served, by which handlers, and its limits.

Part of the composition root: `build_kafka` makes the server, and listeners hand it streams.
"""

from __future__ import annotations

from collections.abc import Callable

from tidelog.broker.kafka.server import KafkaServer, KafkaTimes
from tidelog.broker.kafka.traffic import KafkaTraffic
from tidelog.core.turns import SharedTurns
from tidelog.metadata.image import EMPTY_IMAGE
from tidelog.net.answer_budget import AnswerBudget
from tidelog.net.listeners import kafka_listeners
from tidelog.node.config import NodeConfig
from tidelog.node.kafka_apis.answer_sizes import AnswerSizes
from tidelog.node.kafka_apis.api_versions import with_api_versions
from tidelog.node.kafka_apis.broker_ports import BrokerPorts
from tidelog.node.kafka_apis.dispatch import AnswerRules, dispatch
from tidelog.node.kafka_apis.table import broker_rows


def build_kafka(
    config: NodeConfig,
    ports: BrokerPorts | None,
    *,
    answers: AnswerBudget,
    turns: SharedTurns,
    on_fatal: Callable[[BaseException], None],
) -> KafkaServer | None:
    """Build the server of a node's listeners of Kafka's protocol; None: it has none.

    `answers` have their room beside those of other listeners, and `turns` are those of the clients
    of all listeners. `ports` are None on a node that is no broker: it serves nothing but
    ApiVersions.
    """
    if not kafka_listeners(config.listeners):
        return None
    times = KafkaTimes(
        idle_ms=config.connections_max_idle_ms,
        unsent_ms=config.replica.unread.timeout_ms,
        unfinished_ms=config.unfinished.timeout_ms,
    )
    traffic = KafkaTraffic()
    rows = with_api_versions(() if ports is None else broker_rows(ports))
    sizes = AnswerSizes(
        (lambda: EMPTY_IMAGE) if ports is None else ports.image,
        None if ports is None else ports.groups.coordinator,
    )
    return KafkaServer(
        apis=dispatch(rows, traffic.note_errors, AnswerRules(answers, sizes.of_request), turns),
        config=config.kafka,
        times=times,
        on_fatal=on_fatal,
        traffic=traffic,
        answers=answers,
        is_full=lambda: ports is not None and ports.replica_manager.appender.is_full,
    )
