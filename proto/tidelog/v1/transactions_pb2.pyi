from tidelog.v1 import common_pb2 as _common_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class InitTransactionalProducerRequest(_message.Message):
    __slots__ = ("transactional_id", "transaction_timeout_ms", "producer_id", "producer_epoch")
    TRANSACTIONAL_ID_FIELD_NUMBER: _ClassVar[int]
    TRANSACTION_TIMEOUT_MS_FIELD_NUMBER: _ClassVar[int]
    PRODUCER_ID_FIELD_NUMBER: _ClassVar[int]
    PRODUCER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    transactional_id: str
    transaction_timeout_ms: int
    producer_id: int
    producer_epoch: int
    def __init__(self, transactional_id: _Optional[str] = ..., transaction_timeout_ms: _Optional[int] = ..., producer_id: _Optional[int] = ..., producer_epoch: _Optional[int] = ...) -> None: ...

class InitTransactionalProducerResponse(_message.Message):
    __slots__ = ("error", "coordinator", "producer_id", "producer_epoch")
    ERROR_FIELD_NUMBER: _ClassVar[int]
    COORDINATOR_FIELD_NUMBER: _ClassVar[int]
    PRODUCER_ID_FIELD_NUMBER: _ClassVar[int]
    PRODUCER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    error: _common_pb2.Error
    coordinator: _common_pb2.LeaderHint
    producer_id: int
    producer_epoch: int
    def __init__(self, error: _Optional[_Union[_common_pb2.Error, _Mapping]] = ..., coordinator: _Optional[_Union[_common_pb2.LeaderHint, _Mapping]] = ..., producer_id: _Optional[int] = ..., producer_epoch: _Optional[int] = ...) -> None: ...

class TransactionTopic(_message.Message):
    __slots__ = ("topic", "topic_id", "partitions")
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    TOPIC_ID_FIELD_NUMBER: _ClassVar[int]
    PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    topic: str
    topic_id: bytes
    partitions: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, topic: _Optional[str] = ..., topic_id: _Optional[bytes] = ..., partitions: _Optional[_Iterable[int]] = ...) -> None: ...

class AddPartitionsToTransactionsRequest(_message.Message):
    __slots__ = ("transactions", "cluster_id")
    class Transaction(_message.Message):
        __slots__ = ("transactional_id", "producer_id", "producer_epoch", "topics")
        TRANSACTIONAL_ID_FIELD_NUMBER: _ClassVar[int]
        PRODUCER_ID_FIELD_NUMBER: _ClassVar[int]
        PRODUCER_EPOCH_FIELD_NUMBER: _ClassVar[int]
        TOPICS_FIELD_NUMBER: _ClassVar[int]
        transactional_id: str
        producer_id: int
        producer_epoch: int
        topics: _containers.RepeatedCompositeFieldContainer[TransactionTopic]
        def __init__(self, transactional_id: _Optional[str] = ..., producer_id: _Optional[int] = ..., producer_epoch: _Optional[int] = ..., topics: _Optional[_Iterable[_Union[TransactionTopic, _Mapping]]] = ...) -> None: ...
    TRANSACTIONS_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_ID_FIELD_NUMBER: _ClassVar[int]
    transactions: _containers.RepeatedCompositeFieldContainer[AddPartitionsToTransactionsRequest.Transaction]
    cluster_id: str
    def __init__(self, transactions: _Optional[_Iterable[_Union[AddPartitionsToTransactionsRequest.Transaction, _Mapping]]] = ..., cluster_id: _Optional[str] = ...) -> None: ...

