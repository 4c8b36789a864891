from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class CoordinatorKey(_message.Message):
    __slots__ = ("offset_commit", "group", "member", "classic_group", "transaction", "barrier")
    OFFSET_COMMIT_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    MEMBER_FIELD_NUMBER: _ClassVar[int]
    CLASSIC_GROUP_FIELD_NUMBER: _ClassVar[int]
    TRANSACTION_FIELD_NUMBER: _ClassVar[int]
    BARRIER_FIELD_NUMBER: _ClassVar[int]
    offset_commit: OffsetCommitKey
    group: GroupKey
    member: GroupMemberKey
    classic_group: ClassicGroupKey
    transaction: TransactionKey
    barrier: BarrierKey
    def __init__(self, offset_commit: _Optional[_Union[OffsetCommitKey, _Mapping]] = ..., group: _Optional[_Union[GroupKey, _Mapping]] = ..., member: _Optional[_Union[GroupMemberKey, _Mapping]] = ..., classic_group: _Optional[_Union[ClassicGroupKey, _Mapping]] = ..., transaction: _Optional[_Union[TransactionKey, _Mapping]] = ..., barrier: _Optional[_Union[BarrierKey, _Mapping]] = ...) -> None: ...

class BarrierKey(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class OffsetCommitKey(_message.Message):
    __slots__ = ("group_id", "topic_id", "partition")
    GROUP_ID_FIELD_NUMBER: _ClassVar[int]
    TOPIC_ID_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    group_id: str
    topic_id: bytes
    partition: int
    def __init__(self, group_id: _Optional[str] = ..., topic_id: _Optional[bytes] = ..., partition: _Optional[int] = ...) -> None: ...

class OffsetCommitValue(_message.Message):
    __slots__ = ("offset", "leader_epoch", "metadata", "committed_ms", "topic", "retention_ms")
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    LEADER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    METADATA_FIELD_NUMBER: _ClassVar[int]
    COMMITTED_MS_FIELD_NUMBER: _ClassVar[int]
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    RETENTION_MS_FIELD_NUMBER: _ClassVar[int]
    offset: int
    leader_epoch: int
    metadata: str
    committed_ms: int
    topic: str
    retention_ms: int
    def __init__(self, offset: _Optional[int] = ..., leader_epoch: _Optional[int] = ..., metadata: _Optional[str] = ..., committed_ms: _Optional[int] = ..., topic: _Optional[str] = ..., retention_ms: _Optional[int] = ...) -> None: ...

class GroupKey(_message.Message):
    __slots__ = ("group_id",)
    GROUP_ID_FIELD_NUMBER: _ClassVar[int]
    group_id: str
    def __init__(self, group_id: _Optional[str] = ...) -> None: ...

class GroupValue(_message.Message):
    __slots__ = ("epoch", "assignment_epoch", "assignor", "rebalances", "topics_hash")
    class Rebalance(_message.Message):
        __slots__ = ("time_ms", "epoch", "cause")
        TIME_MS_FIELD_NUMBER: _ClassVar[int]
        EPOCH_FIELD_NUMBER: _ClassVar[int]
        CAUSE_FIELD_NUMBER: _ClassVar[int]
        time_ms: int
        epoch: int
        cause: str
        def __init__(self, time_ms: _Optional[int] = ..., epoch: _Optional[int] = ..., cause: _Optional[str] = ...) -> None: ...
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    ASSIGNMENT_EPOCH_FIELD_NUMBER: _ClassVar[int]
    ASSIGNOR_FIELD_NUMBER: _ClassVar[int]
    REBALANCES_FIELD_NUMBER: _ClassVar[int]
    TOPICS_HASH_FIELD_NUMBER: _ClassVar[int]
    epoch: int
    assignment_epoch: int
    assignor: str
    rebalances: _containers.RepeatedCompositeFieldContainer[GroupValue.Rebalance]
    topics_hash: int
    def __init__(self, epoch: _Optional[int] = ..., assignment_epoch: _Optional[int] = ..., assignor: _Optional[str] = ..., rebalances: _Optional[_Iterable[_Union[GroupValue.Rebalance, _Mapping]]] = ..., topics_hash: _Optional[int] = ...) -> None: ...

class GroupMemberKey(_message.Message):
    __slots__ = ("group_id", "member_id")
    GROUP_ID_FIELD_NUMBER: _ClassVar[int]
    MEMBER_ID_FIELD_NUMBER: _ClassVar[int]
    group_id: str
    member_id: str
    def __init__(self, group_id: _Optional[str] = ..., member_id: _Optional[str] = ...) -> None: ...

class GroupMemberValue(_message.Message):
    __slots__ = ("instance_id", "rack_id", "client_id", "host", "rebalance_timeout_ms", "subscribed_topics", "subscribed_pattern", "assignor", "epoch", "previous_epoch", "assigned", "revoking", "target")
    INSTANCE_ID_FIELD_NUMBER: _ClassVar[int]
    RACK_ID_FIELD_NUMBER: _ClassVar[int]
    CLIENT_ID_FIELD_NUMBER: _ClassVar[int]
    HOST_FIELD_NUMBER: _ClassVar[int]
    REBALANCE_TIMEOUT_MS_FIELD_NUMBER: _ClassVar[int]
    SUBSCRIBED_TOPICS_FIELD_NUMBER: _ClassVar[int]
    SUBSCRIBED_PATTERN_FIELD_NUMBER: _ClassVar[int]
    ASSIGNOR_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    PREVIOUS_EPOCH_FIELD_NUMBER: _ClassVar[int]
    ASSIGNED_FIELD_NUMBER: _ClassVar[int]
    REVOKING_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    instance_id: str
    rack_id: str
    client_id: str
    host: str
    rebalance_timeout_ms: int
    subscribed_topics: _containers.RepeatedScalarFieldContainer[str]
    subscribed_pattern: str
    assignor: str
    epoch: int
    previous_epoch: int
    assigned: _containers.RepeatedCompositeFieldContainer[TopicPartitions]
    revoking: _containers.RepeatedCompositeFieldContainer[TopicPartitions]
    target: _containers.RepeatedCompositeFieldContainer[TopicPartitions]
    def __init__(self, instance_id: _Optional[str] = ..., rack_id: _Optional[str] = ..., client_id: _Optional[str] = ..., host: _Optional[str] = ..., rebalance_timeout_ms: _Optional[int] = ..., subscribed_topics: _Optional[_Iterable[str]] = ..., subscribed_pattern: _Optional[str] = ..., assignor: _Optional[str] = ..., epoch: _Optional[int] = ..., previous_epoch: _Optional[int] = ..., assigned: _Optional[_Iterable[_Union[TopicPartitions, _Mapping]]] = ..., revoking: _Optional[_Iterable[_Union[TopicPartitions, _Mapping]]] = ..., target: _Optional[_Iterable[_Union[TopicPartitions, _Mapping]]] = ...) -> None: ...

class TopicPartitions(_message.Message):
    __slots__ = ("topic_id", "partitions")
    TOPIC_ID_FIELD_NUMBER: _ClassVar[int]
    PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    topic_id: bytes
    partitions: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, topic_id: _Optional[bytes] = ..., partitions: _Optional[_Iterable[int]] = ...) -> None: ...

