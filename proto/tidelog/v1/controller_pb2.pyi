from tidelog.v1 import common_pb2 as _common_pb2
from tidelog.v1 import metadata_records_pb2 as _metadata_records_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class StartLoss(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    NOTHING: _ClassVar[StartLoss]
    UNFLUSHED: _ClassVar[StartLoss]
    EVERYTHING: _ClassVar[StartLoss]
NOTHING: StartLoss
UNFLUSHED: StartLoss
EVERYTHING: StartLoss

class RegisterBrokerRequest(_message.Message):
    __slots__ = ("broker_id", "cluster_id", "incarnation_id", "rack", "start_loss", "endpoints", "forwarded", "previous_broker_epoch")
    BROKER_ID_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_ID_FIELD_NUMBER: _ClassVar[int]
    INCARNATION_ID_FIELD_NUMBER: _ClassVar[int]
    RACK_FIELD_NUMBER: _ClassVar[int]
    START_LOSS_FIELD_NUMBER: _ClassVar[int]
    ENDPOINTS_FIELD_NUMBER: _ClassVar[int]
    FORWARDED_FIELD_NUMBER: _ClassVar[int]
    PREVIOUS_BROKER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    broker_id: int
    cluster_id: str
    incarnation_id: bytes
    rack: str
    start_loss: StartLoss
    endpoints: _containers.RepeatedCompositeFieldContainer[_common_pb2.BrokerEndpoint]
    forwarded: bool
    previous_broker_epoch: int
    def __init__(self, broker_id: _Optional[int] = ..., cluster_id: _Optional[str] = ..., incarnation_id: _Optional[bytes] = ..., rack: _Optional[str] = ..., start_loss: _Optional[_Union[StartLoss, str]] = ..., endpoints: _Optional[_Iterable[_Union[_common_pb2.BrokerEndpoint, _Mapping]]] = ..., forwarded: _Optional[bool] = ..., previous_broker_epoch: _Optional[int] = ...) -> None: ...

class RegisterBrokerResponse(_message.Message):
    __slots__ = ("error", "broker_epoch", "controller_epoch", "cluster_id")
    ERROR_FIELD_NUMBER: _ClassVar[int]
    BROKER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    CONTROLLER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_ID_FIELD_NUMBER: _ClassVar[int]
    error: _common_pb2.Error
    broker_epoch: int
    controller_epoch: int
    cluster_id: str
    def __init__(self, error: _Optional[_Union[_common_pb2.Error, _Mapping]] = ..., broker_epoch: _Optional[int] = ..., controller_epoch: _Optional[int] = ..., cluster_id: _Optional[str] = ...) -> None: ...

class BrokerHeartbeatRequest(_message.Message):
    __slots__ = ("broker_id", "broker_epoch", "metadata_offset", "want_shut_down", "cluster_id", "forwarded", "controller_epoch", "attempt")
    BROKER_ID_FIELD_NUMBER: _ClassVar[int]
    BROKER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    METADATA_OFFSET_FIELD_NUMBER: _ClassVar[int]
    WANT_SHUT_DOWN_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_ID_FIELD_NUMBER: _ClassVar[int]
    FORWARDED_FIELD_NUMBER: _ClassVar[int]
    CONTROLLER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    broker_id: int
    broker_epoch: int
    metadata_offset: int
    want_shut_down: bool
    cluster_id: str
    forwarded: bool
    controller_epoch: int
    attempt: int
    def __init__(self, broker_id: _Optional[int] = ..., broker_epoch: _Optional[int] = ..., metadata_offset: _Optional[int] = ..., want_shut_down: _Optional[bool] = ..., cluster_id: _Optional[str] = ..., forwarded: _Optional[bool] = ..., controller_epoch: _Optional[int] = ..., attempt: _Optional[int] = ...) -> None: ...

class BrokerHeartbeatResponse(_message.Message):
    __slots__ = ("error", "is_fenced", "should_shut_down", "metadata_offset", "controller_epoch", "cluster_id")
    ERROR_FIELD_NUMBER: _ClassVar[int]
    IS_FENCED_FIELD_NUMBER: _ClassVar[int]
    SHOULD_SHUT_DOWN_FIELD_NUMBER: _ClassVar[int]
    METADATA_OFFSET_FIELD_NUMBER: _ClassVar[int]
    CONTROLLER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_ID_FIELD_NUMBER: _ClassVar[int]
    error: _common_pb2.Error
    is_fenced: bool
    should_shut_down: bool
    metadata_offset: int
    controller_epoch: int
    cluster_id: str
    def __init__(self, error: _Optional[_Union[_common_pb2.Error, _Mapping]] = ..., is_fenced: _Optional[bool] = ..., should_shut_down: _Optional[bool] = ..., metadata_offset: _Optional[int] = ..., controller_epoch: _Optional[int] = ..., cluster_id: _Optional[str] = ...) -> None: ...

class AlterPartitionRequest(_message.Message):
    __slots__ = ("broker_id", "broker_epoch", "partitions", "cluster_id", "forwarded", "controller_epoch", "attempt")
    class Member(_message.Message):
        __slots__ = ("broker_id", "broker_epoch")
        BROKER_ID_FIELD_NUMBER: _ClassVar[int]
        BROKER_EPOCH_FIELD_NUMBER: _ClassVar[int]
        broker_id: int
        broker_epoch: int
        def __init__(self, broker_id: _Optional[int] = ..., broker_epoch: _Optional[int] = ...) -> None: ...
    class Partition(_message.Message):
        __slots__ = ("topic", "topic_id", "partition", "leader_epoch", "partition_epoch", "new_isr", "cause")
        TOPIC_FIELD_NUMBER: _ClassVar[int]
        TOPIC_ID_FIELD_NUMBER: _ClassVar[int]
        PARTITION_FIELD_NUMBER: _ClassVar[int]
        LEADER_EPOCH_FIELD_NUMBER: _ClassVar[int]
        PARTITION_EPOCH_FIELD_NUMBER: _ClassVar[int]
        NEW_ISR_FIELD_NUMBER: _ClassVar[int]
        CAUSE_FIELD_NUMBER: _ClassVar[int]
        topic: str
        topic_id: bytes
        partition: int
        leader_epoch: int
        partition_epoch: int
        new_isr: _containers.RepeatedCompositeFieldContainer[AlterPartitionRequest.Member]
        cause: str
        def __init__(self, topic: _Optional[str] = ..., topic_id: _Optional[bytes] = ..., partition: _Optional[int] = ..., leader_epoch: _Optional[int] = ..., partition_epoch: _Optional[int] = ..., new_isr: _Optional[_Iterable[_Union[AlterPartitionRequest.Member, _Mapping]]] = ..., cause: _Optional[str] = ...) -> None: ...
    BROKER_ID_FIELD_NUMBER: _ClassVar[int]
    BROKER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_ID_FIELD_NUMBER: _ClassVar[int]
    FORWARDED_FIELD_NUMBER: _ClassVar[int]
    CONTROLLER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    broker_id: int
    broker_epoch: int
    partitions: _containers.RepeatedCompositeFieldContainer[AlterPartitionRequest.Partition]
    cluster_id: str
    forwarded: bool
    controller_epoch: int
    attempt: int
    def __init__(self, broker_id: _Optional[int] = ..., broker_epoch: _Optional[int] = ..., partitions: _Optional[_Iterable[_Union[AlterPartitionRequest.Partition, _Mapping]]] = ..., cluster_id: _Optional[str] = ..., forwarded: _Optional[bool] = ..., controller_epoch: _Optional[int] = ..., attempt: _Optional[int] = ...) -> None: ...

class AlterPartitionResponse(_message.Message):
    __slots__ = ("error", "partitions", "controller_epoch", "cluster_id")
    class Partition(_message.Message):
        __slots__ = ("topic", "partition", "error", "leader_id", "leader_epoch", "partition_epoch", "isr", "elr")
        TOPIC_FIELD_NUMBER: _ClassVar[int]
        PARTITION_FIELD_NUMBER: _ClassVar[int]
        ERROR_FIELD_NUMBER: _ClassVar[int]
        LEADER_ID_FIELD_NUMBER: _ClassVar[int]
        LEADER_EPOCH_FIELD_NUMBER: _ClassVar[int]
        PARTITION_EPOCH_FIELD_NUMBER: _ClassVar[int]
        ISR_FIELD_NUMBER: _ClassVar[int]
        ELR_FIELD_NUMBER: _ClassVar[int]
        topic: str
        partition: int
        error: _common_pb2.Error
        leader_id: int
        leader_epoch: int
        partition_epoch: int
        isr: _containers.RepeatedScalarFieldContainer[int]
        elr: _containers.RepeatedScalarFieldContainer[int]
        def __init__(self, topic: _Optional[str] = ..., partition: _Optional[int] = ..., error: _Optional[_Union[_common_pb2.Error, _Mapping]] = ..., leader_id: _Optional[int] = ..., leader_epoch: _Optional[int] = ..., partition_epoch: _Optional[int] = ..., isr: _Optional[_Iterable[int]] = ..., elr: _Optional[_Iterable[int]] = ...) -> None: ...
    ERROR_FIELD_NUMBER: _ClassVar[int]
    PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    CONTROLLER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_ID_FIELD_NUMBER: _ClassVar[int]
    error: _common_pb2.Error
    partitions: _containers.RepeatedCompositeFieldContainer[AlterPartitionResponse.Partition]
    controller_epoch: int
    cluster_id: str
    def __init__(self, error: _Optional[_Union[_common_pb2.Error, _Mapping]] = ..., partitions: _Optional[_Iterable[_Union[AlterPartitionResponse.Partition, _Mapping]]] = ..., controller_epoch: _Optional[int] = ..., cluster_id: _Optional[str] = ...) -> None: ...

class FollowMetadataRequest(_message.Message):
    __slots__ = ("from_offset", "broker_id", "accepts_snapshot", "cluster_id")
    FROM_OFFSET_FIELD_NUMBER: _ClassVar[int]
    BROKER_ID_FIELD_NUMBER: _ClassVar[int]
    ACCEPTS_SNAPSHOT_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_ID_FIELD_NUMBER: _ClassVar[int]
    from_offset: int
    broker_id: int
    accepts_snapshot: bool
    cluster_id: str
    def __init__(self, from_offset: _Optional[int] = ..., broker_id: _Optional[int] = ..., accepts_snapshot: _Optional[bool] = ..., cluster_id: _Optional[str] = ...) -> None: ...

class FollowMetadataResponse(_message.Message):
    __slots__ = ("entries", "committed_offset", "leader_id", "snapshot", "controller_epoch", "cluster_id")
    class Entry(_message.Message):
        __slots__ = ("offset", "batch")
        OFFSET_FIELD_NUMBER: _ClassVar[int]
        BATCH_FIELD_NUMBER: _ClassVar[int]
        offset: int
        batch: _metadata_records_pb2.MetadataBatch
        def __init__(self, offset: _Optional[int] = ..., batch: _Optional[_Union[_metadata_records_pb2.MetadataBatch, _Mapping]] = ...) -> None: ...
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    COMMITTED_OFFSET_FIELD_NUMBER: _ClassVar[int]
    LEADER_ID_FIELD_NUMBER: _ClassVar[int]
    SNAPSHOT_FIELD_NUMBER: _ClassVar[int]
    CONTROLLER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_ID_FIELD_NUMBER: _ClassVar[int]
    entries: _containers.RepeatedCompositeFieldContainer[FollowMetadataResponse.Entry]
    committed_offset: int
    leader_id: int
    snapshot: _metadata_records_pb2.MetadataSnapshotPiece
    controller_epoch: int
    cluster_id: str
    def __init__(self, entries: _Optional[_Iterable[_Union[FollowMetadataResponse.Entry, _Mapping]]] = ..., committed_offset: _Optional[int] = ..., leader_id: _Optional[int] = ..., snapshot: _Optional[_Union[_metadata_records_pb2.MetadataSnapshotPiece, _Mapping]] = ..., controller_epoch: _Optional[int] = ..., cluster_id: _Optional[str] = ...) -> None: ...

class DescribeQuorumRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class DescribeQuorumResponse(_message.Message):
    __slots__ = ("error", "node_id", "role", "term", "leader_id", "last_index", "commit_index", "applied_index", "snapshot_index", "snapshot_bytes", "wal_bytes", "last_contact_ms", "peers", "voters", "cluster_id")
    class Peer(_message.Message):
        __slots__ = ("node_id", "match_index", "last_contact_ms")
        NODE_ID_FIELD_NUMBER: _ClassVar[int]
        MATCH_INDEX_FIELD_NUMBER: _ClassVar[int]
        LAST_CONTACT_MS_FIELD_NUMBER: _ClassVar[int]
        node_id: int
        match_index: int
        last_contact_ms: int
        def __init__(self, node_id: _Optional[int] = ..., match_index: _Optional[int] = ..., last_contact_ms: _Optional[int] = ...) -> None: ...
    ERROR_FIELD_NUMBER: _ClassVar[int]
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    ROLE_FIELD_NUMBER: _ClassVar[int]
    TERM_FIELD_NUMBER: _ClassVar[int]
    LEADER_ID_FIELD_NUMBER: _ClassVar[int]
    LAST_INDEX_FIELD_NUMBER: _ClassVar[int]
    COMMIT_INDEX_FIELD_NUMBER: _ClassVar[int]
    APPLIED_INDEX_FIELD_NUMBER: _ClassVar[int]
    SNAPSHOT_INDEX_FIELD_NUMBER: _ClassVar[int]
    SNAPSHOT_BYTES_FIELD_NUMBER: _ClassVar[int]
    WAL_BYTES_FIELD_NUMBER: _ClassVar[int]
    LAST_CONTACT_MS_FIELD_NUMBER: _ClassVar[int]
    PEERS_FIELD_NUMBER: _ClassVar[int]
    VOTERS_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_ID_FIELD_NUMBER: _ClassVar[int]
    error: _common_pb2.Error
    node_id: int
    role: str
    term: int
    leader_id: int
    last_index: int
    commit_index: int
    applied_index: int
    snapshot_index: int
    snapshot_bytes: int
    wal_bytes: int
    last_contact_ms: int
    peers: _containers.RepeatedCompositeFieldContainer[DescribeQuorumResponse.Peer]
    voters: _containers.RepeatedCompositeFieldContainer[_common_pb2.Endpoint]
    cluster_id: str
    def __init__(self, error: _Optional[_Union[_common_pb2.Error, _Mapping]] = ..., node_id: _Optional[int] = ..., role: _Optional[str] = ..., term: _Optional[int] = ..., leader_id: _Optional[int] = ..., last_index: _Optional[int] = ..., commit_index: _Optional[int] = ..., applied_index: _Optional[int] = ..., snapshot_index: _Optional[int] = ..., snapshot_bytes: _Optional[int] = ..., wal_bytes: _Optional[int] = ..., last_contact_ms: _Optional[int] = ..., peers: _Optional[_Iterable[_Union[DescribeQuorumResponse.Peer, _Mapping]]] = ..., voters: _Optional[_Iterable[_Union[_common_pb2.Endpoint, _Mapping]]] = ..., cluster_id: _Optional[str] = ...) -> None: ...

class AllocateProducerIdsRequest(_message.Message):
    __slots__ = ("broker_id", "broker_epoch", "cluster_id", "forwarded")
    BROKER_ID_FIELD_NUMBER: _ClassVar[int]
    BROKER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_ID_FIELD_NUMBER: _ClassVar[int]
    FORWARDED_FIELD_NUMBER: _ClassVar[int]
    broker_id: int
    broker_epoch: int
    cluster_id: str
    forwarded: bool
    def __init__(self, broker_id: _Optional[int] = ..., broker_epoch: _Optional[int] = ..., cluster_id: _Optional[str] = ..., forwarded: _Optional[bool] = ...) -> None: ...

class AllocateProducerIdsResponse(_message.Message):
    __slots__ = ("error", "producer_id_start", "producer_id_len", "controller_epoch", "cluster_id")
    ERROR_FIELD_NUMBER: _ClassVar[int]
    PRODUCER_ID_START_FIELD_NUMBER: _ClassVar[int]
    PRODUCER_ID_LEN_FIELD_NUMBER: _ClassVar[int]
    CONTROLLER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_ID_FIELD_NUMBER: _ClassVar[int]
    error: _common_pb2.Error
    producer_id_start: int
    producer_id_len: int
    controller_epoch: int
    cluster_id: str
    def __init__(self, error: _Optional[_Union[_common_pb2.Error, _Mapping]] = ..., producer_id_start: _Optional[int] = ..., producer_id_len: _Optional[int] = ..., controller_epoch: _Optional[int] = ..., cluster_id: _Optional[str] = ...) -> None: ...

class ReportReplicaStateRequest(_message.Message):
    __slots__ = ("broker_id", "broker_epoch", "partitions", "cluster_id", "forwarded", "controller_epoch", "attempt")
    class Condition(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        DAMAGED: _ClassVar[ReportReplicaStateRequest.Condition]
        OFFLINE: _ClassVar[ReportReplicaStateRequest.Condition]
        ONLINE: _ClassVar[ReportReplicaStateRequest.Condition]
        SYNC_FAILED: _ClassVar[ReportReplicaStateRequest.Condition]
        LOSSY_START: _ClassVar[ReportReplicaStateRequest.Condition]
    DAMAGED: ReportReplicaStateRequest.Condition
    OFFLINE: ReportReplicaStateRequest.Condition
    ONLINE: ReportReplicaStateRequest.Condition
    SYNC_FAILED: ReportReplicaStateRequest.Condition
    LOSSY_START: ReportReplicaStateRequest.Condition
    class Partition(_message.Message):
        __slots__ = ("topic", "topic_id", "partition", "partition_epoch", "first_bad_offset", "condition", "cause", "served_leader_epoch")
        TOPIC_FIELD_NUMBER: _ClassVar[int]
        TOPIC_ID_FIELD_NUMBER: _ClassVar[int]
        PARTITION_FIELD_NUMBER: _ClassVar[int]
        PARTITION_EPOCH_FIELD_NUMBER: _ClassVar[int]
        FIRST_BAD_OFFSET_FIELD_NUMBER: _ClassVar[int]
        CONDITION_FIELD_NUMBER: _ClassVar[int]
        CAUSE_FIELD_NUMBER: _ClassVar[int]
        SERVED_LEADER_EPOCH_FIELD_NUMBER: _ClassVar[int]
        topic: str
        topic_id: bytes
        partition: int
        partition_epoch: int
        first_bad_offset: int
        condition: ReportReplicaStateRequest.Condition
        cause: str
        served_leader_epoch: int
        def __init__(self, topic: _Optional[str] = ..., topic_id: _Optional[bytes] = ..., partition: _Optional[int] = ..., partition_epoch: _Optional[int] = ..., first_bad_offset: _Optional[int] = ..., condition: _Optional[_Union[ReportReplicaStateRequest.Condition, str]] = ..., cause: _Optional[str] = ..., served_leader_epoch: _Optional[int] = ...) -> None: ...
    BROKER_ID_FIELD_NUMBER: _ClassVar[int]
    BROKER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_ID_FIELD_NUMBER: _ClassVar[int]
    FORWARDED_FIELD_NUMBER: _ClassVar[int]
    CONTROLLER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    ATTEMPT_FIELD_NUMBER: _ClassVar[int]
    broker_id: int
    broker_epoch: int
    partitions: _containers.RepeatedCompositeFieldContainer[ReportReplicaStateRequest.Partition]
    cluster_id: str
    forwarded: bool
    controller_epoch: int
    attempt: int
    def __init__(self, broker_id: _Optional[int] = ..., broker_epoch: _Optional[int] = ..., partitions: _Optional[_Iterable[_Union[ReportReplicaStateRequest.Partition, _Mapping]]] = ..., cluster_id: _Optional[str] = ..., forwarded: _Optional[bool] = ..., controller_epoch: _Optional[int] = ..., attempt: _Optional[int] = ...) -> None: ...

class ReportReplicaStateResponse(_message.Message):
    __slots__ = ("error", "partitions", "controller_epoch", "cluster_id")
    class Partition(_message.Message):
        __slots__ = ("topic", "partition", "error")
        TOPIC_FIELD_NUMBER: _ClassVar[int]
        PARTITION_FIELD_NUMBER: _ClassVar[int]
        ERROR_FIELD_NUMBER: _ClassVar[int]
        topic: str
        partition: int
        error: _common_pb2.Error
        def __init__(self, topic: _Optional[str] = ..., partition: _Optional[int] = ..., error: _Optional[_Union[_common_pb2.Error, _Mapping]] = ...) -> None: ...
    ERROR_FIELD_NUMBER: _ClassVar[int]
    PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    CONTROLLER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_ID_FIELD_NUMBER: _ClassVar[int]
    error: _common_pb2.Error
    partitions: _containers.RepeatedCompositeFieldContainer[ReportReplicaStateResponse.Partition]
    controller_epoch: int
    cluster_id: str
    def __init__(self, error: _Optional[_Union[_common_pb2.Error, _Mapping]] = ..., partitions: _Optional[_Iterable[_Union[ReportReplicaStateResponse.Partition, _Mapping]]] = ..., controller_epoch: _Optional[int] = ..., cluster_id: _Optional[str] = ...) -> None: ...

class ReportUnreachableBrokerRequest(_message.Message):
    __slots__ = ("broker_id", "broker_epoch", "reporter_id", "reporter_epoch", "cluster_id", "forwarded")
    BROKER_ID_FIELD_NUMBER: _ClassVar[int]
    BROKER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    REPORTER_ID_FIELD_NUMBER: _ClassVar[int]
    REPORTER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_ID_FIELD_NUMBER: _ClassVar[int]
    FORWARDED_FIELD_NUMBER: _ClassVar[int]
    broker_id: int
    broker_epoch: int
    reporter_id: int
    reporter_epoch: int
    cluster_id: str
    forwarded: bool
    def __init__(self, broker_id: _Optional[int] = ..., broker_epoch: _Optional[int] = ..., reporter_id: _Optional[int] = ..., reporter_epoch: _Optional[int] = ..., cluster_id: _Optional[str] = ..., forwarded: _Optional[bool] = ...) -> None: ...

class ReportUnreachableBrokerResponse(_message.Message):
    __slots__ = ("error", "is_fenced", "controller_epoch", "cluster_id")
    ERROR_FIELD_NUMBER: _ClassVar[int]
    IS_FENCED_FIELD_NUMBER: _ClassVar[int]
    CONTROLLER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_ID_FIELD_NUMBER: _ClassVar[int]
    error: _common_pb2.Error
    is_fenced: bool
    controller_epoch: int
    cluster_id: str
    def __init__(self, error: _Optional[_Union[_common_pb2.Error, _Mapping]] = ..., is_fenced: _Optional[bool] = ..., controller_epoch: _Optional[int] = ..., cluster_id: _Optional[str] = ...) -> None: ...
