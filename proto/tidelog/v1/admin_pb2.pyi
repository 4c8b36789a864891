from tidelog.v1 import common_pb2 as _common_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ConfigResourceType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    TOPIC: _ClassVar[ConfigResourceType]
    CLUSTER: _ClassVar[ConfigResourceType]

class ElectionType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    PREFERRED: _ClassVar[ElectionType]
    UNCLEAN: _ClassVar[ElectionType]
TOPIC: ConfigResourceType
CLUSTER: ConfigResourceType
PREFERRED: ElectionType
UNCLEAN: ElectionType

class NewTopic(_message.Message):
    __slots__ = ("name", "partitions", "replication_factor", "configs", "assignments")
    class ConfigsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    NAME_FIELD_NUMBER: _ClassVar[int]
    PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    REPLICATION_FACTOR_FIELD_NUMBER: _ClassVar[int]
    CONFIGS_FIELD_NUMBER: _ClassVar[int]
    ASSIGNMENTS_FIELD_NUMBER: _ClassVar[int]
    name: str
    partitions: int
    replication_factor: int
    configs: _containers.ScalarMap[str, str]
    assignments: _containers.RepeatedCompositeFieldContainer[ReplicaAssignment]
    def __init__(self, name: _Optional[str] = ..., partitions: _Optional[int] = ..., replication_factor: _Optional[int] = ..., configs: _Optional[_Mapping[str, str]] = ..., assignments: _Optional[_Iterable[_Union[ReplicaAssignment, _Mapping]]] = ...) -> None: ...

class ReplicaAssignment(_message.Message):
    __slots__ = ("partition", "broker_ids")
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    BROKER_IDS_FIELD_NUMBER: _ClassVar[int]
    partition: int
    broker_ids: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, partition: _Optional[int] = ..., broker_ids: _Optional[_Iterable[int]] = ...) -> None: ...

class CreateTopicsRequest(_message.Message):
    __slots__ = ("topics", "timeout_ms", "validate_only", "command_id", "internal_topic", "from_broker", "cluster_id", "forwarded")
    TOPICS_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_MS_FIELD_NUMBER: _ClassVar[int]
    VALIDATE_ONLY_FIELD_NUMBER: _ClassVar[int]
    COMMAND_ID_FIELD_NUMBER: _ClassVar[int]
    INTERNAL_TOPIC_FIELD_NUMBER: _ClassVar[int]
    FROM_BROKER_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_ID_FIELD_NUMBER: _ClassVar[int]
    FORWARDED_FIELD_NUMBER: _ClassVar[int]
    topics: _containers.RepeatedCompositeFieldContainer[NewTopic]
    timeout_ms: int
    validate_only: bool
    command_id: bytes
    internal_topic: bool
    from_broker: bool
    cluster_id: str
    forwarded: bool
    def __init__(self, topics: _Optional[_Iterable[_Union[NewTopic, _Mapping]]] = ..., timeout_ms: _Optional[int] = ..., validate_only: _Optional[bool] = ..., command_id: _Optional[bytes] = ..., internal_topic: _Optional[bool] = ..., from_broker: _Optional[bool] = ..., cluster_id: _Optional[str] = ..., forwarded: _Optional[bool] = ...) -> None: ...

class CreateTopicsResponse(_message.Message):
    __slots__ = ("topics", "error", "controller_epoch", "cluster_id")
    class Topic(_message.Message):
        __slots__ = ("name", "error", "topic_id", "partitions", "replication_factor")
        NAME_FIELD_NUMBER: _ClassVar[int]
        ERROR_FIELD_NUMBER: _ClassVar[int]
        TOPIC_ID_FIELD_NUMBER: _ClassVar[int]
        PARTITIONS_FIELD_NUMBER: _ClassVar[int]
        REPLICATION_FACTOR_FIELD_NUMBER: _ClassVar[int]
        name: str
        error: _common_pb2.Error
        topic_id: bytes
        partitions: int
        replication_factor: int
        def __init__(self, name: _Optional[str] = ..., error: _Optional[_Union[_common_pb2.Error, _Mapping]] = ..., topic_id: _Optional[bytes] = ..., partitions: _Optional[int] = ..., replication_factor: _Optional[int] = ...) -> None: ...
    TOPICS_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    CONTROLLER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_ID_FIELD_NUMBER: _ClassVar[int]
    topics: _containers.RepeatedCompositeFieldContainer[CreateTopicsResponse.Topic]
    error: _common_pb2.Error
    controller_epoch: int
    cluster_id: str
    def __init__(self, topics: _Optional[_Iterable[_Union[CreateTopicsResponse.Topic, _Mapping]]] = ..., error: _Optional[_Union[_common_pb2.Error, _Mapping]] = ..., controller_epoch: _Optional[int] = ..., cluster_id: _Optional[str] = ...) -> None: ...

