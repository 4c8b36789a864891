from tidelog.v1 import common_pb2 as _common_pb2
from tidelog.v1 import coordinator_records_pb2 as _coordinator_records_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class FindCoordinatorRequest(_message.Message):
    __slots__ = ("group_ids", "transactional_ids")
    GROUP_IDS_FIELD_NUMBER: _ClassVar[int]
    TRANSACTIONAL_IDS_FIELD_NUMBER: _ClassVar[int]
    group_ids: _containers.RepeatedScalarFieldContainer[str]
    transactional_ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, group_ids: _Optional[_Iterable[str]] = ..., transactional_ids: _Optional[_Iterable[str]] = ...) -> None: ...

class FindCoordinatorResponse(_message.Message):
    __slots__ = ("error", "coordinators")
    class Coordinator(_message.Message):
        __slots__ = ("group_id", "error", "broker", "transactional_id")
        GROUP_ID_FIELD_NUMBER: _ClassVar[int]
        ERROR_FIELD_NUMBER: _ClassVar[int]
        BROKER_FIELD_NUMBER: _ClassVar[int]
        TRANSACTIONAL_ID_FIELD_NUMBER: _ClassVar[int]
        group_id: str
        error: _common_pb2.Error
        broker: _common_pb2.Endpoint
        transactional_id: str
        def __init__(self, group_id: _Optional[str] = ..., error: _Optional[_Union[_common_pb2.Error, _Mapping]] = ..., broker: _Optional[_Union[_common_pb2.Endpoint, _Mapping]] = ..., transactional_id: _Optional[str] = ...) -> None: ...
    ERROR_FIELD_NUMBER: _ClassVar[int]
    COORDINATORS_FIELD_NUMBER: _ClassVar[int]
    error: _common_pb2.Error
    coordinators: _containers.RepeatedCompositeFieldContainer[FindCoordinatorResponse.Coordinator]
    def __init__(self, error: _Optional[_Union[_common_pb2.Error, _Mapping]] = ..., coordinators: _Optional[_Iterable[_Union[FindCoordinatorResponse.Coordinator, _Mapping]]] = ...) -> None: ...

class ConsumerGroupHeartbeatRequest(_message.Message):
    __slots__ = ("group_id", "member_id", "member_epoch", "instance_id", "rack_id", "rebalance_timeout_ms", "subscription", "assignor", "owned", "sequence", "client_id", "assignment_version")
    class Subscription(_message.Message):
        __slots__ = ("topics", "pattern")
        TOPICS_FIELD_NUMBER: _ClassVar[int]
        PATTERN_FIELD_NUMBER: _ClassVar[int]
        topics: _containers.RepeatedScalarFieldContainer[str]
        pattern: str
        def __init__(self, topics: _Optional[_Iterable[str]] = ..., pattern: _Optional[str] = ...) -> None: ...
    class OwnedPartitions(_message.Message):
        __slots__ = ("topics",)
        TOPICS_FIELD_NUMBER: _ClassVar[int]
        topics: _containers.RepeatedCompositeFieldContainer[_coordinator_records_pb2.TopicPartitions]
        def __init__(self, topics: _Optional[_Iterable[_Union[_coordinator_records_pb2.TopicPartitions, _Mapping]]] = ...) -> None: ...
    GROUP_ID_FIELD_NUMBER: _ClassVar[int]
    MEMBER_ID_FIELD_NUMBER: _ClassVar[int]
    MEMBER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    INSTANCE_ID_FIELD_NUMBER: _ClassVar[int]
    RACK_ID_FIELD_NUMBER: _ClassVar[int]
    REBALANCE_TIMEOUT_MS_FIELD_NUMBER: _ClassVar[int]
    SUBSCRIPTION_FIELD_NUMBER: _ClassVar[int]
    ASSIGNOR_FIELD_NUMBER: _ClassVar[int]
    OWNED_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    CLIENT_ID_FIELD_NUMBER: _ClassVar[int]
    ASSIGNMENT_VERSION_FIELD_NUMBER: _ClassVar[int]
    group_id: str
    member_id: str
    member_epoch: int
    instance_id: str
    rack_id: str
    rebalance_timeout_ms: int
    subscription: ConsumerGroupHeartbeatRequest.Subscription
    assignor: str
    owned: ConsumerGroupHeartbeatRequest.OwnedPartitions
    sequence: int
    client_id: str
    assignment_version: int
    def __init__(self, group_id: _Optional[str] = ..., member_id: _Optional[str] = ..., member_epoch: _Optional[int] = ..., instance_id: _Optional[str] = ..., rack_id: _Optional[str] = ..., rebalance_timeout_ms: _Optional[int] = ..., subscription: _Optional[_Union[ConsumerGroupHeartbeatRequest.Subscription, _Mapping]] = ..., assignor: _Optional[str] = ..., owned: _Optional[_Union[ConsumerGroupHeartbeatRequest.OwnedPartitions, _Mapping]] = ..., sequence: _Optional[int] = ..., client_id: _Optional[str] = ..., assignment_version: _Optional[int] = ...) -> None: ...

