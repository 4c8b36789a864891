"""Tidelog's client: `Producer`, `Consumer` and `Admin`, all asyncio, all typed."""

from tidelog.client import errors
from tidelog.client.admin import Admin
from tidelog.client.consumer import Consumer
from tidelog.client.consumer_interceptors import ConsumerInterceptor
from tidelog.client.descriptions import NewTopic
from tidelog.client.deserializers import Deserializer
from tidelog.client.offsets import ListedOffset
from tidelog.client.partitioners import Partitioner, PartitionLeader
from tidelog.client.producer import Producer
from tidelog.client.producer_interceptors import OnDelivery, ProducerInterceptor, ProducerRecord
from tidelog.client.record_batch import RecordBatch
from tidelog.client.records import BulkMetadata, Record, RecordMetadata, TopicPartition
from tidelog.client.serializers import Serializer

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
