"""Rows of the administration's APIs; their handlers are loaded later."""

from __future__ import annotations

from tidelog.node.kafka_apis.broker_ports import BrokerPorts
from tidelog.node.kafka_apis.loaded_later import LoadedLater
from tidelog.node.kafka_apis.served import ServedApi

CREATE_TOPICS_KEY, DELETE_TOPICS_KEY, DELETE_RECORDS_KEY, CREATE_PARTITIONS_KEY = 19, 20, 21, 37
DESCRIBE_CONFIGS_KEY, ALTER_CONFIGS_KEY, INCREMENTAL_ALTER_CONFIGS_KEY = 32, 33, 44
LIST_CONFIG_RESOURCES_KEY = 74
DESCRIBE_LOG_DIRS_KEY, DESCRIBE_PRODUCERS_KEY, DESCRIBE_TOPIC_PARTITIONS_KEY = 35, 61, 75
ELECT_LEADERS_KEY, DESCRIBE_QUORUM_KEY, DESCRIBE_CLUSTER_KEY = 43, 55, 60


def admin_rows(ports: BrokerPorts) -> tuple[ServedApi, ...]:
    """Return the rows of a broker's administration: a node without that role has none."""

    def row(key: int, last: int, module: str, name: str) -> ServedApi:
        return ServedApi(key, last, LoadedLater(module, name, ports))

    return (
        row(CREATE_TOPICS_KEY, 7, "admin_topics", "CreateTopicsHandler"),
        row(DELETE_TOPICS_KEY, 6, "admin_topics", "DeleteTopicsHandler"),
        row(CREATE_PARTITIONS_KEY, 3, "admin_topics", "CreatePartitionsHandler"),
        row(DESCRIBE_CONFIGS_KEY, 4, "admin_configs", "DescribeConfigsHandler"),
        row(ALTER_CONFIGS_KEY, 2, "admin_configs", "AlterConfigsHandler"),
        row(INCREMENTAL_ALTER_CONFIGS_KEY, 1, "admin_configs", "IncrementalAlterConfigsHandler"),
        row(LIST_CONFIG_RESOURCES_KEY, 1, "admin_configs", "ListConfigResourcesHandler"),
        row(DELETE_RECORDS_KEY, 2, "admin_records", "DeleteRecordsHandler"),
        row(ELECT_LEADERS_KEY, 2, "admin_leaders", "ElectLeadersHandler"),
        row(DESCRIBE_QUORUM_KEY, 2, "admin_quorum", "DescribeQuorumHandler"),
        row(DESCRIBE_CLUSTER_KEY, 2, "admin_cluster", "DescribeClusterHandler"),
        row(DESCRIBE_LOG_DIRS_KEY, 5, "admin_replicas", "DescribeLogDirsHandler"),
        row(DESCRIBE_PRODUCERS_KEY, 0, "admin_replicas", "DescribeProducersHandler"),
        row(
            DESCRIBE_TOPIC_PARTITIONS_KEY, 0, "admin_topic_pages", "DescribeTopicPartitionsHandler"
        ),
    )