class ConsumerGroupHeartbeatResponse(_message.Message):
    __slots__ = ("error", "member_id", "member_epoch", "heartbeat_interval_ms", "session_timeout_ms", "assignment", "assignment_version", "coordinator", "sequence", "disconnect_grace_ms", "holder_silent_ms")
    class Assignment(_message.Message):
        __slots__ = ("topics",)
        TOPICS_FIELD_NUMBER: _ClassVar[int]
        topics: _containers.RepeatedCompositeFieldContainer[_coordinator_records_pb2.TopicPartitions]
        def __init__(self, topics: _Optional[_Iterable[_Union[_coordinator_records_pb2.TopicPartitions, _Mapping]]] = ...) -> None: ...
    ERROR_FIELD_NUMBER: _ClassVar[int]
    MEMBER_ID_FIELD_NUMBER: _ClassVar[int]
    MEMBER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    HEARTBEAT_INTERVAL_MS_FIELD_NUMBER: _ClassVar[int]
    SESSION_TIMEOUT_MS_FIELD_NUMBER: _ClassVar[int]
    ASSIGNMENT_FIELD_NUMBER: _ClassVar[int]
    ASSIGNMENT_VERSION_FIELD_NUMBER: _ClassVar[int]
    COORDINATOR_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    DISCONNECT_GRACE_MS_FIELD_NUMBER: _ClassVar[int]
    HOLDER_SILENT_MS_FIELD_NUMBER: _ClassVar[int]
    error: _common_pb2.Error
    member_id: str
    member_epoch: int
    heartbeat_interval_ms: int
    session_timeout_ms: int
    assignment: ConsumerGroupHeartbeatResponse.Assignment
    assignment_version: int
    coordinator: _common_pb2.LeaderHint
    sequence: int
    disconnect_grace_ms: int
    holder_silent_ms: int
    def __init__(self, error: _Optional[_Union[_common_pb2.Error, _Mapping]] = ..., member_id: _Optional[str] = ..., member_epoch: _Optional[int] = ..., heartbeat_interval_ms: _Optional[int] = ..., session_timeout_ms: _Optional[int] = ..., assignment: _Optional[_Union[ConsumerGroupHeartbeatResponse.Assignment, _Mapping]] = ..., assignment_version: _Optional[int] = ..., coordinator: _Optional[_Union[_common_pb2.LeaderHint, _Mapping]] = ..., sequence: _Optional[int] = ..., disconnect_grace_ms: _Optional[int] = ..., holder_silent_ms: _Optional[int] = ...) -> None: ...

