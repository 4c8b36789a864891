"""Errors of groups as numbers in Kafka's answers. Pure.

Each of these requests may be made again: what is not committed in time, whose outcome is unknown,
is answered as if there were no coordinator, as in Kafka. Sources: Kafka's GroupCoordinatorService,
and the codes that its clients know in each answer.
"""

# Pure: decides, never acts (rule R2).

from __future__ import annotations

from tidelog.core.errors import TidelogError
from tidelog.core.wire_errors import to_wire
from tidelog.node.kafka_apis.error_codes import UNSUPPORTED_VERSION, Place, kafka_code
from tidelog.v1 import common_pb2

MEMBER_EPOCHS_FROM = 9
"""First version of OffsetCommit and OffsetFetch for members of the consumer protocol."""
TOPIC_IDS_FROM = 10
"""First version of both in which requests name topics by their ids alone."""


def group_code(error: TidelogError | None) -> int:
    """Return the number for an answer about a group; None: there is no error."""
    return wire_code(common_pb2.NONE if error is None else to_wire(error).code)


def wire_code(code: int) -> int:
    """The same of one of our codes."""
    if code == common_pb2.REQUEST_TIMED_OUT:
        return common_pb2.COORDINATOR_NOT_AVAILABLE
    if code == common_pb2.MESSAGE_TOO_LARGE:
        return common_pb2.UNKNOWN_SERVER_ERROR  # asked of Kafka 4.3.1, whose clients know no other
    return kafka_code(code, Place.COORDINATOR)


def sync_code(error: TidelogError) -> int:
    """The same for SyncGroup, where clients stop at a coordinator that loads: they join again."""
    code = group_code(error)
    if code == common_pb2.COORDINATOR_LOAD_IN_PROGRESS:
        return common_pb2.REBALANCE_IN_PROGRESS
    return code


def heartbeat_code(error: TidelogError) -> int:
    """The same for Heartbeat, where clients stop at a coordinator that loads.

    It gives each member a full session when it is there.
    """
    code = group_code(error)
    return common_pb2.NONE if code == common_pb2.COORDINATOR_LOAD_IN_PROGRESS else code


def offset_code(error: TidelogError | None, version: int) -> int:
    """The same for OffsetCommit and OffsetFetch, where clients know one error of member epochs."""
    code = group_code(error)
    if code not in (common_pb2.STALE_MEMBER_EPOCH, common_pb2.FENCED_MEMBER_EPOCH):
        return code
    return UNSUPPORTED_VERSION if version < MEMBER_EPOCHS_FROM else common_pb2.STALE_MEMBER_EPOCH
