"""Tidelog's client: `Producer`, `Consumer` and `Admin`, all asyncio, all typed."""

from tidelog.client import errors
from tidelog.client.admin import Admin
from tidelog.client.admin.descriptions import NewTopic
from tidelog.client.consuming.consumer import Consumer
from tidelog.client.consuming.consumer_interceptors import ConsumerInterceptor
from tidelog.client.consuming.deserializers import Deserializer
from tidelog.client.consuming.record_batch import RecordBatch
from tidelog.client.offsets import ListedOffset
from tidelog.client.producing.partitioners import Partitioner, PartitionLeader
from tidelog.client.producing.producer import Producer
from tidelog.client.producing.producer_interceptors import (
    OnDelivery,
    ProducerInterceptor,
    ProducerRecord,
)
from tidelog.client.producing.serializers import Serializer
from tidelog.client.records import BulkMetadata, Record, RecordMetadata, TopicPartition

__all__ = [
    "Admin",
    "BulkMetadata",
    "Consumer",
    "ConsumerInterceptor",
    "Deserializer",
    "ListedOffset",
    "NewTopic",
    "OnDelivery",
    "PartitionLeader",
    "Partitioner",
    "Producer",
    "ProducerInterceptor",
    "ProducerRecord",
    "Record",
    "RecordBatch",
    "RecordMetadata",
    "Serializer",
    "TopicPartition",
    "errors",
]