class DeleteTopicsRequest(_message.Message):
    __slots__ = ("names", "timeout_ms", "command_id", "topic_ids", "from_broker", "cluster_id", "forwarded")
    NAMES_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_MS_FIELD_NUMBER: _ClassVar[int]
    COMMAND_ID_FIELD_NUMBER: _ClassVar[int]
    TOPIC_IDS_FIELD_NUMBER: _ClassVar[int]
    FROM_BROKER_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_ID_FIELD_NUMBER: _ClassVar[int]
    FORWARDED_FIELD_NUMBER: _ClassVar[int]
    names: _containers.RepeatedScalarFieldContainer[str]
    timeout_ms: int
    command_id: bytes
    topic_ids: _containers.RepeatedScalarFieldContainer[bytes]
    from_broker: bool
    cluster_id: str
    forwarded: bool
    def __init__(self, names: _Optional[_Iterable[str]] = ..., timeout_ms: _Optional[int] = ..., command_id: _Optional[bytes] = ..., topic_ids: _Optional[_Iterable[bytes]] = ..., from_broker: _Optional[bool] = ..., cluster_id: _Optional[str] = ..., forwarded: _Optional[bool] = ...) -> None: ...

class DeleteTopicsResponse(_message.Message):
    __slots__ = ("topics", "error", "controller_epoch", "cluster_id")
    class Topic(_message.Message):
        __slots__ = ("name", "error")
        NAME_FIELD_NUMBER: _ClassVar[int]
        ERROR_FIELD_NUMBER: _ClassVar[int]
        name: str
        error: _common_pb2.Error
        def __init__(self, name: _Optional[str] = ..., error: _Optional[_Union[_common_pb2.Error, _Mapping]] = ...) -> None: ...
    TOPICS_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    CONTROLLER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_ID_FIELD_NUMBER: _ClassVar[int]
    topics: _containers.RepeatedCompositeFieldContainer[DeleteTopicsResponse.Topic]
    error: _common_pb2.Error
    controller_epoch: int
    cluster_id: str
    def __init__(self, topics: _Optional[_Iterable[_Union[DeleteTopicsResponse.Topic, _Mapping]]] = ..., error: _Optional[_Union[_common_pb2.Error, _Mapping]] = ..., controller_epoch: _Optional[int] = ..., cluster_id: _Optional[str] = ...) -> None: ...

class DescribeTopicsRequest(_message.Message):
    __slots__ = ("names",)
    NAMES_FIELD_NUMBER: _ClassVar[int]
    names: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, names: _Optional[_Iterable[str]] = ...) -> None: ...