class ClassicGroupKey(_message.Message):
    __slots__ = ("group_id",)
    GROUP_ID_FIELD_NUMBER: _ClassVar[int]
    group_id: str
    def __init__(self, group_id: _Optional[str] = ...) -> None: ...

class ClassicGroupValue(_message.Message):
    __slots__ = ("generation", "protocol_type", "protocol", "leader", "state_since_ms", "members")
    class Member(_message.Message):
        __slots__ = ("member_id", "instance_id", "client_id", "host", "session_timeout_ms", "rebalance_timeout_ms", "subscription", "assignment")
        MEMBER_ID_FIELD_NUMBER: _ClassVar[int]
        INSTANCE_ID_FIELD_NUMBER: _ClassVar[int]
        CLIENT_ID_FIELD_NUMBER: _ClassVar[int]
        HOST_FIELD_NUMBER: _ClassVar[int]
        SESSION_TIMEOUT_MS_FIELD_NUMBER: _ClassVar[int]
        REBALANCE_TIMEOUT_MS_FIELD_NUMBER: _ClassVar[int]
        SUBSCRIPTION_FIELD_NUMBER: _ClassVar[int]
        ASSIGNMENT_FIELD_NUMBER: _ClassVar[int]
        member_id: str
        instance_id: str
        client_id: str
        host: str
        session_timeout_ms: int
        rebalance_timeout_ms: int
        subscription: bytes
        assignment: bytes
        def __init__(self, member_id: _Optional[str] = ..., instance_id: _Optional[str] = ..., client_id: _Optional[str] = ..., host: _Optional[str] = ..., session_timeout_ms: _Optional[int] = ..., rebalance_timeout_ms: _Optional[int] = ..., subscription: _Optional[bytes] = ..., assignment: _Optional[bytes] = ...) -> None: ...
    GENERATION_FIELD_NUMBER: _ClassVar[int]
    PROTOCOL_TYPE_FIELD_NUMBER: _ClassVar[int]
    PROTOCOL_FIELD_NUMBER: _ClassVar[int]
    LEADER_FIELD_NUMBER: _ClassVar[int]
    STATE_SINCE_MS_FIELD_NUMBER: _ClassVar[int]
    MEMBERS_FIELD_NUMBER: _ClassVar[int]
    generation: int
    protocol_type: str
    protocol: str
    leader: str
    state_since_ms: int
    members: _containers.RepeatedCompositeFieldContainer[ClassicGroupValue.Member]
    def __init__(self, generation: _Optional[int] = ..., protocol_type: _Optional[str] = ..., protocol: _Optional[str] = ..., leader: _Optional[str] = ..., state_since_ms: _Optional[int] = ..., members: _Optional[_Iterable[_Union[ClassicGroupValue.Member, _Mapping]]] = ...) -> None: ...

