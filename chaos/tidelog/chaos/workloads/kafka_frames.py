"""Frames for listeners of Kafka's protocol, of no client: the n-th of a seed always the same. Pure.

None may change anything: topics are unknown, or what is sent to one that is there is no batch; a
request that might create something is never whole.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from struct import Struct

from tidelog.chaos.workloads.dice import Dice
from tidelog.chaos.workloads.noise import PREFACE
from tidelog.kafka.messages.produce_request import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)

_SIZE, _HEAD = Struct(">i"), Struct(">hhih")
PRODUCE, FETCH, LIST_OFFSETS, METADATA, JOIN_GROUP = 0, 1, 2, 3, 11
API_VERSIONS, CREATE_TOPICS, DELETE_TOPICS, INCREMENTAL_ALTER_CONFIGS = 18, 19, 20, 44
READING = ((FETCH, 11), (LIST_OFFSETS, 5), (METADATA, 8))
"""APIs that change nothing, in a version without tagged fields."""
CHANGING = ((CREATE_TOPICS, 4), (DELETE_TOPICS, 3), (JOIN_GROUP, 5), (INCREMENTAL_ALTER_CONFIGS, 0))
FLEXIBLE = ((PRODUCE, 9), (FETCH, 12), (METADATA, 9), (CREATE_TOPICS, 5))
PRODUCE_VERSION = 8
UNKNOWN_KEYS = (-1, 4, 24, 45, 500, 32_767)
LIES = (b"\x7f\xff\xff\xff", b"\x80\x00\x00\x00", b"\xff\xff\xff\xfe", b"\x00\xff\xff\xff")
"""Numbers of elements that are not there: 2^31 - 1, and others."""
REQUEST_BYTES_MAX = 16 << 20
"""socket.request.max.bytes as nodes are configured by default."""
FRAMES_MAX = 4
TLS = b"\x16\x03\x01\x00\xc8\x01"
_BATCH_BYTES_MAX = 200
_MAGIC_AT = 16


@dataclass(frozen=True, slots=True)
class KafkaNoise:
    """A connection: the bytes sent on it, and the correlation ids in them, in order."""

    place: int
    data: bytes
    correlation_ids: tuple[int, ...]
    """Those of frames that may be answered; the broker may hang up before any of them."""


def kafka_noise(seed: int, place: int, topic: str) -> KafkaNoise:
    """Return the connection with this number; `topic` is one that is there."""
    dice = Dice(seed, place)
    ids = tuple(dice.randrange(-(1 << 31), 1 << 31) for _ in range(dice.randrange(1, FRAMES_MAX)))
    frames = [dice.one_of(_KINDS)(dice, one, topic) for one in ids]
    return KafkaNoise(place, b"".join(frames), ids)


def frame(body: bytes) -> bytes:
    """Return a frame with the right size."""
    return _SIZE.pack(len(body)) + body


def head(api_key: int, api_version: int, correlation_id: int) -> bytes:
    """Return a header of version 1, of a client without an id."""
    return _HEAD.pack(api_key, api_version, correlation_id, -1)


def _wrong_size(dice: Dice, number: int, _: str) -> bytes:
    size = dice.one_of((-1, -(1 << 31), 0, 1, REQUEST_BYTES_MAX + 1, (1 << 31) - 1))
    return _SIZE.pack(size) + head(METADATA, 8, number)


def _cut_off(dice: Dice, number: int, _: str) -> bytes:
    body = head(*dice.one_of(READING), number) + dice.randbytes(40)
    return _SIZE.pack(len(body) + dice.randrange(1, 1 << 20)) + body


def _unknown(dice: Dice, number: int, _: str) -> bytes:
    key, version = dice.one_of(UNKNOWN_KEYS), dice.randrange(-1, 20)
    return frame(head(key, version, number) + dice.randbytes(dice.randrange(0, 60)))


def _unserved_version(dice: Dice, number: int, _: str) -> bytes:
    key = dice.one_of((*READING, *CHANGING, (API_VERSIONS, 3)))[0]
    return frame(head(key, dice.one_of((-1, 99, 32_767)), number))


def _lies(dice: Dice, number: int, _: str) -> bytes:
    key, version = dice.one_of((*READING, *CHANGING))
    return frame(head(key, version, number) + dice.one_of(LIES) + dice.randbytes(8))


def _random_reading(dice: Dice, number: int, _: str) -> bytes:
    body = dice.randbytes(dice.randrange(0, 300))
    return frame(head(*dice.one_of(READING), number) + body)


def _tags_without_end(dice: Dice, number: int, _: str) -> bytes:
    tags = dice.one_of((b"\xff\xff\xff\xff\x0f", b"\x80" * 12, b"\x7f" + bytes(30)))
    return frame(head(*dice.one_of(FLEXIBLE), number) + tags)


def _no_utf8(dice: Dice, number: int, _: str) -> bytes:
    # Metadata of one topic, whose name is no UTF-8, and never allow its creation.
    name = bytes((0xC3, 0x28, 0xFF)) + dice.randbytes(5)
    body = (1).to_bytes(4, "big") + len(name).to_bytes(2, "big") + name + bytes(3)
    return frame(head(METADATA, 8, number) + body)


def _no_batch(dice: Dice, number: int, topic: str) -> bytes:
    """Produce of what is no batch of magic 2, or has another checksum, to a topic that is there."""
    batch = bytearray(dice.randbytes(dice.randrange(1, _BATCH_BYTES_MAX)))
    if len(batch) > _MAGIC_AT:
        batch[_MAGIC_AT] = dice.one_of((0, 1, 2, 2, 3))
        batch[8:12] = (len(batch) - 12).to_bytes(4, "big")
    return _produce(dice, number, topic, bytes(batch))


def _unknown_topic(dice: Dice, number: int, _: str) -> bytes:
    return _produce(dice, number, f"nobody-{dice.randrange(0, 1 << 30)}", dice.randbytes(90))


def _produce(dice: Dice, number: int, topic: str, batch: bytes) -> bytes:
    parts = [PartitionProduceData(index=dice.one_of((0, 0, 1, -1)), records=batch)]
    request = ProduceRequest(
        acks=dice.one_of((-1, 1, 0, 7)),
        timeout_ms=1_000,
        topic_data=[TopicProduceData(name=topic, partition_data=parts)],
    )
    body = b"".join(bytes(one) for one in request.encode(PRODUCE_VERSION))
    return frame(head(PRODUCE, PRODUCE_VERSION, number) + body)


def _another_protocol(dice: Dice, _: int, __: str) -> bytes:
    said = dice.one_of((b"GET / HTTP/1.1\r\n\r\n", PREFACE, TLS))
    return said + dice.randbytes(dice.randrange(0, 100))


def _random(dice: Dice, _: int, __: str) -> bytes:
    # The first byte makes the size one that is too long: nothing of it is ever a request.
    return bytes((dice.randrange(2, 256),)) + dice.randbytes(dice.randrange(3, 300))


_KINDS: tuple[Callable[[Dice, int, str], bytes], ...] = (
    _wrong_size,
    _cut_off,
    _unknown,
    _unserved_version,
    _lies,
    _random_reading,
    _tags_without_end,
    _no_utf8,
    _no_batch,
    _no_batch,  # twice as often: it comes the farthest
    _unknown_topic,
    _another_protocol,
    _random,
)
