"""Rows of the administration's APIs; their handlers are loaded later."""

from __future__ import annotations

from tidelog.kafka.apis import APIS
from tidelog.node.kafka_apis.broker_ports import BrokerPorts
from tidelog.node.kafka_apis.loaded_later import LoadedLater
from tidelog.node.kafka_apis.served import ELEMENTS_MAX, ServedApi

ELECTED_MAX = 20_000
"""Elements of ElectLeaders, which is decided in one step: a topic for each of its partitions."""
KEYS = {api.name: key for key, api in APIS.items()}


def admin_rows(ports: BrokerPorts) -> tuple[ServedApi, ...]:
    """Return the rows of a broker's administration: a node without that role has none."""

    def row(name: str, last: int, module: str, *, elements_max: int = ELEMENTS_MAX) -> ServedApi:
        handler = LoadedLater(module, f"{name}Handler", ports)
        return ServedApi(KEYS[name], last, handler, elements_max=elements_max)

    return (
        row("CreateTopics", 7, "admin_topics"),
        row("DeleteTopics", 6, "admin_topics"),
        row("CreatePartitions", 3, "admin_topics"),
        row("DescribeConfigs", 4, "admin_configs"),
        row("AlterConfigs", 2, "admin_configs"),
        row("IncrementalAlterConfigs", 1, "admin_configs"),
        row("ListConfigResources", 1, "admin_configs"),
        row("DeleteRecords", 2, "admin_records"),
        row("ElectLeaders", 2, "admin_leaders", elements_max=ELECTED_MAX),
        row("DescribeQuorum", 2, "admin_quorum"),
        row("DescribeCluster", 2, "admin_cluster"),
        row("DescribeLogDirs", 5, "admin_replicas"),
        row("DescribeProducers", 0, "admin_replicas"),
        row("DescribeTopicPartitions", 0, "admin_topic_pages"),
    )
