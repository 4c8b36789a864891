"""Tidelog's client: `Producer`, `Consumer` and `Admin`, all asyncio, all typed."""

from tidelog.client import errors
from tidelog.client.admin import Admin
from tidelog.client.consumer import Consumer
from tidelog.client.consumer_interceptors import ConsumerInterceptor
from tidelog.client.descriptions import NewTopic
from tidelog.client.deserializers import Deserializer
from tidelog.client.offsets import ListedOffset
from tidelog.client.producer import Producer
from tidelog.client.record_batch import RecordBatch
from tidelog.client.records import BulkMetadata, Record, RecordMetadata, TopicPartition

__all__ = [
    "Admin",
    "BulkMetadata",
    "Consumer",
    "ConsumerInterceptor",
    "Deserializer",
    "ListedOffset",
    "NewTopic",
    "Producer",
    "Record",
    "RecordBatch",
    "RecordMetadata",
    "TopicPartition",
    "errors",
]
