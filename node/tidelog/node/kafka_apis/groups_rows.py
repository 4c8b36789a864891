"""Rows of the APIs of groups."""

from __future__ import annotations

from collections.abc import Callable

from tidelog.metadata.image import MetadataImage
from tidelog.node.handlers.coordinator import CoordinatorHandler
from tidelog.node.kafka_apis.groups_classic import (
    HeartbeatHandler,
    JoinGroupHandler,
    LeaveGroupHandler,
    SyncGroupHandler,
)
from tidelog.node.kafka_apis.groups_consumer import ConsumerGroupHeartbeatHandler
from tidelog.node.kafka_apis.groups_described import (
    ConsumerGroupDescribeHandler,
    DescribeGroupsHandler,
)
from tidelog.node.kafka_apis.groups_fetched import OffsetFetchHandler
from tidelog.node.kafka_apis.groups_find import FindCoordinatorHandler
from tidelog.node.kafka_apis.groups_listed import DeleteGroupsHandler, ListGroupsHandler
from tidelog.node.kafka_apis.groups_offsets import OffsetCommitHandler, OffsetDeleteHandler
from tidelog.node.kafka_apis.served import ServedApi

OFFSET_COMMIT, OFFSET_FETCH, FIND_COORDINATOR = 8, 9, 10
CONSUMER_GROUP_HEARTBEAT, CONSUMER_GROUP_DESCRIBE = 68, 69
DESCRIBE_GROUPS, LIST_GROUPS, DELETE_GROUPS = 15, 16, 42
JOIN_GROUP, HEARTBEAT, LEAVE_GROUP, SYNC_GROUP, OFFSET_DELETE = 11, 12, 13, 14, 47


def group_rows(
    handler: CoordinatorHandler, image: Callable[[], MetadataImage]
) -> tuple[ServedApi, ...]:
    """Return the rows of a broker that coordinates groups."""
    coordinator = handler.coordinator
    classic = coordinator.classic
    return (
        ServedApi(OFFSET_COMMIT, 10, OffsetCommitHandler(coordinator)),
        ServedApi(OFFSET_FETCH, 10, OffsetFetchHandler(coordinator)),
        ServedApi(FIND_COORDINATOR, 6, FindCoordinatorHandler(handler)),
        ServedApi(JOIN_GROUP, 9, JoinGroupHandler(classic), is_abandoned=True),
        ServedApi(HEARTBEAT, 4, HeartbeatHandler(classic)),
        ServedApi(LEAVE_GROUP, 5, LeaveGroupHandler(classic)),
        ServedApi(SYNC_GROUP, 5, SyncGroupHandler(classic), is_abandoned=True),
        ServedApi(DESCRIBE_GROUPS, 6, DescribeGroupsHandler(coordinator)),
        ServedApi(LIST_GROUPS, 5, ListGroupsHandler(coordinator)),
        ServedApi(DELETE_GROUPS, 2, DeleteGroupsHandler(coordinator)),
        ServedApi(CONSUMER_GROUP_HEARTBEAT, 1, ConsumerGroupHeartbeatHandler(coordinator)),
        ServedApi(CONSUMER_GROUP_DESCRIBE, 1, ConsumerGroupDescribeHandler(coordinator, image)),
        ServedApi(OFFSET_DELETE, 0, OffsetDeleteHandler(coordinator, image)),
    )