class OffsetCommitRequest(_message.Message):
    __slots__ = ("group_id", "member_id", "member_epoch", "instance_id", "topics", "sequence")
    class Topic(_message.Message):
        __slots__ = ("topic", "topic_id", "partitions")
        TOPIC_FIELD_NUMBER: _ClassVar[int]
        TOPIC_ID_FIELD_NUMBER: _ClassVar[int]
        PARTITIONS_FIELD_NUMBER: _ClassVar[int]
        topic: str
        topic_id: bytes
        partitions: _containers.RepeatedCompositeFieldContainer[OffsetCommitRequest.Partition]
        def __init__(self, topic: _Optional[str] = ..., topic_id: _Optional[bytes] = ..., partitions: _Optional[_Iterable[_Union[OffsetCommitRequest.Partition, _Mapping]]] = ...) -> None: ...
    class Partition(_message.Message):
        __slots__ = ("partition", "offset", "leader_epoch", "metadata")
        PARTITION_FIELD_NUMBER: _ClassVar[int]
        OFFSET_FIELD_NUMBER: _ClassVar[int]
        LEADER_EPOCH_FIELD_NUMBER: _ClassVar[int]
        METADATA_FIELD_NUMBER: _ClassVar[int]
        partition: int
        offset: int
        leader_epoch: int
        metadata: str
        def __init__(self, partition: _Optional[int] = ..., offset: _Optional[int] = ..., leader_epoch: _Optional[int] = ..., metadata: _Optional[str] = ...) -> None: ...
    GROUP_ID_FIELD_NUMBER: _ClassVar[int]
    MEMBER_ID_FIELD_NUMBER: _ClassVar[int]
    MEMBER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    INSTANCE_ID_FIELD_NUMBER: _ClassVar[int]
    TOPICS_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    group_id: str
    member_id: str
    member_epoch: int
    instance_id: str
    topics: _containers.RepeatedCompositeFieldContainer[OffsetCommitRequest.Topic]
    sequence: int
    def __init__(self, group_id: _Optional[str] = ..., member_id: _Optional[str] = ..., member_epoch: _Optional[int] = ..., instance_id: _Optional[str] = ..., topics: _Optional[_Iterable[_Union[OffsetCommitRequest.Topic, _Mapping]]] = ..., sequence: _Optional[int] = ...) -> None: ...

class OffsetCommitResponse(_message.Message):
    __slots__ = ("error", "coordinator", "topics")
    class Topic(_message.Message):
        __slots__ = ("topic", "topic_id", "partitions")
        TOPIC_FIELD_NUMBER: _ClassVar[int]
        TOPIC_ID_FIELD_NUMBER: _ClassVar[int]
        PARTITIONS_FIELD_NUMBER: _ClassVar[int]
        topic: str
        topic_id: bytes
        partitions: _containers.RepeatedCompositeFieldContainer[OffsetCommitResponse.Partition]
        def __init__(self, topic: _Optional[str] = ..., topic_id: _Optional[bytes] = ..., partitions: _Optional[_Iterable[_Union[OffsetCommitResponse.Partition, _Mapping]]] = ...) -> None: ...
    class Partition(_message.Message):
        __slots__ = ("partition", "error")
        PARTITION_FIELD_NUMBER: _ClassVar[int]
        ERROR_FIELD_NUMBER: _ClassVar[int]
        partition: int
        error: _common_pb2.Error
        def __init__(self, partition: _Optional[int] = ..., error: _Optional[_Union[_common_pb2.Error, _Mapping]] = ...) -> None: ...
    ERROR_FIELD_NUMBER: _ClassVar[int]
    COORDINATOR_FIELD_NUMBER: _ClassVar[int]
    TOPICS_FIELD_NUMBER: _ClassVar[int]
    error: _common_pb2.Error
    coordinator: _common_pb2.LeaderHint
    topics: _containers.RepeatedCompositeFieldContainer[OffsetCommitResponse.Topic]
    def __init__(self, error: _Optional[_Union[_common_pb2.Error, _Mapping]] = ..., coordinator: _Optional[_Union[_common_pb2.LeaderHint, _Mapping]] = ..., topics: _Optional[_Iterable[_Union[OffsetCommitResponse.Topic, _Mapping]]] = ...) -> None: ...

