"""Time to encode and decode a message of Kafka's protocol, beside kafka-python and kio.

Produce and Fetch with 1 and 100 partitions of 1,000 bytes of records each, and Metadata of 1,000
topics with 3 partitions, in the versions that clients of today speak. Each codec encodes a message
of its own that is made already, and decodes the same bytes; in turns, the least of several, so that
other work on the machine counts little. kio decodes in Rust, and nothing else here does.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from typing import Any

from tests.proto.kafka_oracles import oracles_of
from tests.proto.kafka_values import SHAPES, Value, class_of, default, encoded, ours

from kafka_layouts import Layout
from tidelog.kafka.message import Message

TOPIC_ID = bytes(range(16))
RECORDS = bytes(1_000)
PARTITIONS = (1, 100)
TOPICS = 1_000
TURN_S = 0.05
"""Work of one codec before it is another's turn."""
EVERY_ELEMENT = 1 << 30


def kafka_codec_figures(runs: int) -> Iterator[dict[str, Any]]:
    """µs of each codec for each message."""
    for name, version, what, value in _messages():
        message = ours(name, version, value)
        gc.collect()
        gc.freeze()  # as nodes do (decision 0033): what is old is not the codecs' to walk
        data = encoded(message, version)
        yield {
            "message": f"{name} {version}, {what}",
            "bytes": len(data),
            **_figures("encode", _encoders(name, version, value, message), runs),
            **_figures("decode", _decoders(name, version, data), runs),
        }


def _messages() -> Iterator[tuple[str, int, str, Value]]:
    for count in PARTITIONS:
        what = f"{count} partition" + "s" * (count > 1)
        yield "ProduceRequest", 12, what, _produce_request(count)
        yield "ProduceResponse", 12, what, _produce_response(count)
        yield "FetchRequest", 17, what, _fetch_request(count)
        yield "FetchResponse", 17, what, _fetch_response(count)
    yield "MetadataResponse", 12, f"{TOPICS:,} topics of 3 partitions", _metadata()


def _encoders(
    name: str, version: int, value: Value, message: Message
) -> dict[str, Callable[[], object]]:
    encoders: dict[str, Callable[[], object]] = {"": lambda: message.encode(version)}
    for oracle in oracles_of(name, version):
        theirs = oracle.message(value)
        encoders[type(oracle).__name__.lower()] = _bound(oracle.encode, theirs)
    return encoders


def _decoders(name: str, version: int, data: bytes) -> dict[str, Callable[[], object]]:
    kind = class_of(name)
    decoders: dict[str, Callable[[], object]] = {
        "": lambda: kind.decode(data, version, elements_max=EVERY_ELEMENT)
    }
    for oracle in oracles_of(name, version):
        decoders[type(oracle).__name__.lower()] = _bound(oracle.decode, data)
    return decoders


def _bound(work: Callable[[Any], object], argument: Any) -> Callable[[], object]:
    return lambda: work(argument)


def _figures(verb: str, works: dict[str, Callable[[], object]], runs: int) -> dict[str, float]:
    least: dict[str, float] = {}
    times = {name: max(1, int(TURN_S / _took_s(work, 1))) for name, work in works.items()}
    for _ in range(runs):
        for name, work in works.items():
            took_us = _took_s(work, times[name]) / times[name] * 1e6
            figure = f"{name}_{verb}_us".removeprefix("_")
            least[figure] = min(took_us, least.get(figure, took_us))
    return {figure: round(took_us, 2) for figure, took_us in least.items()}


def _took_s(work: Callable[[], object], times: int) -> float:
    began_s = time.process_time()
    for _ in range(times):
        work()
    return max(time.process_time() - began_s, 1e-6)


def _struct(name: str, layout: Layout, given: Value) -> Value:
    """A value of a struct: what is given, defaults for the rest."""
    rest = {slot.name: default(SHAPES[name], layout.struct, slot) for slot in layout.slots}
    return rest | given


def _part(name: str, version: int, struct: str, **given: Any) -> Value:
    return _struct(name, SHAPES[name].layout(version, struct), given)


def _produce_request(count: int) -> Value:
    partitions = [{"Index": index, "Records": RECORDS} for index in range(count)]
    topic = {"Name": "flights", "PartitionData": partitions}
    return {"TransactionalId": None, "Acks": -1, "TimeoutMs": 30_000, "TopicData": [topic]}


def _produce_response(count: int) -> Value:
    name, version = "ProduceResponse", 12
    partitions = [
        _part(name, version, "PartitionProduceResponse", Index=index, BaseOffset=1_000_000)
        for index in range(count)
    ]
    topic = {"Name": "flights", "PartitionResponses": partitions}
    return _part(name, version, name, Responses=[topic])


def _fetch_request(count: int) -> Value:
    name, version = "FetchRequest", 17
    partitions = [
        _part(name, version, "FetchPartition", Partition=index, PartitionMaxBytes=1 << 20)
        for index in range(count)
    ]
    topic = {"TopicId": TOPIC_ID, "Partitions": partitions}
    return _part(name, version, name, MaxWaitMs=500, Topics=[topic])


def _fetch_response(count: int) -> Value:
    name, version = "FetchResponse", 17
    partitions = [
        _part(
            *(name, version, "PartitionData"),
            PartitionIndex=index,
            HighWatermark=1_000_000,
            AbortedTransactions=None,
            Records=RECORDS,
        )
        for index in range(count)
    ]
    topic = {"TopicId": TOPIC_ID, "Partitions": partitions}
    return _part(name, version, name, Responses=[topic])


def _metadata() -> Value:
    name, version = "MetadataResponse", 12
    brokers = [
        _part(name, version, "MetadataResponseBroker", NodeId=node, Host="127.0.0.1", Rack=None)
        for node in (1, 2, 3)
    ]
    partitions = [
        _part(
            *(name, version, "MetadataResponsePartition"),
            PartitionIndex=index,
            LeaderId=1,
            ReplicaNodes=[1, 2, 3],
            IsrNodes=[1, 2, 3],
        )
        for index in range(3)
    ]
    topics = [
        _part(
            *(name, version, "MetadataResponseTopic"),
            Name=f"topic-{index}",
            TopicId=TOPIC_ID,
            Partitions=partitions,
        )
        for index in range(TOPICS)
    ]
    return _part(name, version, name, Brokers=brokers, ClusterId="cluster", Topics=topics)