class DescribeTopicsResponse(_message.Message):
    __slots__ = ("topics",)
    class Partition(_message.Message):
        __slots__ = ("partition", "leader_id", "leader_epoch", "partition_epoch", "replicas", "isr", "high_watermark", "log_start_offset", "log_end_offset", "elr", "last_known_leader_id", "damaged", "offline", "size_bytes")
        PARTITION_FIELD_NUMBER: _ClassVar[int]
        LEADER_ID_FIELD_NUMBER: _ClassVar[int]
        LEADER_EPOCH_FIELD_NUMBER: _ClassVar[int]
        PARTITION_EPOCH_FIELD_NUMBER: _ClassVar[int]
        REPLICAS_FIELD_NUMBER: _ClassVar[int]
        ISR_FIELD_NUMBER: _ClassVar[int]
        HIGH_WATERMARK_FIELD_NUMBER: _ClassVar[int]
        LOG_START_OFFSET_FIELD_NUMBER: _ClassVar[int]
        LOG_END_OFFSET_FIELD_NUMBER: _ClassVar[int]
        ELR_FIELD_NUMBER: _ClassVar[int]
        LAST_KNOWN_LEADER_ID_FIELD_NUMBER: _ClassVar[int]
        DAMAGED_FIELD_NUMBER: _ClassVar[int]
        OFFLINE_FIELD_NUMBER: _ClassVar[int]
        SIZE_BYTES_FIELD_NUMBER: _ClassVar[int]
        partition: int
        leader_id: int
        leader_epoch: int
        partition_epoch: int
        replicas: _containers.RepeatedScalarFieldContainer[int]
        isr: _containers.RepeatedScalarFieldContainer[int]
        high_watermark: int
        log_start_offset: int
        log_end_offset: int
        elr: _containers.RepeatedScalarFieldContainer[int]
        last_known_leader_id: int
        damaged: _containers.RepeatedScalarFieldContainer[int]
        offline: _containers.RepeatedScalarFieldContainer[int]
        size_bytes: int
        def __init__(self, partition: _Optional[int] = ..., leader_id: _Optional[int] = ..., leader_epoch: _Optional[int] = ..., partition_epoch: _Optional[int] = ..., replicas: _Optional[_Iterable[int]] = ..., isr: _Optional[_Iterable[int]] = ..., high_watermark: _Optional[int] = ..., log_start_offset: _Optional[int] = ..., log_end_offset: _Optional[int] = ..., elr: _Optional[_Iterable[int]] = ..., last_known_leader_id: _Optional[int] = ..., damaged: _Optional[_Iterable[int]] = ..., offline: _Optional[_Iterable[int]] = ..., size_bytes: _Optional[int] = ...) -> None: ...
    class Topic(_message.Message):
        __slots__ = ("name", "error", "topic_id", "configs", "partitions")
        class ConfigsEntry(_message.Message):
            __slots__ = ("key", "value")
            KEY_FIELD_NUMBER: _ClassVar[int]
            VALUE_FIELD_NUMBER: _ClassVar[int]
            key: str
            value: str
            def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
        NAME_FIELD_NUMBER: _ClassVar[int]
        ERROR_FIELD_NUMBER: _ClassVar[int]
        TOPIC_ID_FIELD_NUMBER: _ClassVar[int]
        CONFIGS_FIELD_NUMBER: _ClassVar[int]
        PARTITIONS_FIELD_NUMBER: _ClassVar[int]
        name: str
        error: _common_pb2.Error
        topic_id: bytes
        configs: _containers.ScalarMap[str, str]
        partitions: _containers.RepeatedCompositeFieldContainer[DescribeTopicsResponse.Partition]
        def __init__(self, name: _Optional[str] = ..., error: _Optional[_Union[_common_pb2.Error, _Mapping]] = ..., topic_id: _Optional[bytes] = ..., configs: _Optional[_Mapping[str, str]] = ..., partitions: _Optional[_Iterable[_Union[DescribeTopicsResponse.Partition, _Mapping]]] = ...) -> None: ...
    TOPICS_FIELD_NUMBER: _ClassVar[int]
    topics: _containers.RepeatedCompositeFieldContainer[DescribeTopicsResponse.Topic]
    def __init__(self, topics: _Optional[_Iterable[_Union[DescribeTopicsResponse.Topic, _Mapping]]] = ...) -> None: ...

class DescribeClusterRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class DescribeClusterResponse(_message.Message):
    __slots__ = ("cluster_id", "controller_id", "controller_epoch", "brokers", "controllers", "metadata_offset", "obstacles")
    class BrokerState(_message.Message):
        __slots__ = ("broker_id", "address", "broker_epoch", "fenced", "rack")
        BROKER_ID_FIELD_NUMBER: _ClassVar[int]
        ADDRESS_FIELD_NUMBER: _ClassVar[int]
        BROKER_EPOCH_FIELD_NUMBER: _ClassVar[int]
        FENCED_FIELD_NUMBER: _ClassVar[int]
        RACK_FIELD_NUMBER: _ClassVar[int]
        broker_id: int
        address: str
        broker_epoch: int
        fenced: bool
        rack: str
        def __init__(self, broker_id: _Optional[int] = ..., address: _Optional[str] = ..., broker_epoch: _Optional[int] = ..., fenced: _Optional[bool] = ..., rack: _Optional[str] = ...) -> None: ...
    CLUSTER_ID_FIELD_NUMBER: _ClassVar[int]
    CONTROLLER_ID_FIELD_NUMBER: _ClassVar[int]
    CONTROLLER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    BROKERS_FIELD_NUMBER: _ClassVar[int]
    CONTROLLERS_FIELD_NUMBER: _ClassVar[int]
    METADATA_OFFSET_FIELD_NUMBER: _ClassVar[int]
    OBSTACLES_FIELD_NUMBER: _ClassVar[int]
    cluster_id: str
    controller_id: int
    controller_epoch: int
    brokers: _containers.RepeatedCompositeFieldContainer[DescribeClusterResponse.BrokerState]
    controllers: _containers.RepeatedCompositeFieldContainer[_common_pb2.Endpoint]
    metadata_offset: int
    obstacles: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, cluster_id: _Optional[str] = ..., controller_id: _Optional[int] = ..., controller_epoch: _Optional[int] = ..., brokers: _Optional[_Iterable[_Union[DescribeClusterResponse.BrokerState, _Mapping]]] = ..., controllers: _Optional[_Iterable[_Union[_common_pb2.Endpoint, _Mapping]]] = ..., metadata_offset: _Optional[int] = ..., obstacles: _Optional[_Iterable[str]] = ...) -> None: ...

class DescribeConfigsRequest(_message.Message):
    __slots__ = ("resources",)
    class Resource(_message.Message):
        __slots__ = ("type", "name")
        TYPE_FIELD_NUMBER: _ClassVar[int]
        NAME_FIELD_NUMBER: _ClassVar[int]
        type: ConfigResourceType
        name: str
        def __init__(self, type: _Optional[_Union[ConfigResourceType, str]] = ..., name: _Optional[str] = ...) -> None: ...
    RESOURCES_FIELD_NUMBER: _ClassVar[int]
    resources: _containers.RepeatedCompositeFieldContainer[DescribeConfigsRequest.Resource]
    def __init__(self, resources: _Optional[_Iterable[_Union[DescribeConfigsRequest.Resource, _Mapping]]] = ...) -> None: ...