class TransactionalOffsetCommitRequest(_message.Message):
    __slots__ = ("transactional_id", "producer_id", "producer_epoch", "group_id", "member_id", "member_epoch", "instance_id", "topics")
    TRANSACTIONAL_ID_FIELD_NUMBER: _ClassVar[int]
    PRODUCER_ID_FIELD_NUMBER: _ClassVar[int]
    PRODUCER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    GROUP_ID_FIELD_NUMBER: _ClassVar[int]
    MEMBER_ID_FIELD_NUMBER: _ClassVar[int]
    MEMBER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    INSTANCE_ID_FIELD_NUMBER: _ClassVar[int]
    TOPICS_FIELD_NUMBER: _ClassVar[int]
    transactional_id: str
    producer_id: int
    producer_epoch: int
    group_id: str
    member_id: str
    member_epoch: int
    instance_id: str
    topics: _containers.RepeatedCompositeFieldContainer[OffsetCommitRequest.Topic]
    def __init__(self, transactional_id: _Optional[str] = ..., producer_id: _Optional[int] = ..., producer_epoch: _Optional[int] = ..., group_id: _Optional[str] = ..., member_id: _Optional[str] = ..., member_epoch: _Optional[int] = ..., instance_id: _Optional[str] = ..., topics: _Optional[_Iterable[_Union[OffsetCommitRequest.Topic, _Mapping]]] = ...) -> None: ...

class TransactionalOffsetCommitResponse(_message.Message):
    __slots__ = ("error", "coordinator", "topics")
    ERROR_FIELD_NUMBER: _ClassVar[int]
    COORDINATOR_FIELD_NUMBER: _ClassVar[int]
    TOPICS_FIELD_NUMBER: _ClassVar[int]
    error: _common_pb2.Error
    coordinator: _common_pb2.LeaderHint
    topics: _containers.RepeatedCompositeFieldContainer[OffsetCommitResponse.Topic]
    def __init__(self, error: _Optional[_Union[_common_pb2.Error, _Mapping]] = ..., coordinator: _Optional[_Union[_common_pb2.LeaderHint, _Mapping]] = ..., topics: _Optional[_Iterable[_Union[OffsetCommitResponse.Topic, _Mapping]]] = ...) -> None: ...

class OffsetFetchRequest(_message.Message):
    __slots__ = ("group_id", "member_id", "member_epoch", "topics", "after_topic", "after_partition", "require_stable")
    class Topic(_message.Message):
        __slots__ = ("topic", "topic_id", "partitions")
        TOPIC_FIELD_NUMBER: _ClassVar[int]
        TOPIC_ID_FIELD_NUMBER: _ClassVar[int]
        PARTITIONS_FIELD_NUMBER: _ClassVar[int]
        topic: str
        topic_id: bytes
        partitions: _containers.RepeatedScalarFieldContainer[int]
        def __init__(self, topic: _Optional[str] = ..., topic_id: _Optional[bytes] = ..., partitions: _Optional[_Iterable[int]] = ...) -> None: ...
    GROUP_ID_FIELD_NUMBER: _ClassVar[int]
    MEMBER_ID_FIELD_NUMBER: _ClassVar[int]
    MEMBER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    TOPICS_FIELD_NUMBER: _ClassVar[int]
    AFTER_TOPIC_FIELD_NUMBER: _ClassVar[int]
    AFTER_PARTITION_FIELD_NUMBER: _ClassVar[int]
    REQUIRE_STABLE_FIELD_NUMBER: _ClassVar[int]
    group_id: str
    member_id: str
    member_epoch: int
    topics: _containers.RepeatedCompositeFieldContainer[OffsetFetchRequest.Topic]
    after_topic: str
    after_partition: int
    require_stable: bool
    def __init__(self, group_id: _Optional[str] = ..., member_id: _Optional[str] = ..., member_epoch: _Optional[int] = ..., topics: _Optional[_Iterable[_Union[OffsetFetchRequest.Topic, _Mapping]]] = ..., after_topic: _Optional[str] = ..., after_partition: _Optional[int] = ..., require_stable: _Optional[bool] = ...) -> None: ...