class AddPartitionsToTransactionsResponse(_message.Message):
    __slots__ = ("error", "transactions", "cluster_id")
    class Transaction(_message.Message):
        __slots__ = ("transactional_id", "error", "coordinator")
        TRANSACTIONAL_ID_FIELD_NUMBER: _ClassVar[int]
        ERROR_FIELD_NUMBER: _ClassVar[int]
        COORDINATOR_FIELD_NUMBER: _ClassVar[int]
        transactional_id: str
        error: _common_pb2.Error
        coordinator: _common_pb2.LeaderHint
        def __init__(self, transactional_id: _Optional[str] = ..., error: _Optional[_Union[_common_pb2.Error, _Mapping]] = ..., coordinator: _Optional[_Union[_common_pb2.LeaderHint, _Mapping]] = ...) -> None: ...
    ERROR_FIELD_NUMBER: _ClassVar[int]
    TRANSACTIONS_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_ID_FIELD_NUMBER: _ClassVar[int]
    error: _common_pb2.Error
    transactions: _containers.RepeatedCompositeFieldContainer[AddPartitionsToTransactionsResponse.Transaction]
    cluster_id: str
    def __init__(self, error: _Optional[_Union[_common_pb2.Error, _Mapping]] = ..., transactions: _Optional[_Iterable[_Union[AddPartitionsToTransactionsResponse.Transaction, _Mapping]]] = ..., cluster_id: _Optional[str] = ...) -> None: ...

class EndTransactionRequest(_message.Message):
    __slots__ = ("transactional_id", "producer_id", "producer_epoch", "commit")
    TRANSACTIONAL_ID_FIELD_NUMBER: _ClassVar[int]
    PRODUCER_ID_FIELD_NUMBER: _ClassVar[int]
    PRODUCER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    COMMIT_FIELD_NUMBER: _ClassVar[int]
    transactional_id: str
    producer_id: int
    producer_epoch: int
    commit: bool
    def __init__(self, transactional_id: _Optional[str] = ..., producer_id: _Optional[int] = ..., producer_epoch: _Optional[int] = ..., commit: _Optional[bool] = ...) -> None: ...

class EndTransactionResponse(_message.Message):
    __slots__ = ("error", "coordinator", "producer_id", "producer_epoch")
    ERROR_FIELD_NUMBER: _ClassVar[int]
    COORDINATOR_FIELD_NUMBER: _ClassVar[int]
    PRODUCER_ID_FIELD_NUMBER: _ClassVar[int]
    PRODUCER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    error: _common_pb2.Error
    coordinator: _common_pb2.LeaderHint
    producer_id: int
    producer_epoch: int
    def __init__(self, error: _Optional[_Union[_common_pb2.Error, _Mapping]] = ..., coordinator: _Optional[_Union[_common_pb2.LeaderHint, _Mapping]] = ..., producer_id: _Optional[int] = ..., producer_epoch: _Optional[int] = ...) -> None: ...

class TransactionMember(_message.Message):
    __slots__ = ("transactional_id", "producer_id", "producer_epoch")
    TRANSACTIONAL_ID_FIELD_NUMBER: _ClassVar[int]
    PRODUCER_ID_FIELD_NUMBER: _ClassVar[int]
    PRODUCER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    transactional_id: str
    producer_id: int
    producer_epoch: int
    def __init__(self, transactional_id: _Optional[str] = ..., producer_id: _Optional[int] = ..., producer_epoch: _Optional[int] = ...) -> None: ...

class EndTransactionsRequest(_message.Message):
    __slots__ = ("group", "members")
    GROUP_FIELD_NUMBER: _ClassVar[int]
    MEMBERS_FIELD_NUMBER: _ClassVar[int]
    group: str
    members: _containers.RepeatedCompositeFieldContainer[TransactionMember]
    def __init__(self, group: _Optional[str] = ..., members: _Optional[_Iterable[_Union[TransactionMember, _Mapping]]] = ...) -> None: ...

class EndTransactionsResponse(_message.Message):
    __slots__ = ("error", "coordinator")
    ERROR_FIELD_NUMBER: _ClassVar[int]
    COORDINATOR_FIELD_NUMBER: _ClassVar[int]
    error: _common_pb2.Error
    coordinator: _common_pb2.LeaderHint
    def __init__(self, error: _Optional[_Union[_common_pb2.Error, _Mapping]] = ..., coordinator: _Optional[_Union[_common_pb2.LeaderHint, _Mapping]] = ...) -> None: ...

