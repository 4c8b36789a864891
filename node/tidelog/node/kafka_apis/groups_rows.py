"""Rows of the APIs of groups; their handlers are loaded later."""

from __future__ import annotations

from collections.abc import Callable

from tidelog.metadata.image import MetadataImage
from tidelog.node.handlers.coordinator import CoordinatorHandler
from tidelog.node.kafka_apis.loaded_later import LoadedLater
from tidelog.node.kafka_apis.served import ServedApi

OFFSET_COMMIT, OFFSET_FETCH, FIND_COORDINATOR = 8, 9, 10
CONSUMER_GROUP_HEARTBEAT, CONSUMER_GROUP_DESCRIBE = 68, 69
DESCRIBE_GROUPS, LIST_GROUPS, DELETE_GROUPS = 15, 16, 42
JOIN_GROUP, HEARTBEAT, LEAVE_GROUP, SYNC_GROUP, OFFSET_DELETE = 11, 12, 13, 14, 47

JOIN_PROTOCOLS_MAX = 1_000
"""Protocols of a JoinGroup, of which a coordinator takes a few."""
LEAVING_MEMBERS_MAX = 10_000
"""Members of a LeaveGroup, which are read and answered in pieces, and decided in one step.

Groups have fewer (`group.max.size`).
"""
DESCRIBED_GROUPS_MAX = 20_000
"""Groups of a description: each takes more bytes of its answer than other elements do."""


def group_rows(
    handler: CoordinatorHandler, image: Callable[[], MetadataImage]
) -> tuple[ServedApi, ...]:
    """Return the rows of a broker that coordinates groups."""
    groups = handler.coordinator

    def of_classic(name: str) -> LoadedLater:
        return LoadedLater("groups_classic", name, groups.classic)

    def described(name: str, *ports: object) -> LoadedLater:
        return LoadedLater("groups_described", name, groups, *ports)

    commit = LoadedLater("groups_offsets", "OffsetCommitHandler", groups)
    delete = LoadedLater("groups_offsets", "OffsetDeleteHandler", groups, image)
    fetched = LoadedLater("groups_fetched", "OffsetFetchHandler", groups)
    find = LoadedLater("groups_find", "FindCoordinatorHandler", handler)
    beat = LoadedLater("groups_consumer", "ConsumerGroupHeartbeatHandler", groups)
    return (
        ServedApi(OFFSET_COMMIT, 10, commit),
        ServedApi(OFFSET_FETCH, 10, fetched),
        ServedApi(FIND_COORDINATOR, 6, find),
        ServedApi(
            JOIN_GROUP,
            9,
            of_classic("JoinGroupHandler"),
            is_abandoned=True,
            elements_max=JOIN_PROTOCOLS_MAX,
        ),
        ServedApi(HEARTBEAT, 4, of_classic("HeartbeatHandler")),
        ServedApi(
            LEAVE_GROUP, 5, of_classic("LeaveGroupHandler"), elements_max=LEAVING_MEMBERS_MAX
        ),
        ServedApi(SYNC_GROUP, 5, of_classic("SyncGroupHandler"), is_abandoned=True),
        ServedApi(
            DESCRIBE_GROUPS,
            6,
            described("DescribeGroupsHandler"),
            elements_max=DESCRIBED_GROUPS_MAX,
        ),
        ServedApi(LIST_GROUPS, 5, LoadedLater("groups_listed", "ListGroupsHandler", groups)),
        ServedApi(DELETE_GROUPS, 2, LoadedLater("groups_listed", "DeleteGroupsHandler", groups)),
        ServedApi(CONSUMER_GROUP_HEARTBEAT, 1, beat),
        ServedApi(
            CONSUMER_GROUP_DESCRIBE,
            1,
            described("ConsumerGroupDescribeHandler", image),
            elements_max=DESCRIBED_GROUPS_MAX,
        ),
        ServedApi(OFFSET_DELETE, 0, delete),
    )
