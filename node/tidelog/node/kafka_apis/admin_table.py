"""Rows of the administration's APIs."""

from __future__ import annotations

from tidelog.node.kafka_apis.admin_configs import (
    AlterConfigsHandler,
    DescribeConfigsHandler,
    IncrementalAlterConfigsHandler,
    ListConfigResourcesHandler,
)
from tidelog.node.kafka_apis.admin_topics import (
    CreatePartitionsHandler,
    CreateTopicsHandler,
    DeleteTopicsHandler,
)
from tidelog.node.kafka_apis.broker_ports import BrokerPorts
from tidelog.node.kafka_apis.served import ServedApi

CREATE_TOPICS, DELETE_TOPICS, CREATE_PARTITIONS = 19, 20, 37
DESCRIBE_CONFIGS, ALTER_CONFIGS, INCREMENTAL_ALTER_CONFIGS, LIST_CONFIG_RESOURCES = 32, 33, 44, 74


def admin_rows(ports: BrokerPorts) -> tuple[ServedApi, ...]:
    """Return the rows of a broker's administration; any broker serves them all."""
    return (
        ServedApi(CREATE_TOPICS, 7, CreateTopicsHandler(ports)),
        ServedApi(DELETE_TOPICS, 6, DeleteTopicsHandler(ports)),
        ServedApi(CREATE_PARTITIONS, 3, CreatePartitionsHandler(ports)),
        ServedApi(DESCRIBE_CONFIGS, 4, DescribeConfigsHandler(ports)),
        ServedApi(ALTER_CONFIGS, 2, AlterConfigsHandler(ports)),
        ServedApi(INCREMENTAL_ALTER_CONFIGS, 1, IncrementalAlterConfigsHandler(ports)),
        ServedApi(LIST_CONFIG_RESOURCES, 1, ListConfigResourcesHandler(ports)),
    )