class OffsetFetchResponse(_message.Message):
    __slots__ = ("error", "coordinator", "topics", "has_more")
    class Topic(_message.Message):
        __slots__ = ("topic", "topic_id", "partitions")
        TOPIC_FIELD_NUMBER: _ClassVar[int]
        TOPIC_ID_FIELD_NUMBER: _ClassVar[int]
        PARTITIONS_FIELD_NUMBER: _ClassVar[int]
        topic: str
        topic_id: bytes
        partitions: _containers.RepeatedCompositeFieldContainer[OffsetFetchResponse.Partition]
        def __init__(self, topic: _Optional[str] = ..., topic_id: _Optional[bytes] = ..., partitions: _Optional[_Iterable[_Union[OffsetFetchResponse.Partition, _Mapping]]] = ...) -> None: ...
    class Partition(_message.Message):
        __slots__ = ("partition", "error", "offset", "leader_epoch", "metadata", "committed_ms")
        PARTITION_FIELD_NUMBER: _ClassVar[int]
        ERROR_FIELD_NUMBER: _ClassVar[int]
        OFFSET_FIELD_NUMBER: _ClassVar[int]
        LEADER_EPOCH_FIELD_NUMBER: _ClassVar[int]
        METADATA_FIELD_NUMBER: _ClassVar[int]
        COMMITTED_MS_FIELD_NUMBER: _ClassVar[int]
        partition: int
        error: _common_pb2.Error
        offset: int
        leader_epoch: int
        metadata: str
        committed_ms: int
        def __init__(self, partition: _Optional[int] = ..., error: _Optional[_Union[_common_pb2.Error, _Mapping]] = ..., offset: _Optional[int] = ..., leader_epoch: _Optional[int] = ..., metadata: _Optional[str] = ..., committed_ms: _Optional[int] = ...) -> None: ...
    ERROR_FIELD_NUMBER: _ClassVar[int]
    COORDINATOR_FIELD_NUMBER: _ClassVar[int]
    TOPICS_FIELD_NUMBER: _ClassVar[int]
    HAS_MORE_FIELD_NUMBER: _ClassVar[int]
    error: _common_pb2.Error
    coordinator: _common_pb2.LeaderHint
    topics: _containers.RepeatedCompositeFieldContainer[OffsetFetchResponse.Topic]
    has_more: bool
    def __init__(self, error: _Optional[_Union[_common_pb2.Error, _Mapping]] = ..., coordinator: _Optional[_Union[_common_pb2.LeaderHint, _Mapping]] = ..., topics: _Optional[_Iterable[_Union[OffsetFetchResponse.Topic, _Mapping]]] = ..., has_more: _Optional[bool] = ...) -> None: ...

class OffsetDeleteRequest(_message.Message):
    __slots__ = ("group_id", "topics")
    GROUP_ID_FIELD_NUMBER: _ClassVar[int]
    TOPICS_FIELD_NUMBER: _ClassVar[int]
    group_id: str
    topics: _containers.RepeatedCompositeFieldContainer[OffsetFetchRequest.Topic]
    def __init__(self, group_id: _Optional[str] = ..., topics: _Optional[_Iterable[_Union[OffsetFetchRequest.Topic, _Mapping]]] = ...) -> None: ...

class OffsetDeleteResponse(_message.Message):
    __slots__ = ("error", "coordinator", "topics")
    ERROR_FIELD_NUMBER: _ClassVar[int]
    COORDINATOR_FIELD_NUMBER: _ClassVar[int]
    TOPICS_FIELD_NUMBER: _ClassVar[int]
    error: _common_pb2.Error
    coordinator: _common_pb2.LeaderHint
    topics: _containers.RepeatedCompositeFieldContainer[OffsetCommitResponse.Topic]
    def __init__(self, error: _Optional[_Union[_common_pb2.Error, _Mapping]] = ..., coordinator: _Optional[_Union[_common_pb2.LeaderHint, _Mapping]] = ..., topics: _Optional[_Iterable[_Union[OffsetCommitResponse.Topic, _Mapping]]] = ...) -> None: ...

class ListGroupsRequest(_message.Message):
    __slots__ = ("after_group_id",)
    AFTER_GROUP_ID_FIELD_NUMBER: _ClassVar[int]
    after_group_id: str
    def __init__(self, after_group_id: _Optional[str] = ...) -> None: ...