class DescribeConfigsResponse(_message.Message):
    __slots__ = ("resources", "error")
    class Source(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        UNKNOWN: _ClassVar[DescribeConfigsResponse.Source]
        DYNAMIC_TOPIC_CONFIG: _ClassVar[DescribeConfigsResponse.Source]
        DYNAMIC_DEFAULT_BROKER_CONFIG: _ClassVar[DescribeConfigsResponse.Source]
        DEFAULT_CONFIG: _ClassVar[DescribeConfigsResponse.Source]
    UNKNOWN: DescribeConfigsResponse.Source
    DYNAMIC_TOPIC_CONFIG: DescribeConfigsResponse.Source
    DYNAMIC_DEFAULT_BROKER_CONFIG: DescribeConfigsResponse.Source
    DEFAULT_CONFIG: DescribeConfigsResponse.Source
    class Config(_message.Message):
        __slots__ = ("name", "value", "source", "default_value", "type", "doc")
        NAME_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        SOURCE_FIELD_NUMBER: _ClassVar[int]
        DEFAULT_VALUE_FIELD_NUMBER: _ClassVar[int]
        TYPE_FIELD_NUMBER: _ClassVar[int]
        DOC_FIELD_NUMBER: _ClassVar[int]
        name: str
        value: str
        source: DescribeConfigsResponse.Source
        default_value: str
        type: str
        doc: str
        def __init__(self, name: _Optional[str] = ..., value: _Optional[str] = ..., source: _Optional[_Union[DescribeConfigsResponse.Source, str]] = ..., default_value: _Optional[str] = ..., type: _Optional[str] = ..., doc: _Optional[str] = ...) -> None: ...
    class Resource(_message.Message):
        __slots__ = ("type", "name", "error", "configs")
        TYPE_FIELD_NUMBER: _ClassVar[int]
        NAME_FIELD_NUMBER: _ClassVar[int]
        ERROR_FIELD_NUMBER: _ClassVar[int]
        CONFIGS_FIELD_NUMBER: _ClassVar[int]
        type: ConfigResourceType
        name: str
        error: _common_pb2.Error
        configs: _containers.RepeatedCompositeFieldContainer[DescribeConfigsResponse.Config]
        def __init__(self, type: _Optional[_Union[ConfigResourceType, str]] = ..., name: _Optional[str] = ..., error: _Optional[_Union[_common_pb2.Error, _Mapping]] = ..., configs: _Optional[_Iterable[_Union[DescribeConfigsResponse.Config, _Mapping]]] = ...) -> None: ...
    RESOURCES_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    resources: _containers.RepeatedCompositeFieldContainer[DescribeConfigsResponse.Resource]
    error: _common_pb2.Error
    def __init__(self, resources: _Optional[_Iterable[_Union[DescribeConfigsResponse.Resource, _Mapping]]] = ..., error: _Optional[_Union[_common_pb2.Error, _Mapping]] = ...) -> None: ...

class AlterConfigsRequest(_message.Message):
    __slots__ = ("resources", "timeout_ms", "validate_only", "command_id", "from_broker", "cluster_id", "forwarded")
    class Operation(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        SET: _ClassVar[AlterConfigsRequest.Operation]
        APPEND: _ClassVar[AlterConfigsRequest.Operation]
        SUBTRACT: _ClassVar[AlterConfigsRequest.Operation]
    SET: AlterConfigsRequest.Operation
    APPEND: AlterConfigsRequest.Operation
    SUBTRACT: AlterConfigsRequest.Operation
    class Change(_message.Message):
        __slots__ = ("key", "value", "operation")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        OPERATION_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        operation: AlterConfigsRequest.Operation
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ..., operation: _Optional[_Union[AlterConfigsRequest.Operation, str]] = ...) -> None: ...
    class Resource(_message.Message):
        __slots__ = ("type", "name", "changes", "replaces")
        TYPE_FIELD_NUMBER: _ClassVar[int]
        NAME_FIELD_NUMBER: _ClassVar[int]
        CHANGES_FIELD_NUMBER: _ClassVar[int]
        REPLACES_FIELD_NUMBER: _ClassVar[int]
        type: ConfigResourceType
        name: str
        changes: _containers.RepeatedCompositeFieldContainer[AlterConfigsRequest.Change]
        replaces: bool
        def __init__(self, type: _Optional[_Union[ConfigResourceType, str]] = ..., name: _Optional[str] = ..., changes: _Optional[_Iterable[_Union[AlterConfigsRequest.Change, _Mapping]]] = ..., replaces: _Optional[bool] = ...) -> None: ...
    RESOURCES_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_MS_FIELD_NUMBER: _ClassVar[int]
    VALIDATE_ONLY_FIELD_NUMBER: _ClassVar[int]
    COMMAND_ID_FIELD_NUMBER: _ClassVar[int]
    FROM_BROKER_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_ID_FIELD_NUMBER: _ClassVar[int]
    FORWARDED_FIELD_NUMBER: _ClassVar[int]
    resources: _containers.RepeatedCompositeFieldContainer[AlterConfigsRequest.Resource]
    timeout_ms: int
    validate_only: bool
    command_id: bytes
    from_broker: bool
    cluster_id: str
    forwarded: bool
    def __init__(self, resources: _Optional[_Iterable[_Union[AlterConfigsRequest.Resource, _Mapping]]] = ..., timeout_ms: _Optional[int] = ..., validate_only: _Optional[bool] = ..., command_id: _Optional[bytes] = ..., from_broker: _Optional[bool] = ..., cluster_id: _Optional[str] = ..., forwarded: _Optional[bool] = ...) -> None: ...

class AlterConfigsResponse(_message.Message):
    __slots__ = ("resources", "error", "metadata_offset", "controller_epoch", "cluster_id")
    class Resource(_message.Message):
        __slots__ = ("type", "name", "error")
        TYPE_FIELD_NUMBER: _ClassVar[int]
        NAME_FIELD_NUMBER: _ClassVar[int]
        ERROR_FIELD_NUMBER: _ClassVar[int]
        type: ConfigResourceType
        name: str
        error: _common_pb2.Error
        def __init__(self, type: _Optional[_Union[ConfigResourceType, str]] = ..., name: _Optional[str] = ..., error: _Optional[_Union[_common_pb2.Error, _Mapping]] = ...) -> None: ...
    RESOURCES_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    METADATA_OFFSET_FIELD_NUMBER: _ClassVar[int]
    CONTROLLER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_ID_FIELD_NUMBER: _ClassVar[int]
    resources: _containers.RepeatedCompositeFieldContainer[AlterConfigsResponse.Resource]
    error: _common_pb2.Error
    metadata_offset: int
    controller_epoch: int
    cluster_id: str
    def __init__(self, resources: _Optional[_Iterable[_Union[AlterConfigsResponse.Resource, _Mapping]]] = ..., error: _Optional[_Union[_common_pb2.Error, _Mapping]] = ..., metadata_offset: _Optional[int] = ..., controller_epoch: _Optional[int] = ..., cluster_id: _Optional[str] = ...) -> None: ...

class NodeStatusRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class NodeStatusResponse(_message.Message):
    __slots__ = ("node_id", "pid", "cluster_id", "roles", "address", "ready", "controller_id", "metadata_offset", "version", "incarnation_id")
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    PID_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_ID_FIELD_NUMBER: _ClassVar[int]
    ROLES_FIELD_NUMBER: _ClassVar[int]
    ADDRESS_FIELD_NUMBER: _ClassVar[int]
    READY_FIELD_NUMBER: _ClassVar[int]
    CONTROLLER_ID_FIELD_NUMBER: _ClassVar[int]
    METADATA_OFFSET_FIELD_NUMBER: _ClassVar[int]
    VERSION_FIELD_NUMBER: _ClassVar[int]
    INCARNATION_ID_FIELD_NUMBER: _ClassVar[int]
    node_id: int
    pid: int
    cluster_id: str
    roles: _containers.RepeatedScalarFieldContainer[str]
    address: str
    ready: bool
    controller_id: int
    metadata_offset: int
    version: str
    incarnation_id: bytes
    def __init__(self, node_id: _Optional[int] = ..., pid: _Optional[int] = ..., cluster_id: _Optional[str] = ..., roles: _Optional[_Iterable[str]] = ..., address: _Optional[str] = ..., ready: _Optional[bool] = ..., controller_id: _Optional[int] = ..., metadata_offset: _Optional[int] = ..., version: _Optional[str] = ..., incarnation_id: _Optional[bytes] = ...) -> None: ...

class PrepareStopRequest(_message.Message):
    __slots__ = ("hold_ms",)
    HOLD_MS_FIELD_NUMBER: _ClassVar[int]
    hold_ms: int
    def __init__(self, hold_ms: _Optional[int] = ...) -> None: ...

class PrepareStopResponse(_message.Message):
    __slots__ = ("error",)
    ERROR_FIELD_NUMBER: _ClassVar[int]
    error: _common_pb2.Error
    def __init__(self, error: _Optional[_Union[_common_pb2.Error, _Mapping]] = ...) -> None: ...

class ElectLeadersRequest(_message.Message):
    __slots__ = ("election_type", "topics", "timeout_ms", "from_broker", "cluster_id", "forwarded")
    class Topic(_message.Message):
        __slots__ = ("name", "partitions")
        NAME_FIELD_NUMBER: _ClassVar[int]
        PARTITIONS_FIELD_NUMBER: _ClassVar[int]
        name: str
        partitions: _containers.RepeatedScalarFieldContainer[int]
        def __init__(self, name: _Optional[str] = ..., partitions: _Optional[_Iterable[int]] = ...) -> None: ...
    ELECTION_TYPE_FIELD_NUMBER: _ClassVar[int]
    TOPICS_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_MS_FIELD_NUMBER: _ClassVar[int]
    FROM_BROKER_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_ID_FIELD_NUMBER: _ClassVar[int]
    FORWARDED_FIELD_NUMBER: _ClassVar[int]
    election_type: ElectionType
    topics: _containers.RepeatedCompositeFieldContainer[ElectLeadersRequest.Topic]
    timeout_ms: int
    from_broker: bool
    cluster_id: str
    forwarded: bool
    def __init__(self, election_type: _Optional[_Union[ElectionType, str]] = ..., topics: _Optional[_Iterable[_Union[ElectLeadersRequest.Topic, _Mapping]]] = ..., timeout_ms: _Optional[int] = ..., from_broker: _Optional[bool] = ..., cluster_id: _Optional[str] = ..., forwarded: _Optional[bool] = ...) -> None: ...

class ElectLeadersResponse(_message.Message):
    __slots__ = ("partitions", "error", "controller_epoch", "cluster_id")
    class Partition(_message.Message):
        __slots__ = ("topic", "partition", "error", "leader_id")
        TOPIC_FIELD_NUMBER: _ClassVar[int]
        PARTITION_FIELD_NUMBER: _ClassVar[int]
        ERROR_FIELD_NUMBER: _ClassVar[int]
        LEADER_ID_FIELD_NUMBER: _ClassVar[int]
        topic: str
        partition: int
        error: _common_pb2.Error
        leader_id: int
        def __init__(self, topic: _Optional[str] = ..., partition: _Optional[int] = ..., error: _Optional[_Union[_common_pb2.Error, _Mapping]] = ..., leader_id: _Optional[int] = ...) -> None: ...
    PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    CONTROLLER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_ID_FIELD_NUMBER: _ClassVar[int]
    partitions: _containers.RepeatedCompositeFieldContainer[ElectLeadersResponse.Partition]
    error: _common_pb2.Error
    controller_epoch: int
    cluster_id: str
    def __init__(self, partitions: _Optional[_Iterable[_Union[ElectLeadersResponse.Partition, _Mapping]]] = ..., error: _Optional[_Union[_common_pb2.Error, _Mapping]] = ..., controller_epoch: _Optional[int] = ..., cluster_id: _Optional[str] = ...) -> None: ...

class ListEventsRequest(_message.Message):
    __slots__ = ("topic", "partition", "kinds", "since_ms", "after_sequence", "limit", "group")
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    KINDS_FIELD_NUMBER: _ClassVar[int]
    SINCE_MS_FIELD_NUMBER: _ClassVar[int]
    AFTER_SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    topic: str
    partition: int
    kinds: _containers.RepeatedScalarFieldContainer[str]
    since_ms: int
    after_sequence: int
    limit: int
    group: str
    def __init__(self, topic: _Optional[str] = ..., partition: _Optional[int] = ..., kinds: _Optional[_Iterable[str]] = ..., since_ms: _Optional[int] = ..., after_sequence: _Optional[int] = ..., limit: _Optional[int] = ..., group: _Optional[str] = ...) -> None: ...

class ListEventsResponse(_message.Message):
    __slots__ = ("error", "node_id", "events", "has_more")
    ERROR_FIELD_NUMBER: _ClassVar[int]
    NODE_ID_FIELD_NUMBER: _ClassVar[int]
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    HAS_MORE_FIELD_NUMBER: _ClassVar[int]
    error: _common_pb2.Error
    node_id: int
    events: _containers.RepeatedCompositeFieldContainer[JournalEvent]
    has_more: bool
    def __init__(self, error: _Optional[_Union[_common_pb2.Error, _Mapping]] = ..., node_id: _Optional[int] = ..., events: _Optional[_Iterable[_Union[JournalEvent, _Mapping]]] = ..., has_more: _Optional[bool] = ...) -> None: ...

class JournalEvent(_message.Message):
    __slots__ = ("sequence", "time_ms", "last_ms", "count", "kind", "cause", "before", "after", "topic", "partition", "broker_id", "leader_epoch", "partition_epoch", "broker_epoch", "controller_epoch", "metadata_offset", "group")
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    TIME_MS_FIELD_NUMBER: _ClassVar[int]
    LAST_MS_FIELD_NUMBER: _ClassVar[int]
    COUNT_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    CAUSE_FIELD_NUMBER: _ClassVar[int]
    BEFORE_FIELD_NUMBER: _ClassVar[int]
    AFTER_FIELD_NUMBER: _ClassVar[int]
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    BROKER_ID_FIELD_NUMBER: _ClassVar[int]
    LEADER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    PARTITION_EPOCH_FIELD_NUMBER: _ClassVar[int]
    BROKER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    CONTROLLER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    METADATA_OFFSET_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    sequence: int
    time_ms: int
    last_ms: int
    count: int
    kind: str
    cause: str
    before: str
    after: str
    topic: str
    partition: int
    broker_id: int
    leader_epoch: int
    partition_epoch: int
    broker_epoch: int
    controller_epoch: int
    metadata_offset: int
    group: str
    def __init__(self, sequence: _Optional[int] = ..., time_ms: _Optional[int] = ..., last_ms: _Optional[int] = ..., count: _Optional[int] = ..., kind: _Optional[str] = ..., cause: _Optional[str] = ..., before: _Optional[str] = ..., after: _Optional[str] = ..., topic: _Optional[str] = ..., partition: _Optional[int] = ..., broker_id: _Optional[int] = ..., leader_epoch: _Optional[int] = ..., partition_epoch: _Optional[int] = ..., broker_epoch: _Optional[int] = ..., controller_epoch: _Optional[int] = ..., metadata_offset: _Optional[int] = ..., group: _Optional[str] = ...) -> None: ...

class CreatePartitionsRequest(_message.Message):
    __slots__ = ("topics", "timeout_ms", "validate_only", "command_id", "from_broker", "cluster_id", "forwarded")
    class Topic(_message.Message):
        __slots__ = ("name", "count", "assignments")
        NAME_FIELD_NUMBER: _ClassVar[int]
        COUNT_FIELD_NUMBER: _ClassVar[int]
        ASSIGNMENTS_FIELD_NUMBER: _ClassVar[int]
        name: str
        count: int
        assignments: _containers.RepeatedCompositeFieldContainer[ReplicaAssignment]
        def __init__(self, name: _Optional[str] = ..., count: _Optional[int] = ..., assignments: _Optional[_Iterable[_Union[ReplicaAssignment, _Mapping]]] = ...) -> None: ...
    TOPICS_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_MS_FIELD_NUMBER: _ClassVar[int]
    VALIDATE_ONLY_FIELD_NUMBER: _ClassVar[int]
    COMMAND_ID_FIELD_NUMBER: _ClassVar[int]
    FROM_BROKER_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_ID_FIELD_NUMBER: _ClassVar[int]
    FORWARDED_FIELD_NUMBER: _ClassVar[int]
    topics: _containers.RepeatedCompositeFieldContainer[CreatePartitionsRequest.Topic]
    timeout_ms: int
    validate_only: bool
    command_id: bytes
    from_broker: bool
    cluster_id: str
    forwarded: bool
    def __init__(self, topics: _Optional[_Iterable[_Union[CreatePartitionsRequest.Topic, _Mapping]]] = ..., timeout_ms: _Optional[int] = ..., validate_only: _Optional[bool] = ..., command_id: _Optional[bytes] = ..., from_broker: _Optional[bool] = ..., cluster_id: _Optional[str] = ..., forwarded: _Optional[bool] = ...) -> None: ...

class CreatePartitionsResponse(_message.Message):
    __slots__ = ("topics", "error", "metadata_offset", "controller_epoch", "cluster_id")
    class Topic(_message.Message):
        __slots__ = ("name", "error")
        NAME_FIELD_NUMBER: _ClassVar[int]
        ERROR_FIELD_NUMBER: _ClassVar[int]
        name: str
        error: _common_pb2.Error
        def __init__(self, name: _Optional[str] = ..., error: _Optional[_Union[_common_pb2.Error, _Mapping]] = ...) -> None: ...
    TOPICS_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    METADATA_OFFSET_FIELD_NUMBER: _ClassVar[int]
    CONTROLLER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_ID_FIELD_NUMBER: _ClassVar[int]
    topics: _containers.RepeatedCompositeFieldContainer[CreatePartitionsResponse.Topic]
    error: _common_pb2.Error
    metadata_offset: int
    controller_epoch: int
    cluster_id: str
    def __init__(self, topics: _Optional[_Iterable[_Union[CreatePartitionsResponse.Topic, _Mapping]]] = ..., error: _Optional[_Union[_common_pb2.Error, _Mapping]] = ..., metadata_offset: _Optional[int] = ..., controller_epoch: _Optional[int] = ..., cluster_id: _Optional[str] = ...) -> None: ...
