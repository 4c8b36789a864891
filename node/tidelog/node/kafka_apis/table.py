"""The table of served APIs of a node: what is not in it is not advertised.

A row's last version is one whose semantics are served completely, whatever the codec can read.
"""

from __future__ import annotations

from tidelog.node.kafka_apis.admin_table import admin_rows
from tidelog.node.kafka_apis.broker_ports import BrokerPorts
from tidelog.node.kafka_apis.fetch import FetchHandler
from tidelog.node.kafka_apis.groups_rows import group_rows
from tidelog.node.kafka_apis.leader_epochs import LeaderEpochsHandler
from tidelog.node.kafka_apis.list_offsets import ListOffsetsHandler
from tidelog.node.kafka_apis.metadata import MetadataHandler
from tidelog.node.kafka_apis.produce import ProduceHandler
from tidelog.node.kafka_apis.producer_ids import ProducerIdsHandler
from tidelog.node.kafka_apis.served import ServedApi

PRODUCE, FETCH, LIST_OFFSETS, METADATA, INIT_PRODUCER_ID, LEADER_EPOCHS = 0, 1, 2, 3, 22, 23


def broker_rows(ports: BrokerPorts) -> tuple[ServedApi, ...]:
    """Return the rows of a broker, but for ApiVersions, which lists them."""
    manager, image = ports.replica_manager, ports.image
    produce = ProduceHandler(appender=manager.appender, image=image, traffic=ports.traffic)
    fetch = FetchHandler(replica_manager=manager, image=image, traffic=ports.traffic)
    metadata = MetadataHandler(
        cluster_id=ports.config.cluster_id,
        image=image,
        controller_id=ports.controller_id,
        forwarder=ports.forwarder,
        clock=ports.clock,
    )
    return (
        # Old versions of librdkafka compress nothing unless 0 is in the list (KAFKA-18659).
        ServedApi(PRODUCE, 13, produce, advertised_from=0, is_pipelined=True),
        ServedApi(FETCH, 18, fetch, is_abandoned=True),
        ServedApi(LIST_OFFSETS, 11, ListOffsetsHandler(manager.reader)),
        ServedApi(METADATA, 13, metadata),
        ServedApi(INIT_PRODUCER_ID, 5, ProducerIdsHandler(ports.producer_ids)),
        ServedApi(LEADER_EPOCHS, 4, LeaderEpochsHandler(manager.reader)),
        *group_rows(ports.groups, image),
        *admin_rows(ports),
    )
