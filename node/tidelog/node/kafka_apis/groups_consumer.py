"""ConsumerGroupHeartbeat: members of the consumer protocol (KIP-848).

Their heartbeats number nothing: a connection keeps their order (decision 0049). Nothing is pushed:
each takes its next step at its next heartbeat.
"""

from __future__ import annotations

from collections.abc import Sequence

from tidelog.broker.coordinator.consumer_heartbeats import Heartbeat, Reply
from tidelog.broker.coordinator.consumer_member import JOINING, Partitions, by_topic
from tidelog.broker.coordinator.group_coordinator import GroupCoordinator
from tidelog.broker.kafka.peer import ConnectionClosedError
from tidelog.core.errors import TidelogError
from tidelog.kafka.messages.consumer_group_heartbeat_request import ConsumerGroupHeartbeatRequest
from tidelog.kafka.messages.consumer_group_heartbeat_request import TopicPartitions as Owned
from tidelog.kafka.messages.consumer_group_heartbeat_response import (
    Assignment,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from tidelog.node.handlers.group_codec import host_of, subscribed
from tidelog.node.kafka_apis.groups_errors import group_code
from tidelog.node.kafka_apis.served import ApiCall

OWN_ID_FROM = 1
"""First version whose clients make their member ids themselves."""
_UNCHANGED = -1


class ConsumerGroupHeartbeatHandler:
    """Handler of ConsumerGroupHeartbeat."""

    def __init__(self, coordinator: GroupCoordinator) -> None:
        self._coordinator = coordinator

    async def __call__(
        self, request: ConsumerGroupHeartbeatRequest, call: ApiCall
    ) -> ConsumerGroupHeartbeatResponse:
        """See `ApiHandler`."""
        member_id = request.member_id
        if not member_id and request.member_epoch == JOINING and call.version < OWN_ID_FROM:
            member_id = self._coordinator.new_member_id()
        try:
            heartbeat = _heartbeat(request, member_id, call)
            reply = await self._coordinator.heartbeat_in_order(
                request.group_id, heartbeat, call.call.connection_number
            )
        except TidelogError as error:
            return ConsumerGroupHeartbeatResponse(
                error_code=group_code(error), error_message=str(error)
            )
        if reply is None:
            raise ConnectionClosedError(f"member {member_id} has a later connection")
        return self._response(reply)

    def _response(self, reply: Reply) -> ConsumerGroupHeartbeatResponse:
        config = self._coordinator.config
        assigned = reply.assignment
        return ConsumerGroupHeartbeatResponse(
            member_id=reply.member_id,
            member_epoch=reply.epoch,
            heartbeat_interval_ms=config.group_consumer_heartbeat_interval_ms,
            assignment=None
            if assigned is None
            else Assignment(
                [TopicPartitions(one.topic_id, list(one.partitions)) for one in by_topic(assigned)]
            ),
        )


def _heartbeat(request: ConsumerGroupHeartbeatRequest, member_id: str, call: ApiCall) -> Heartbeat:
    """Decode a heartbeat. Raises `InvalidRequestError`."""
    names, pattern = request.subscribed_topic_names, request.subscribed_topic_regex
    if request.member_epoch == JOINING and names is None and pattern is not None:
        names = []
    timeout_ms = request.rebalance_timeout_ms
    return Heartbeat(
        member_id=member_id,
        epoch=request.member_epoch,
        instance_id=request.instance_id,
        rack_id=request.rack_id,
        rebalance_timeout_ms=None if timeout_ms == _UNCHANGED else timeout_ms,
        topics=None if names is None else subscribed(names),
        pattern=pattern,
        assignor=request.server_assignor,
        owned=None if request.topic_partitions is None else _owned(request.topic_partitions),
        client_id=call.call.client_id,
        host=host_of(call.call.connection),
    )


def _owned(topics: Sequence[Owned]) -> Partitions:
    return frozenset((one.topic_id, number) for one in topics for number in one.partitions)
