"""DescribeCluster: the brokers at the caller's listener, fenced ones where they are asked for.

Controllers have no listener of Kafka's protocol apart from that of brokers: a caller that asks for
their addresses is refused, as by Kafka's brokers.
"""

from __future__ import annotations

from tidelog.kafka.messages.describe_cluster_request import DescribeClusterRequest
from tidelog.kafka.messages.describe_cluster_response import (
    DescribeClusterBroker,
    DescribeClusterResponse,
)
from tidelog.node.kafka_apis.broker_ports import BrokerPorts
from tidelog.node.kafka_apis.error_codes import (
    MISMATCHED_ENDPOINT_TYPE,
    UNSUPPORTED_ENDPOINT_TYPE,
)
from tidelog.node.kafka_apis.metadata import CLUSTER_OPERATIONS
from tidelog.node.kafka_apis.reached import broker_at, controller_among, live_brokers
from tidelog.node.kafka_apis.served import ApiCall

FENCED_FROM = 2
"""First version in which fenced brokers can be asked for."""
BROKERS, CONTROLLERS = 1, 2
"""Kafka's numbers of types of endpoints."""
_UNSAID = -(1 << 31)


class DescribeClusterHandler:
    """Handler of DescribeCluster."""

    def __init__(self, ports: BrokerPorts) -> None:
        self._ports = ports

    async def __call__(
        self, request: DescribeClusterRequest, call: ApiCall
    ) -> DescribeClusterResponse:
        """See `ApiHandler`."""
        if request.endpoint_type != BROKERS:
            return _refused(request.endpoint_type)
        image, listener = self._ports.known_image(), call.call.listener
        has_fenced = request.include_fenced_brokers and call.version >= FENCED_FROM
        brokers = []
        for broker_id, broker in sorted(image.brokers.items()):
            address = broker_at(image, broker_id, listener)
            if address is not None and (has_fenced or not broker.is_fenced):
                brokers.append(DescribeClusterBroker(*address, broker.is_fenced))
        return DescribeClusterResponse(
            cluster_id=self._ports.config.cluster_id,
            controller_id=controller_among(
                live_brokers(image, listener), self._ports.controller_id()
            ),
            brokers=brokers,
            cluster_authorized_operations=CLUSTER_OPERATIONS
            if request.include_cluster_authorized_operations
            else _UNSAID,
        )


def _refused(endpoint_type: int) -> DescribeClusterResponse:
    if endpoint_type == CONTROLLERS:
        return DescribeClusterResponse(
            error_code=MISMATCHED_ENDPOINT_TYPE,
            error_message="this is a listener of brokers: ask for brokers",
            endpoint_type=endpoint_type,
        )
    return DescribeClusterResponse(
        error_code=UNSUPPORTED_ENDPOINT_TYPE,
        error_message=f"no endpoints are of the type {endpoint_type}: ask for brokers, {BROKERS}",
        endpoint_type=endpoint_type,
    )