class ListGroupsResponse(_message.Message):
    __slots__ = ("error", "groups", "has_more")
    class Group(_message.Message):
        __slots__ = ("group_id", "type", "state", "members")
        GROUP_ID_FIELD_NUMBER: _ClassVar[int]
        TYPE_FIELD_NUMBER: _ClassVar[int]
        STATE_FIELD_NUMBER: _ClassVar[int]
        MEMBERS_FIELD_NUMBER: _ClassVar[int]
        group_id: str
        type: str
        state: str
        members: int
        def __init__(self, group_id: _Optional[str] = ..., type: _Optional[str] = ..., state: _Optional[str] = ..., members: _Optional[int] = ...) -> None: ...
    ERROR_FIELD_NUMBER: _ClassVar[int]
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    HAS_MORE_FIELD_NUMBER: _ClassVar[int]
    error: _common_pb2.Error
    groups: _containers.RepeatedCompositeFieldContainer[ListGroupsResponse.Group]
    has_more: bool
    def __init__(self, error: _Optional[_Union[_common_pb2.Error, _Mapping]] = ..., groups: _Optional[_Iterable[_Union[ListGroupsResponse.Group, _Mapping]]] = ..., has_more: _Optional[bool] = ...) -> None: ...

class DescribeGroupsRequest(_message.Message):
    __slots__ = ("group_ids",)
    GROUP_IDS_FIELD_NUMBER: _ClassVar[int]
    group_ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, group_ids: _Optional[_Iterable[str]] = ...) -> None: ...

class DescribeGroupsResponse(_message.Message):
    __slots__ = ("error", "groups")
    class Group(_message.Message):
        __slots__ = ("group_id", "error", "coordinator", "type", "state", "epoch", "assignment_epoch", "assignor", "members", "rebalances", "topics", "assignment_failure")
        GROUP_ID_FIELD_NUMBER: _ClassVar[int]
        ERROR_FIELD_NUMBER: _ClassVar[int]
        COORDINATOR_FIELD_NUMBER: _ClassVar[int]
        TYPE_FIELD_NUMBER: _ClassVar[int]
        STATE_FIELD_NUMBER: _ClassVar[int]
        EPOCH_FIELD_NUMBER: _ClassVar[int]
        ASSIGNMENT_EPOCH_FIELD_NUMBER: _ClassVar[int]
        ASSIGNOR_FIELD_NUMBER: _ClassVar[int]
        MEMBERS_FIELD_NUMBER: _ClassVar[int]
        REBALANCES_FIELD_NUMBER: _ClassVar[int]
        TOPICS_FIELD_NUMBER: _ClassVar[int]
        ASSIGNMENT_FAILURE_FIELD_NUMBER: _ClassVar[int]
        group_id: str
        error: _common_pb2.Error
        coordinator: _common_pb2.LeaderHint
        type: str
        state: str
        epoch: int
        assignment_epoch: int
        assignor: str
        members: _containers.RepeatedCompositeFieldContainer[DescribeGroupsResponse.Member]
        rebalances: _containers.RepeatedCompositeFieldContainer[_coordinator_records_pb2.GroupValue.Rebalance]
        topics: _containers.RepeatedCompositeFieldContainer[DescribeGroupsResponse.TopicName]
        assignment_failure: str
        def __init__(self, group_id: _Optional[str] = ..., error: _Optional[_Union[_common_pb2.Error, _Mapping]] = ..., coordinator: _Optional[_Union[_common_pb2.LeaderHint, _Mapping]] = ..., type: _Optional[str] = ..., state: _Optional[str] = ..., epoch: _Optional[int] = ..., assignment_epoch: _Optional[int] = ..., assignor: _Optional[str] = ..., members: _Optional[_Iterable[_Union[DescribeGroupsResponse.Member, _Mapping]]] = ..., rebalances: _Optional[_Iterable[_Union[_coordinator_records_pb2.GroupValue.Rebalance, _Mapping]]] = ..., topics: _Optional[_Iterable[_Union[DescribeGroupsResponse.TopicName, _Mapping]]] = ..., assignment_failure: _Optional[str] = ...) -> None: ...
    class TopicName(_message.Message):
        __slots__ = ("topic_id", "topic")
        TOPIC_ID_FIELD_NUMBER: _ClassVar[int]
        TOPIC_FIELD_NUMBER: _ClassVar[int]
        topic_id: bytes
        topic: str
        def __init__(self, topic_id: _Optional[bytes] = ..., topic: _Optional[str] = ...) -> None: ...
    class Member(_message.Message):
        __slots__ = ("member_id", "instance_id", "rack_id", "client_id", "host", "epoch", "subscribed_topics", "subscribed_pattern", "assignment", "target")
        MEMBER_ID_FIELD_NUMBER: _ClassVar[int]
        INSTANCE_ID_FIELD_NUMBER: _ClassVar[int]
        RACK_ID_FIELD_NUMBER: _ClassVar[int]
        CLIENT_ID_FIELD_NUMBER: _ClassVar[int]
        HOST_FIELD_NUMBER: _ClassVar[int]
        EPOCH_FIELD_NUMBER: _ClassVar[int]
        SUBSCRIBED_TOPICS_FIELD_NUMBER: _ClassVar[int]
        SUBSCRIBED_PATTERN_FIELD_NUMBER: _ClassVar[int]
        ASSIGNMENT_FIELD_NUMBER: _ClassVar[int]
        TARGET_FIELD_NUMBER: _ClassVar[int]
        member_id: str
        instance_id: str
        rack_id: str
        client_id: str
        host: str
        epoch: int
        subscribed_topics: _containers.RepeatedScalarFieldContainer[str]
        subscribed_pattern: str
        assignment: _containers.RepeatedCompositeFieldContainer[_coordinator_records_pb2.TopicPartitions]
        target: _containers.RepeatedCompositeFieldContainer[_coordinator_records_pb2.TopicPartitions]
        def __init__(self, member_id: _Optional[str] = ..., instance_id: _Optional[str] = ..., rack_id: _Optional[str] = ..., client_id: _Optional[str] = ..., host: _Optional[str] = ..., epoch: _Optional[int] = ..., subscribed_topics: _Optional[_Iterable[str]] = ..., subscribed_pattern: _Optional[str] = ..., assignment: _Optional[_Iterable[_Union[_coordinator_records_pb2.TopicPartitions, _Mapping]]] = ..., target: _Optional[_Iterable[_Union[_coordinator_records_pb2.TopicPartitions, _Mapping]]] = ...) -> None: ...
    ERROR_FIELD_NUMBER: _ClassVar[int]
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    error: _common_pb2.Error
    groups: _containers.RepeatedCompositeFieldContainer[DescribeGroupsResponse.Group]
    def __init__(self, error: _Optional[_Union[_common_pb2.Error, _Mapping]] = ..., groups: _Optional[_Iterable[_Union[DescribeGroupsResponse.Group, _Mapping]]] = ...) -> None: ...