class AbortTransactionRequest(_message.Message):
    __slots__ = ("transactional_id",)
    TRANSACTIONAL_ID_FIELD_NUMBER: _ClassVar[int]
    transactional_id: str
    def __init__(self, transactional_id: _Optional[str] = ...) -> None: ...

class AbortTransactionResponse(_message.Message):
    __slots__ = ("error", "coordinator", "producer_id", "producer_epoch")
    ERROR_FIELD_NUMBER: _ClassVar[int]
    COORDINATOR_FIELD_NUMBER: _ClassVar[int]
    PRODUCER_ID_FIELD_NUMBER: _ClassVar[int]
    PRODUCER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    error: _common_pb2.Error
    coordinator: _common_pb2.LeaderHint
    producer_id: int
    producer_epoch: int
    def __init__(self, error: _Optional[_Union[_common_pb2.Error, _Mapping]] = ..., coordinator: _Optional[_Union[_common_pb2.LeaderHint, _Mapping]] = ..., producer_id: _Optional[int] = ..., producer_epoch: _Optional[int] = ...) -> None: ...

class ListTransactionsRequest(_message.Message):
    __slots__ = ("after_transactional_id", "states", "producer_ids")
    AFTER_TRANSACTIONAL_ID_FIELD_NUMBER: _ClassVar[int]
    STATES_FIELD_NUMBER: _ClassVar[int]
    PRODUCER_IDS_FIELD_NUMBER: _ClassVar[int]
    after_transactional_id: str
    states: _containers.RepeatedScalarFieldContainer[str]
    producer_ids: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, after_transactional_id: _Optional[str] = ..., states: _Optional[_Iterable[str]] = ..., producer_ids: _Optional[_Iterable[int]] = ...) -> None: ...

class ListTransactionsResponse(_message.Message):
    __slots__ = ("error", "transactions", "has_more")
    class Transaction(_message.Message):
        __slots__ = ("transactional_id", "producer_id", "producer_epoch", "state", "age_ms")
        TRANSACTIONAL_ID_FIELD_NUMBER: _ClassVar[int]
        PRODUCER_ID_FIELD_NUMBER: _ClassVar[int]
        PRODUCER_EPOCH_FIELD_NUMBER: _ClassVar[int]
        STATE_FIELD_NUMBER: _ClassVar[int]
        AGE_MS_FIELD_NUMBER: _ClassVar[int]
        transactional_id: str
        producer_id: int
        producer_epoch: int
        state: str
        age_ms: int
        def __init__(self, transactional_id: _Optional[str] = ..., producer_id: _Optional[int] = ..., producer_epoch: _Optional[int] = ..., state: _Optional[str] = ..., age_ms: _Optional[int] = ...) -> None: ...
    ERROR_FIELD_NUMBER: _ClassVar[int]
    TRANSACTIONS_FIELD_NUMBER: _ClassVar[int]
    HAS_MORE_FIELD_NUMBER: _ClassVar[int]
    error: _common_pb2.Error
    transactions: _containers.RepeatedCompositeFieldContainer[ListTransactionsResponse.Transaction]
    has_more: bool
    def __init__(self, error: _Optional[_Union[_common_pb2.Error, _Mapping]] = ..., transactions: _Optional[_Iterable[_Union[ListTransactionsResponse.Transaction, _Mapping]]] = ..., has_more: _Optional[bool] = ...) -> None: ...

class DescribeTransactionsRequest(_message.Message):
    __slots__ = ("transactional_ids",)
    TRANSACTIONAL_IDS_FIELD_NUMBER: _ClassVar[int]
    transactional_ids: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, transactional_ids: _Optional[_Iterable[str]] = ...) -> None: ...

