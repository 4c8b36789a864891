"""Tidelog's client: `Producer`, `Consumer` and `Admin`, all asyncio, all typed.

Everything a public method takes, returns or raises is here by name. `tidelog.client.sync` has the
same three without `await`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from tidelog.client import errors
from tidelog.client.errors import *  # noqa: F403  # a class per error; the list stands there
from tidelog.core.coordinator_errors import *  # noqa: F403  # named again: mypy sees one star
from tidelog.core.kafka_errors import *  # noqa: F403  # named again: mypy sees one star, not two
from tidelog.core.transaction_errors import *  # noqa: F403  # as above

if TYPE_CHECKING:
    from tidelog.client.admin import Admin
    from tidelog.client.admin.descriptions import (
        BrokerDescription,
        ClusterDescription,
        ConfigDescription,
        CreatedTopic,
        NewTopic,
        NodeDescription,
        PartitionDescription,
        TopicDescription,
    )
    from tidelog.client.admin.events import ClusterEvent, EventFilter, Story
    from tidelog.client.admin.quorum import (
        PeerDescription,
        QuorumDescription,
        VoterDescription,
        VoterStatus,
    )
    from tidelog.client.admin.replica_methods import (
        LogDirDescription,
        ProducerDescription,
        ReplicaSize,
    )
    from tidelog.client.admin.transaction_views import (
        AbortedTransaction,
        HangingTransaction,
        TransactionDescription,
        TransactionListing,
    )
    from tidelog.client.consuming.consumer import Consumer
    from tidelog.client.consuming.consumer_interceptors import ConsumerInterceptor
    from tidelog.client.consuming.deserializers import Deserializer
    from tidelog.client.consuming.record_batch import RecordBatch
    from tidelog.client.groups.group_state import (
        GroupDescription,
        GroupListing,
        GroupMemberDescription,
        GroupOffset,
        Rebalance,
    )
    from tidelog.client.groups.listener import (
        GroupMetadata,
        OffsetAndMetadata,
        RebalanceListener,
    )
    from tidelog.client.offsets import At, ListedOffset
    from tidelog.client.producing.partitioners import Partitioner, PartitionerName, PartitionLeader
    from tidelog.client.producing.producer import Producer
    from tidelog.client.producing.producer_interceptors import (
        OnDelivery,
        ProducerInterceptor,
        ProducerRecord,
    )
    from tidelog.client.producing.serializers import Serializer
    from tidelog.client.producing.transaction_state import TransactionMember
    from tidelog.client.records import BulkMetadata, Record, RecordMetadata, TopicPartition
    from tidelog.client.results import require_all
    from tidelog.core.kafka_errors import RefusedRecord
    from tidelog.records.compression import Codec

    __version__: str

__all__ = [
    "AbortedTransaction",
    "Admin",
    "At",
    "BrokerDescription",
    "BulkMetadata",
    "ClusterDescription",
    "ClusterEvent",
    "Codec",
    "ConfigDescription",
    "Consumer",
    "ConsumerInterceptor",
    "CreatedTopic",
    "Deserializer",
    "EventFilter",
    "GroupDescription",
    "GroupListing",
    "GroupMemberDescription",
    "GroupMetadata",
    "GroupOffset",
    "HangingTransaction",
    "ListedOffset",
    "LogDirDescription",
    "NewTopic",
    "NodeDescription",
    "OffsetAndMetadata",
    "OnDelivery",
    "PartitionDescription",
    "PartitionLeader",
    "Partitioner",
    "PartitionerName",
    "PeerDescription",
    "Producer",
    "ProducerDescription",
    "ProducerInterceptor",
    "ProducerRecord",
    "QuorumDescription",
    "Rebalance",
    "RebalanceListener",
    "Record",
    "RecordBatch",
    "RecordMetadata",
    "RefusedRecord",
    "ReplicaSize",
    "Serializer",
    "Story",
    "TopicDescription",
    "TopicPartition",
    "TransactionDescription",
    "TransactionListing",
    "TransactionMember",
    "VoterDescription",
    "VoterStatus",
    "errors",
    "require_all",
]
__all__ += errors.__all__

_HOMES = {
    "AbortedTransaction": "tidelog.client.admin.transaction_views",
    "Admin": "tidelog.client.admin",
    "At": "tidelog.client.offsets",
    "BrokerDescription": "tidelog.client.admin.descriptions",
    "BulkMetadata": "tidelog.client.records",
    "ClusterDescription": "tidelog.client.admin.descriptions",
    "ClusterEvent": "tidelog.client.admin.events",
    "Codec": "tidelog.records.compression",
    "ConfigDescription": "tidelog.client.admin.descriptions",
    "Consumer": "tidelog.client.consuming.consumer",
    "ConsumerInterceptor": "tidelog.client.consuming.consumer_interceptors",
    "CreatedTopic": "tidelog.client.admin.descriptions",
    "Deserializer": "tidelog.client.consuming.deserializers",
    "EventFilter": "tidelog.client.admin.events",
    "GroupDescription": "tidelog.client.groups.group_state",
    "GroupListing": "tidelog.client.groups.group_state",
    "GroupMemberDescription": "tidelog.client.groups.group_state",
    "GroupMetadata": "tidelog.client.groups.listener",
    "GroupOffset": "tidelog.client.groups.group_state",
    "HangingTransaction": "tidelog.client.admin.transaction_views",
    "ListedOffset": "tidelog.client.offsets",
    "LogDirDescription": "tidelog.client.admin.replica_methods",
    "NewTopic": "tidelog.client.admin.descriptions",
    "NodeDescription": "tidelog.client.admin.descriptions",
    "OffsetAndMetadata": "tidelog.client.groups.listener",
    "OnDelivery": "tidelog.client.producing.producer_interceptors",
    "PartitionDescription": "tidelog.client.admin.descriptions",
    "PartitionLeader": "tidelog.client.producing.partitioners",
    "Partitioner": "tidelog.client.producing.partitioners",
    "PartitionerName": "tidelog.client.producing.partitioners",
    "PeerDescription": "tidelog.client.admin.quorum",
    "Producer": "tidelog.client.producing.producer",
    "ProducerDescription": "tidelog.client.admin.replica_methods",
    "ProducerInterceptor": "tidelog.client.producing.producer_interceptors",
    "ProducerRecord": "tidelog.client.producing.producer_interceptors",
    "QuorumDescription": "tidelog.client.admin.quorum",
    "Rebalance": "tidelog.client.groups.group_state",
    "RebalanceListener": "tidelog.client.groups.listener",
    "Record": "tidelog.client.records",
    "RecordBatch": "tidelog.client.consuming.record_batch",
    "RecordMetadata": "tidelog.client.records",
    "RefusedRecord": "tidelog.core.kafka_errors",
    "ReplicaSize": "tidelog.client.admin.replica_methods",
    "Serializer": "tidelog.client.producing.serializers",
    "Story": "tidelog.client.admin.events",
    "TopicDescription": "tidelog.client.admin.descriptions",
    "TopicPartition": "tidelog.client.records",
    "TransactionDescription": "tidelog.client.admin.transaction_views",
    "TransactionListing": "tidelog.client.admin.transaction_views",
    "TransactionMember": "tidelog.client.producing.transaction_state",
    "VoterDescription": "tidelog.client.admin.quorum",
    "VoterStatus": "tidelog.client.admin.quorum",
    "require_all": "tidelog.client.results",
}
"""The module of each name that is imported when it is first asked for (PEP 562): a program that
only produces loads neither the consumer nor the admin client. Errors are loaded at once, because an
`except` clause names them.
"""


def _loaded(name: str) -> object:
    """The attribute `name`, from now on an ordinary one of this module."""
    if name == "__version__":
        value: object = importlib.import_module("tidelog.client.version").installed_version()
    elif name in _HOMES:
        value = getattr(importlib.import_module(_HOMES[name]), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES, "__version__"})


if not TYPE_CHECKING:  # a type checker that saw it would accept every name
    __getattr__ = _loaded
