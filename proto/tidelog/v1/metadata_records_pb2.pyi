from tidelog.v1 import admin_pb2 as _admin_pb2
from tidelog.v1 import common_pb2 as _common_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class MetadataBatch(_message.Message):
    __slots__ = ("controller_id", "controller_epoch", "base_offset", "records", "command_id", "decided_ms")
    CONTROLLER_ID_FIELD_NUMBER: _ClassVar[int]
    CONTROLLER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    BASE_OFFSET_FIELD_NUMBER: _ClassVar[int]
    RECORDS_FIELD_NUMBER: _ClassVar[int]
    COMMAND_ID_FIELD_NUMBER: _ClassVar[int]
    DECIDED_MS_FIELD_NUMBER: _ClassVar[int]
    controller_id: int
    controller_epoch: int
    base_offset: int
    records: _containers.RepeatedCompositeFieldContainer[MetadataRecord]
    command_id: bytes
    decided_ms: int
    def __init__(self, controller_id: _Optional[int] = ..., controller_epoch: _Optional[int] = ..., base_offset: _Optional[int] = ..., records: _Optional[_Iterable[_Union[MetadataRecord, _Mapping]]] = ..., command_id: _Optional[bytes] = ..., decided_ms: _Optional[int] = ...) -> None: ...

class MetadataRecord(_message.Message):
    __slots__ = ("register_broker", "broker_fencing", "topic", "partition", "partition_change", "remove_topic", "config", "command", "producer_ids")
    REGISTER_BROKER_FIELD_NUMBER: _ClassVar[int]
    BROKER_FENCING_FIELD_NUMBER: _ClassVar[int]
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    PARTITION_CHANGE_FIELD_NUMBER: _ClassVar[int]
    REMOVE_TOPIC_FIELD_NUMBER: _ClassVar[int]
    CONFIG_FIELD_NUMBER: _ClassVar[int]
    COMMAND_FIELD_NUMBER: _ClassVar[int]
    PRODUCER_IDS_FIELD_NUMBER: _ClassVar[int]
    register_broker: RegisterBrokerRecord
    broker_fencing: BrokerFencingRecord
    topic: TopicRecord
    partition: PartitionRecord
    partition_change: PartitionChangeRecord
    remove_topic: RemoveTopicRecord
    config: ConfigRecord
    command: CommandRecord
    producer_ids: ProducerIdsRecord
    def __init__(self, register_broker: _Optional[_Union[RegisterBrokerRecord, _Mapping]] = ..., broker_fencing: _Optional[_Union[BrokerFencingRecord, _Mapping]] = ..., topic: _Optional[_Union[TopicRecord, _Mapping]] = ..., partition: _Optional[_Union[PartitionRecord, _Mapping]] = ..., partition_change: _Optional[_Union[PartitionChangeRecord, _Mapping]] = ..., remove_topic: _Optional[_Union[RemoveTopicRecord, _Mapping]] = ..., config: _Optional[_Union[ConfigRecord, _Mapping]] = ..., command: _Optional[_Union[CommandRecord, _Mapping]] = ..., producer_ids: _Optional[_Union[ProducerIdsRecord, _Mapping]] = ...) -> None: ...

class RegisterBrokerRecord(_message.Message):
    __slots__ = ("broker_id", "incarnation_id", "rack", "broker_epoch", "cause", "endpoints")
    BROKER_ID_FIELD_NUMBER: _ClassVar[int]
    INCARNATION_ID_FIELD_NUMBER: _ClassVar[int]
    RACK_FIELD_NUMBER: _ClassVar[int]
    BROKER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    CAUSE_FIELD_NUMBER: _ClassVar[int]
    ENDPOINTS_FIELD_NUMBER: _ClassVar[int]
    broker_id: int
    incarnation_id: bytes
    rack: str
    broker_epoch: int
    cause: str
    endpoints: _containers.RepeatedCompositeFieldContainer[_common_pb2.BrokerEndpoint]
    def __init__(self, broker_id: _Optional[int] = ..., incarnation_id: _Optional[bytes] = ..., rack: _Optional[str] = ..., broker_epoch: _Optional[int] = ..., cause: _Optional[str] = ..., endpoints: _Optional[_Iterable[_Union[_common_pb2.BrokerEndpoint, _Mapping]]] = ...) -> None: ...

