from tidelog.v1 import common_pb2 as _common_pb2
from tidelog.v1 import coordinator_records_pb2 as _coordinator_records_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

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
    __slots__ = ("error", "member_id", "member_epoch", "heartbeat_interval_ms", "session_timeout_ms", "assignment", "assignment_version")
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
    error: _common_pb2.Error
    member_id: str
    member_epoch: int
    heartbeat_interval_ms: int
    session_timeout_ms: int
    assignment: ConsumerGroupHeartbeatResponse.Assignment
    assignment_version: int
    def __init__(self, error: _Optional[_Union[_common_pb2.Error, _Mapping]] = ..., member_id: _Optional[str] = ..., member_epoch: _Optional[int] = ..., heartbeat_interval_ms: _Optional[int] = ..., session_timeout_ms: _Optional[int] = ..., assignment: _Optional[_Union[ConsumerGroupHeartbeatResponse.Assignment, _Mapping]] = ..., assignment_version: _Optional[int] = ...) -> None: ...
