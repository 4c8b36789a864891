"""Rows of the administration's APIs."""

from __future__ import annotations

from tidelog.kafka.messages.alter_configs_request import AlterConfigsRequest
from tidelog.kafka.messages.create_partitions_request import CreatePartitionsRequest
from tidelog.kafka.messages.create_topics_request import CreateTopicsRequest
from tidelog.kafka.messages.delete_records_request import DeleteRecordsRequest
from tidelog.kafka.messages.delete_topics_request import DeleteTopicsRequest
from tidelog.kafka.messages.describe_cluster_request import DescribeClusterRequest
from tidelog.kafka.messages.describe_configs_request import DescribeConfigsRequest
from tidelog.kafka.messages.describe_log_dirs_request import DescribeLogDirsRequest
from tidelog.kafka.messages.describe_producers_request import DescribeProducersRequest
from tidelog.kafka.messages.describe_quorum_request import DescribeQuorumRequest
from tidelog.kafka.messages.describe_topic_partitions_request import DescribeTopicPartitionsRequest
from tidelog.kafka.messages.elect_leaders_request import ElectLeadersRequest
from tidelog.kafka.messages.incremental_alter_configs_request import IncrementalAlterConfigsRequest
from tidelog.kafka.messages.list_config_resources_request import ListConfigResourcesRequest
from tidelog.node.kafka_apis.admin_cluster import DescribeClusterHandler
from tidelog.node.kafka_apis.admin_configs import (
    AlterConfigsHandler,
    DescribeConfigsHandler,
    IncrementalAlterConfigsHandler,
    ListConfigResourcesHandler,
)
from tidelog.node.kafka_apis.admin_leaders import ElectLeadersHandler
from tidelog.node.kafka_apis.admin_quorum import DescribeQuorumHandler
from tidelog.node.kafka_apis.admin_records import DeleteRecordsHandler
from tidelog.node.kafka_apis.admin_replicas import (
    DescribeLogDirsHandler,
    DescribeProducersHandler,
)
from tidelog.node.kafka_apis.admin_topic_pages import DescribeTopicPartitionsHandler
from tidelog.node.kafka_apis.admin_topics import (
    CreatePartitionsHandler,
    CreateTopicsHandler,
    DeleteTopicsHandler,
)
from tidelog.node.kafka_apis.broker_ports import BrokerPorts
from tidelog.node.kafka_apis.served import ServedApi


def admin_rows(ports: BrokerPorts) -> tuple[ServedApi, ...]:
    """Return the rows of a broker's administration: a node without that role has none."""
    return (
        ServedApi(CreateTopicsRequest.API_KEY, 7, CreateTopicsHandler(ports)),
        ServedApi(DeleteTopicsRequest.API_KEY, 6, DeleteTopicsHandler(ports)),
        ServedApi(CreatePartitionsRequest.API_KEY, 3, CreatePartitionsHandler(ports)),
        ServedApi(DescribeConfigsRequest.API_KEY, 4, DescribeConfigsHandler(ports)),
        ServedApi(AlterConfigsRequest.API_KEY, 2, AlterConfigsHandler(ports)),
        ServedApi(IncrementalAlterConfigsRequest.API_KEY, 1, IncrementalAlterConfigsHandler(ports)),
        ServedApi(ListConfigResourcesRequest.API_KEY, 1, ListConfigResourcesHandler(ports)),
        ServedApi(DeleteRecordsRequest.API_KEY, 2, DeleteRecordsHandler(ports)),
        ServedApi(ElectLeadersRequest.API_KEY, 2, ElectLeadersHandler(ports)),
        ServedApi(DescribeQuorumRequest.API_KEY, 2, DescribeQuorumHandler(ports)),
        ServedApi(DescribeClusterRequest.API_KEY, 2, DescribeClusterHandler(ports)),
        ServedApi(DescribeLogDirsRequest.API_KEY, 5, DescribeLogDirsHandler(ports)),
        ServedApi(DescribeProducersRequest.API_KEY, 0, DescribeProducersHandler(ports)),
        ServedApi(DescribeTopicPartitionsRequest.API_KEY, 0, DescribeTopicPartitionsHandler(ports)),
    )