class DeleteGroupsRequest(_message.Message):
    __slots__ = ("group_ids",)
    GROUP_IDS_FIELD_NUMBER: _ClassVar[int]
    group_ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, group_ids: _Optional[_Iterable[str]] = ...) -> None: ...

class DeleteGroupsResponse(_message.Message):
    __slots__ = ("error", "groups")
    class Group(_message.Message):
        __slots__ = ("group_id", "error", "coordinator")
        GROUP_ID_FIELD_NUMBER: _ClassVar[int]
        ERROR_FIELD_NUMBER: _ClassVar[int]
        COORDINATOR_FIELD_NUMBER: _ClassVar[int]
        group_id: str
        error: _common_pb2.Error
        coordinator: _common_pb2.LeaderHint
        def __init__(self, group_id: _Optional[str] = ..., error: _Optional[_Union[_common_pb2.Error, _Mapping]] = ..., coordinator: _Optional[_Union[_common_pb2.LeaderHint, _Mapping]] = ...) -> None: ...
    ERROR_FIELD_NUMBER: _ClassVar[int]
    GROUPS_FIELD_NUMBER: _ClassVar[int]
    error: _common_pb2.Error
    groups: _containers.RepeatedCompositeFieldContainer[DeleteGroupsResponse.Group]
    def __init__(self, error: _Optional[_Union[_common_pb2.Error, _Mapping]] = ..., groups: _Optional[_Iterable[_Union[DeleteGroupsResponse.Group, _Mapping]]] = ...) -> None: ...