class BrokerFencingRecord(_message.Message):
    __slots__ = ("broker_id", "broker_epoch", "fenced", "cause")
    BROKER_ID_FIELD_NUMBER: _ClassVar[int]
    BROKER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    FENCED_FIELD_NUMBER: _ClassVar[int]
    CAUSE_FIELD_NUMBER: _ClassVar[int]
    broker_id: int
    broker_epoch: int
    fenced: bool
    cause: str
    def __init__(self, broker_id: _Optional[int] = ..., broker_epoch: _Optional[int] = ..., fenced: _Optional[bool] = ..., cause: _Optional[str] = ...) -> None: ...

class TopicRecord(_message.Message):
    __slots__ = ("name", "topic_id")
    NAME_FIELD_NUMBER: _ClassVar[int]
    TOPIC_ID_FIELD_NUMBER: _ClassVar[int]
    name: str
    topic_id: bytes
    def __init__(self, name: _Optional[str] = ..., topic_id: _Optional[bytes] = ...) -> None: ...

class PartitionRecord(_message.Message):
    __slots__ = ("topic_id", "partition", "replicas", "isr", "leader_id", "leader_epoch", "partition_epoch", "elr", "last_known_leader_id", "damaged", "offline")
    TOPIC_ID_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    REPLICAS_FIELD_NUMBER: _ClassVar[int]
    ISR_FIELD_NUMBER: _ClassVar[int]
    LEADER_ID_FIELD_NUMBER: _ClassVar[int]
    LEADER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    PARTITION_EPOCH_FIELD_NUMBER: _ClassVar[int]
    ELR_FIELD_NUMBER: _ClassVar[int]
    LAST_KNOWN_LEADER_ID_FIELD_NUMBER: _ClassVar[int]
    DAMAGED_FIELD_NUMBER: _ClassVar[int]
    OFFLINE_FIELD_NUMBER: _ClassVar[int]
    topic_id: bytes
    partition: int
    replicas: _containers.RepeatedScalarFieldContainer[int]
    isr: _containers.RepeatedScalarFieldContainer[int]
    leader_id: int
    leader_epoch: int
    partition_epoch: int
    elr: _containers.RepeatedScalarFieldContainer[int]
    last_known_leader_id: int
    damaged: _containers.RepeatedScalarFieldContainer[int]
    offline: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, topic_id: _Optional[bytes] = ..., partition: _Optional[int] = ..., replicas: _Optional[_Iterable[int]] = ..., isr: _Optional[_Iterable[int]] = ..., leader_id: _Optional[int] = ..., leader_epoch: _Optional[int] = ..., partition_epoch: _Optional[int] = ..., elr: _Optional[_Iterable[int]] = ..., last_known_leader_id: _Optional[int] = ..., damaged: _Optional[_Iterable[int]] = ..., offline: _Optional[_Iterable[int]] = ...) -> None: ...

class PartitionChangeRecord(_message.Message):
    __slots__ = ("topic_id", "partition", "isr", "leader_id", "leader_epoch", "partition_epoch", "elr", "last_known_leader_id", "damaged", "offline", "cause")
    TOPIC_ID_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    ISR_FIELD_NUMBER: _ClassVar[int]
    LEADER_ID_FIELD_NUMBER: _ClassVar[int]
    LEADER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    PARTITION_EPOCH_FIELD_NUMBER: _ClassVar[int]
    ELR_FIELD_NUMBER: _ClassVar[int]
    LAST_KNOWN_LEADER_ID_FIELD_NUMBER: _ClassVar[int]
    DAMAGED_FIELD_NUMBER: _ClassVar[int]
    OFFLINE_FIELD_NUMBER: _ClassVar[int]
    CAUSE_FIELD_NUMBER: _ClassVar[int]
    topic_id: bytes
    partition: int
    isr: _containers.RepeatedScalarFieldContainer[int]
    leader_id: int
    leader_epoch: int
    partition_epoch: int
    elr: _containers.RepeatedScalarFieldContainer[int]
    last_known_leader_id: int
    damaged: _containers.RepeatedScalarFieldContainer[int]
    offline: _containers.RepeatedScalarFieldContainer[int]
    cause: str
    def __init__(self, topic_id: _Optional[bytes] = ..., partition: _Optional[int] = ..., isr: _Optional[_Iterable[int]] = ..., leader_id: _Optional[int] = ..., leader_epoch: _Optional[int] = ..., partition_epoch: _Optional[int] = ..., elr: _Optional[_Iterable[int]] = ..., last_known_leader_id: _Optional[int] = ..., damaged: _Optional[_Iterable[int]] = ..., offline: _Optional[_Iterable[int]] = ..., cause: _Optional[str] = ...) -> None: ...

