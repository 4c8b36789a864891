"""Rows of the administration's APIs; their handlers are loaded later."""

from __future__ import annotations

from tidelog.node.kafka_apis.broker_ports import BrokerPorts
from tidelog.node.kafka_apis.loaded_later import LoadedLater
from tidelog.node.kafka_apis.served import ServedApi

CREATE_TOPICS, DELETE_TOPICS, DELETE_RECORDS, CREATE_PARTITIONS = 19, 20, 21, 37
DESCRIBE_CONFIGS, ALTER_CONFIGS, INCREMENTAL_ALTER_CONFIGS, LIST_CONFIG_RESOURCES = 32, 33, 44, 74
DESCRIBE_LOG_DIRS, DESCRIBE_PRODUCERS, DESCRIBE_TOPIC_PARTITIONS = 35, 61, 75
ELECT_LEADERS, DESCRIBE_QUORUM, DESCRIBE_CLUSTER = 43, 55, 60


def admin_rows(ports: BrokerPorts) -> tuple[ServedApi, ...]:
    """Return the rows of a broker's administration: a node without that role has none."""

    def row(key: int, last: int, module: str, name: str) -> ServedApi:
        return ServedApi(key, last, LoadedLater(module, name, ports))

    return (
        row(CREATE_TOPICS, 7, "admin_topics", "CreateTopicsHandler"),
        row(DELETE_TOPICS, 6, "admin_topics", "DeleteTopicsHandler"),
        row(CREATE_PARTITIONS, 3, "admin_topics", "CreatePartitionsHandler"),
        row(DESCRIBE_CONFIGS, 4, "admin_configs", "DescribeConfigsHandler"),
        row(ALTER_CONFIGS, 2, "admin_configs", "AlterConfigsHandler"),
        row(INCREMENTAL_ALTER_CONFIGS, 1, "admin_configs", "IncrementalAlterConfigsHandler"),
        row(LIST_CONFIG_RESOURCES, 1, "admin_configs", "ListConfigResourcesHandler"),
        row(DELETE_RECORDS, 2, "admin_records", "DeleteRecordsHandler"),
        row(ELECT_LEADERS, 2, "admin_leaders", "ElectLeadersHandler"),
        row(DESCRIBE_QUORUM, 2, "admin_quorum", "DescribeQuorumHandler"),
        row(DESCRIBE_CLUSTER, 2, "admin_cluster", "DescribeClusterHandler"),
        row(DESCRIBE_LOG_DIRS, 5, "admin_replicas", "DescribeLogDirsHandler"),
        row(DESCRIBE_PRODUCERS, 0, "admin_replicas", "DescribeProducersHandler"),
        row(DESCRIBE_TOPIC_PARTITIONS, 0, "admin_topic_pages", "DescribeTopicPartitionsHandler"),
    )