class DescribeTransactionsResponse(_message.Message):
    __slots__ = ("error", "transactions")
    class Transaction(_message.Message):
        __slots__ = ("transactional_id", "error", "coordinator", "producer_id", "producer_epoch", "state", "transaction_timeout_ms", "start_ms", "age_ms", "coordinator_epoch", "topics")
        TRANSACTIONAL_ID_FIELD_NUMBER: _ClassVar[int]
        ERROR_FIELD_NUMBER: _ClassVar[int]
        COORDINATOR_FIELD_NUMBER: _ClassVar[int]
        PRODUCER_ID_FIELD_NUMBER: _ClassVar[int]
        PRODUCER_EPOCH_FIELD_NUMBER: _ClassVar[int]
        STATE_FIELD_NUMBER: _ClassVar[int]
        TRANSACTION_TIMEOUT_MS_FIELD_NUMBER: _ClassVar[int]
        START_MS_FIELD_NUMBER: _ClassVar[int]
        AGE_MS_FIELD_NUMBER: _ClassVar[int]
        COORDINATOR_EPOCH_FIELD_NUMBER: _ClassVar[int]
        TOPICS_FIELD_NUMBER: _ClassVar[int]
        transactional_id: str
        error: _common_pb2.Error
        coordinator: _common_pb2.LeaderHint
        producer_id: int
        producer_epoch: int
        state: str
        transaction_timeout_ms: int
        start_ms: int
        age_ms: int
        coordinator_epoch: int
        topics: _containers.RepeatedCompositeFieldContainer[TransactionTopic]
        def __init__(self, transactional_id: _Optional[str] = ..., error: _Optional[_Union[_common_pb2.Error, _Mapping]] = ..., coordinator: _Optional[_Union[_common_pb2.LeaderHint, _Mapping]] = ..., producer_id: _Optional[int] = ..., producer_epoch: _Optional[int] = ..., state: _Optional[str] = ..., transaction_timeout_ms: _Optional[int] = ..., start_ms: _Optional[int] = ..., age_ms: _Optional[int] = ..., coordinator_epoch: _Optional[int] = ..., topics: _Optional[_Iterable[_Union[TransactionTopic, _Mapping]]] = ...) -> None: ...
    ERROR_FIELD_NUMBER: _ClassVar[int]
    TRANSACTIONS_FIELD_NUMBER: _ClassVar[int]
    error: _common_pb2.Error
    transactions: _containers.RepeatedCompositeFieldContainer[DescribeTransactionsResponse.Transaction]
    def __init__(self, error: _Optional[_Union[_common_pb2.Error, _Mapping]] = ..., transactions: _Optional[_Iterable[_Union[DescribeTransactionsResponse.Transaction, _Mapping]]] = ...) -> None: ...

class WriteTransactionMarkersRequest(_message.Message):
    __slots__ = ("markers", "cluster_id")
    class Marker(_message.Message):
        __slots__ = ("producer_id", "producer_epoch", "coordinator_epoch", "commit", "topics")
        PRODUCER_ID_FIELD_NUMBER: _ClassVar[int]
        PRODUCER_EPOCH_FIELD_NUMBER: _ClassVar[int]
        COORDINATOR_EPOCH_FIELD_NUMBER: _ClassVar[int]
        COMMIT_FIELD_NUMBER: _ClassVar[int]
        TOPICS_FIELD_NUMBER: _ClassVar[int]
        producer_id: int
        producer_epoch: int
        coordinator_epoch: int
        commit: bool
        topics: _containers.RepeatedCompositeFieldContainer[TransactionTopic]
        def __init__(self, producer_id: _Optional[int] = ..., producer_epoch: _Optional[int] = ..., coordinator_epoch: _Optional[int] = ..., commit: _Optional[bool] = ..., topics: _Optional[_Iterable[_Union[TransactionTopic, _Mapping]]] = ...) -> None: ...
    MARKERS_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_ID_FIELD_NUMBER: _ClassVar[int]
    markers: _containers.RepeatedCompositeFieldContainer[WriteTransactionMarkersRequest.Marker]
    cluster_id: str
    def __init__(self, markers: _Optional[_Iterable[_Union[WriteTransactionMarkersRequest.Marker, _Mapping]]] = ..., cluster_id: _Optional[str] = ...) -> None: ...