class RemoveTopicRecord(_message.Message):
    __slots__ = ("topic_id",)
    TOPIC_ID_FIELD_NUMBER: _ClassVar[int]
    topic_id: bytes
    def __init__(self, topic_id: _Optional[bytes] = ...) -> None: ...

class ConfigRecord(_message.Message):
    __slots__ = ("resource_type", "resource_name", "key", "value")
    class ResourceType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        TOPIC: _ClassVar[ConfigRecord.ResourceType]
        CLUSTER: _ClassVar[ConfigRecord.ResourceType]
    TOPIC: ConfigRecord.ResourceType
    CLUSTER: ConfigRecord.ResourceType
    RESOURCE_TYPE_FIELD_NUMBER: _ClassVar[int]
    RESOURCE_NAME_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    resource_type: ConfigRecord.ResourceType
    resource_name: str
    key: str
    value: str
    def __init__(self, resource_type: _Optional[_Union[ConfigRecord.ResourceType, str]] = ..., resource_name: _Optional[str] = ..., key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...

class ProducerIdsRecord(_message.Message):
    __slots__ = ("broker_id", "broker_epoch", "next_producer_id")
    BROKER_ID_FIELD_NUMBER: _ClassVar[int]
    BROKER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    NEXT_PRODUCER_ID_FIELD_NUMBER: _ClassVar[int]
    broker_id: int
    broker_epoch: int
    next_producer_id: int
    def __init__(self, broker_id: _Optional[int] = ..., broker_epoch: _Optional[int] = ..., next_producer_id: _Optional[int] = ...) -> None: ...

class CommandRecord(_message.Message):
    __slots__ = ("command_id", "create_topics", "delete_topics", "alter_configs", "create_partitions", "is_unfinished", "growing_topic_id")
    COMMAND_ID_FIELD_NUMBER: _ClassVar[int]
    CREATE_TOPICS_FIELD_NUMBER: _ClassVar[int]
    DELETE_TOPICS_FIELD_NUMBER: _ClassVar[int]
    ALTER_CONFIGS_FIELD_NUMBER: _ClassVar[int]
    CREATE_PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    IS_UNFINISHED_FIELD_NUMBER: _ClassVar[int]
    GROWING_TOPIC_ID_FIELD_NUMBER: _ClassVar[int]
    command_id: bytes
    create_topics: _admin_pb2.CreateTopicsResponse
    delete_topics: _admin_pb2.DeleteTopicsResponse
    alter_configs: _admin_pb2.AlterConfigsResponse
    create_partitions: _admin_pb2.CreatePartitionsResponse
    is_unfinished: bool
    growing_topic_id: bytes
    def __init__(self, command_id: _Optional[bytes] = ..., create_topics: _Optional[_Union[_admin_pb2.CreateTopicsResponse, _Mapping]] = ..., delete_topics: _Optional[_Union[_admin_pb2.DeleteTopicsResponse, _Mapping]] = ..., alter_configs: _Optional[_Union[_admin_pb2.AlterConfigsResponse, _Mapping]] = ..., create_partitions: _Optional[_Union[_admin_pb2.CreatePartitionsResponse, _Mapping]] = ..., is_unfinished: _Optional[bool] = ..., growing_topic_id: _Optional[bytes] = ...) -> None: ...

class MetadataSnapshotPiece(_message.Message):
    __slots__ = ("offset", "controller_epoch", "number", "is_last", "records")
    OFFSET_FIELD_NUMBER: _ClassVar[int]
    CONTROLLER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    IS_LAST_FIELD_NUMBER: _ClassVar[int]
    RECORDS_FIELD_NUMBER: _ClassVar[int]
    offset: int
    controller_epoch: int
    number: int
    is_last: bool
    records: _containers.RepeatedCompositeFieldContainer[MetadataRecord]
    def __init__(self, offset: _Optional[int] = ..., controller_epoch: _Optional[int] = ..., number: _Optional[int] = ..., is_last: _Optional[bool] = ..., records: _Optional[_Iterable[_Union[MetadataRecord, _Mapping]]] = ...) -> None: ...
