"""Errors that a coordinator of consumer groups answers: a class per wire code.

Import them from `tidelog.core.errors`, which has all of the tree.
"""

from __future__ import annotations

from tidelog.core.error_base import KafkaError
from tidelog.v1 import common_pb2

__all__ = [
    "CoordinatorLoadInProgressError",
    "CoordinatorNotAvailableError",
    "FencedInstanceIdError",
    "FencedMemberEpochError",
    "GroupIdNotFoundError",
    "GroupMaxSizeReachedError",
    "GroupSubscribedToTopicError",
    "IllegalGenerationError",
    "InconsistentGroupProtocolError",
    "InvalidCommitOffsetSizeError",
    "InvalidGroupIdError",
    "InvalidRegularExpressionError",
    "InvalidSessionTimeoutError",
    "MemberIdRequiredError",
    "NonEmptyGroupError",
    "NotCoordinatorError",
    "OffsetMetadataTooLargeError",
    "RebalanceInProgressError",
    "StaleMemberEpochError",
    "UnknownMemberIdError",
    "UnreleasedInstanceIdError",
    "UnstableOffsetCommitError",
    "UnsupportedAssignorError",
]


class OffsetMetadataTooLargeError(KafkaError):
    """Metadata of an offset above offset.metadata.max.bytes. The offset was not committed."""

    code = common_pb2.OFFSET_METADATA_TOO_LARGE


class CoordinatorLoadInProgressError(KafkaError):
    """The coordinator is loading its partition of the internal topic."""

    code = common_pb2.COORDINATOR_LOAD_IN_PROGRESS
    is_retriable = True


class CoordinatorNotAvailableError(KafkaError):
    """No broker is the coordinator now, or the internal topic does not exist yet."""

    code = common_pb2.COORDINATOR_NOT_AVAILABLE
    is_retriable = True


class NotCoordinatorError(KafkaError):
    """The broker is not the group's coordinator: look it up again."""

    code = common_pb2.NOT_COORDINATOR
    is_retriable = True


class IllegalGenerationError(KafkaError):
    """A generation that is not the group's current one: rejoin."""

    code = common_pb2.ILLEGAL_GENERATION


class InconsistentGroupProtocolError(KafkaError):
    """The group uses the other protocol, or the member shares no assignor with it."""

    code = common_pb2.INCONSISTENT_GROUP_PROTOCOL


class InvalidGroupIdError(KafkaError):
    """An empty or too long group id."""

    code = common_pb2.INVALID_GROUP_ID


class UnknownMemberIdError(KafkaError):
    """The group has no member of this id: join as a new one."""

    code = common_pb2.UNKNOWN_MEMBER_ID


class InvalidSessionTimeoutError(KafkaError):
    """A session timeout outside of the broker's range."""

    code = common_pb2.INVALID_SESSION_TIMEOUT


class RebalanceInProgressError(KafkaError):
    """The group rebalances: rejoin."""

    code = common_pb2.REBALANCE_IN_PROGRESS


class InvalidCommitOffsetSizeError(KafkaError):
    """Committed offsets that do not fit one batch, or a coordinator that has as many as it may."""

    code = common_pb2.INVALID_COMMIT_OFFSET_SIZE


class NonEmptyGroupError(KafkaError):
    """The group has members: stop them first. Nothing was changed."""

    code = common_pb2.NON_EMPTY_GROUP


class GroupIdNotFoundError(KafkaError):
    """No group of this id."""

    code = common_pb2.GROUP_ID_NOT_FOUND


class MemberIdRequiredError(KafkaError):
    """The member must join again with the id of the answer (KIP-394)."""

    code = common_pb2.MEMBER_ID_REQUIRED


class GroupMaxSizeReachedError(KafkaError):
    """The group has the most members that it may have. The member was not added."""

    code = common_pb2.GROUP_MAX_SIZE_REACHED


class FencedInstanceIdError(KafkaError):
    """Another member has taken over the group.instance.id: this one is fenced for good."""

    code = common_pb2.FENCED_INSTANCE_ID


class GroupSubscribedToTopicError(KafkaError):
    """The group is subscribed to the topic: its offsets were not deleted."""

    code = common_pb2.GROUP_SUBSCRIBED_TO_TOPIC


class UnstableOffsetCommitError(KafkaError):
    """Offsets of an open transaction are pending."""

    code = common_pb2.UNSTABLE_OFFSET_COMMIT
    is_retriable = True


class FencedMemberEpochError(KafkaError):
    """The coordinator has another epoch of the member: let go of all partitions and rejoin."""

    code = common_pb2.FENCED_MEMBER_EPOCH


class UnreleasedInstanceIdError(KafkaError):
    """The group.instance.id belongs to a member that has not left.

    `holder_silent_ms` is the time since that member was heard; None: not known.
    """

    code = common_pb2.UNRELEASED_INSTANCE_ID

    def __init__(self, message: str, *, holder_silent_ms: int | None = None) -> None:
        super().__init__(message)
        self.holder_silent_ms = holder_silent_ms


class UnsupportedAssignorError(KafkaError):
    """No assignor of this name is in group.consumer.assignors."""

    code = common_pb2.UNSUPPORTED_ASSIGNOR


class StaleMemberEpochError(KafkaError):
    """The member's epoch has risen: learn the new one by a heartbeat, then retry."""

    code = common_pb2.STALE_MEMBER_EPOCH


class InvalidRegularExpressionError(KafkaError):
    """A pattern that is invalid, too long, or may backtrack without bound."""

    code = common_pb2.INVALID_REGULAR_EXPRESSION