class WriteTransactionMarkersResponse(_message.Message):
    __slots__ = ("error", "markers", "cluster_id")
    class Marker(_message.Message):
        __slots__ = ("producer_id", "partitions")
        PRODUCER_ID_FIELD_NUMBER: _ClassVar[int]
        PARTITIONS_FIELD_NUMBER: _ClassVar[int]
        producer_id: int
        partitions: _containers.RepeatedCompositeFieldContainer[WriteTransactionMarkersResponse.Partition]
        def __init__(self, producer_id: _Optional[int] = ..., partitions: _Optional[_Iterable[_Union[WriteTransactionMarkersResponse.Partition, _Mapping]]] = ...) -> None: ...
    class Partition(_message.Message):
        __slots__ = ("topic", "partition", "error", "offset", "current_leader")
        TOPIC_FIELD_NUMBER: _ClassVar[int]
        PARTITION_FIELD_NUMBER: _ClassVar[int]
        ERROR_FIELD_NUMBER: _ClassVar[int]
        OFFSET_FIELD_NUMBER: _ClassVar[int]
        CURRENT_LEADER_FIELD_NUMBER: _ClassVar[int]
        topic: str
        partition: int
        error: _common_pb2.Error
        offset: int
        current_leader: _common_pb2.LeaderHint
        def __init__(self, topic: _Optional[str] = ..., partition: _Optional[int] = ..., error: _Optional[_Union[_common_pb2.Error, _Mapping]] = ..., offset: _Optional[int] = ..., current_leader: _Optional[_Union[_common_pb2.LeaderHint, _Mapping]] = ...) -> None: ...
    ERROR_FIELD_NUMBER: _ClassVar[int]
    MARKERS_FIELD_NUMBER: _ClassVar[int]
    CLUSTER_ID_FIELD_NUMBER: _ClassVar[int]
    error: _common_pb2.Error
    markers: _containers.RepeatedCompositeFieldContainer[WriteTransactionMarkersResponse.Marker]
    cluster_id: str
    def __init__(self, error: _Optional[_Union[_common_pb2.Error, _Mapping]] = ..., markers: _Optional[_Iterable[_Union[WriteTransactionMarkersResponse.Marker, _Mapping]]] = ..., cluster_id: _Optional[str] = ...) -> None: ...

class AbortHangingTransactionRequest(_message.Message):
    __slots__ = ("topic", "partition", "topic_id", "start_offset")
    TOPIC_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    TOPIC_ID_FIELD_NUMBER: _ClassVar[int]
    START_OFFSET_FIELD_NUMBER: _ClassVar[int]
    topic: str
    partition: int
    topic_id: bytes
    start_offset: int
    def __init__(self, topic: _Optional[str] = ..., partition: _Optional[int] = ..., topic_id: _Optional[bytes] = ..., start_offset: _Optional[int] = ...) -> None: ...

class AbortHangingTransactionResponse(_message.Message):
    __slots__ = ("error", "producer_id", "producer_epoch", "marker_offset", "current_leader")
    ERROR_FIELD_NUMBER: _ClassVar[int]
    PRODUCER_ID_FIELD_NUMBER: _ClassVar[int]
    PRODUCER_EPOCH_FIELD_NUMBER: _ClassVar[int]
    MARKER_OFFSET_FIELD_NUMBER: _ClassVar[int]
    CURRENT_LEADER_FIELD_NUMBER: _ClassVar[int]
    error: _common_pb2.Error
    producer_id: int
    producer_epoch: int
    marker_offset: int
    current_leader: _common_pb2.LeaderHint
    def __init__(self, error: _Optional[_Union[_common_pb2.Error, _Mapping]] = ..., producer_id: _Optional[int] = ..., producer_epoch: _Optional[int] = ..., marker_offset: _Optional[int] = ..., current_leader: _Optional[_Union[_common_pb2.LeaderHint, _Mapping]] = ...) -> None: ...
