"""Tidelog's client: `Producer`, `Consumer` and `Admin`, all asyncio, all typed.

Everything a public method takes, returns or raises is here by name. `tidelog.client.sync` has the
same three without `await`.
"""

from tidelog.client import errors
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
from tidelog.client.consuming.consumer import Consumer
from tidelog.client.consuming.consumer_interceptors import ConsumerInterceptor
from tidelog.client.consuming.deserializers import Deserializer
from tidelog.client.consuming.record_batch import RecordBatch
from tidelog.client.errors import *  # noqa: F403  # a class per error; the list stands there
from tidelog.client.offsets import At, ListedOffset
from tidelog.client.producing.partitioners import Partitioner, PartitionerName, PartitionLeader
from tidelog.client.producing.producer import Producer
from tidelog.client.producing.producer_interceptors import (
    OnDelivery,
    ProducerInterceptor,
    ProducerRecord,
)
from tidelog.client.producing.serializers import Serializer
from tidelog.client.records import BulkMetadata, Record, RecordMetadata, TopicPartition
from tidelog.client.results import require_all
from tidelog.client.version import installed_version
from tidelog.core.kafka_errors import *  # noqa: F403  # named again: mypy sees one star, not two
from tidelog.records.compression import Codec

__all__ = [
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
    "ListedOffset",
    "NewTopic",
    "NodeDescription",
    "OnDelivery",
    "PartitionDescription",
    "PartitionLeader",
    "Partitioner",
    "PartitionerName",
    "PeerDescription",
    "Producer",
    "ProducerInterceptor",
    "ProducerRecord",
    "QuorumDescription",
    "Record",
    "RecordBatch",
    "RecordMetadata",
    "Serializer",
    "Story",
    "TopicDescription",
    "TopicPartition",
    "VoterDescription",
    "VoterStatus",
    "errors",
    "require_all",
]
__all__ += errors.__all__

__version__ = installed_version()