class TransactionKey(_message.Message):
    __slots__ = ("transactional_id",)
    TRANSACTIONAL_ID_FIELD_NUMBER: _ClassVar[int]
    transactional_id: str
    def __init__(self, transactional_id: _Optional[str] = ...) -> None: ...

class TransactionValue(_message.Message):
    __slots__ = ("producer_id", "producer_epoch", "previous_producer_id", "last_epoch", "next_producer_id", "state", "timeout_ms", "topics", "start_ms", "update_ms")
    class State(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        EMPTY: _ClassVar[TransactionValue.State]
        ONGOING: _ClassVar[TransactionValue.State]
        PREPARE_COMMIT: _ClassVar[TransactionValue.State]
        PREPARE_ABORT: _ClassVar[TransactionValue.State]
        COMPLETE_COMMIT: _ClassVar[TransactionValue.State]
        COMPLETE_ABORT: _ClassVar[TransactionValue.State]
    EMPTY: TransactionValue.State
    ONGOING: TransactionValue.State
    PREPARE_COMMIT: TransactionValue.State
    PREPARE_ABORT: TransactionValue.State
    COMPLETE_COMMIT: TransactionValue.State
    COMPLETE_ABORT: TransactionValue.State
    class Topic(_message.Message):
        __slots__ = ("topic_id", "topic", "partitions")
        TOPIC_ID_FIELD_NUMBER: _ClassVar[int]
        TOPIC_FIELD_NUMBER: _ClassVar[int]
        PARTITIONS_FIELD_NUMBER: _ClassVar[int]
        topic_id: bytes
        topic: str
        partitions: _containers.RepeatedScalarFieldContainer[int]
        def __init__(self, topic_id: _Optional[bytes] = ..., topic: _Optional[str] = ..., partitions: _Optional[_Iterable[int]] = ...) -> None: ...
    PRODUCER_ID_FIELD_NUMBER: _ClassVar[int]
    PRODUCER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    PREVIOUS_PRODUCER_ID_FIELD_NUMBER: _ClassVar[int]
    LAST_EPOCH_FIELD_NUMBER: _ClassVar[int]
    NEXT_PRODUCER_ID_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_MS_FIELD_NUMBER: _ClassVar[int]
    TOPICS_FIELD_NUMBER: _ClassVar[int]
    START_MS_FIELD_NUMBER: _ClassVar[int]
    UPDATE_MS_FIELD_NUMBER: _ClassVar[int]
    producer_id: int
    producer_epoch: int
    previous_producer_id: int
    last_epoch: int
    next_producer_id: int
    state: TransactionValue.State
    timeout_ms: int
    topics: _containers.RepeatedCompositeFieldContainer[TransactionValue.Topic]
    start_ms: int
    update_ms: int
    def __init__(self, producer_id: _Optional[int] = ..., producer_epoch: _Optional[int] = ..., previous_producer_id: _Optional[int] = ..., last_epoch: _Optional[int] = ..., next_producer_id: _Optional[int] = ..., state: _Optional[_Union[TransactionValue.State, str]] = ..., timeout_ms: _Optional[int] = ..., topics: _Optional[_Iterable[_Union[TransactionValue.Topic, _Mapping]]] = ..., start_ms: _Optional[int] = ..., update_ms: _Optional[int] = ...) -> None: ...
