"""Frames of no client for Kafka's protocol: none may change anything, each is judged."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from struct import Struct

import pytest

from tidelog.chaos.sockets import half_open, kafka_strangers
from tidelog.chaos.sockets.kafka_strangers import KafkaStrangers
from tidelog.chaos.workloads.kafka_frames import (
    API_VERSIONS,
    CHANGING,
    LIES,
    PRODUCE,
    READING,
    KafkaNoise,
    frame,
    head,
    kafka_noise,
)
from tidelog.chaos.workloads.tally import Tally
from tidelog.core.errors import CorruptMessageError
from tidelog.kafka.errors import MalformedMessageError
from tidelog.kafka.messages.create_topics_request import CreateTopicsRequest
from tidelog.kafka.messages.delete_topics_request import DeleteTopicsRequest
from tidelog.kafka.messages.incremental_alter_configs_request import IncrementalAlterConfigsRequest
from tidelog.kafka.messages.join_group_request import JoinGroupRequest
from tidelog.kafka.messages.produce_request import ProduceRequest
from tidelog.records.batch import iter_batches

FRAMES = 1_500
_HEAD = Struct(">ihhih")
HEADER_BYTES = 10
REQUESTS = (
    CreateTopicsRequest,
    DeleteTopicsRequest,
    JoinGroupRequest,
    IncrementalAlterConfigsRequest,
)
DECODERS = {one.API_KEY: one.decode for one in REQUESTS}


def whole_frames() -> list[tuple[int, int, bytes]]:
    """Key, version and body of each first frame that is as long as it says."""
    found = []
    for place in range(FRAMES):
        data = kafka_noise(1, place, "steady").data
        if len(data) < _HEAD.size:
            continue
        size, key, version, _, _ = _HEAD.unpack_from(data)
        if HEADER_BYTES <= size <= len(data) - 4:
            found.append((key, version, data[4 + HEADER_BYTES : 4 + size]))
    return found


def test_a_connection_of_a_seed_is_always_the_same_and_another_one_is_not() -> None:
    assert kafka_noise(1, 7, "steady") == kafka_noise(1, 7, "steady")
    places = [kafka_noise(1, place, "steady").data for place in range(100)]
    assert len(set(places)) > 90


def test_no_request_that_might_change_something_is_whole() -> None:
    changing = [one for one in whole_frames() if one[0] in DECODERS and one[1] in (0, 3, 4, 5)]
    assert len(changing) > FRAMES / 50
    assert {key for key, *_ in changing} == set(DECODERS)
    for key, version, body in changing:
        with pytest.raises(MalformedMessageError):
            DECODERS[key](memoryview(body), version)


@pytest.mark.parametrize("lie", LIES)
def test_no_number_that_is_not_true_makes_a_changing_request_whole(lie: bytes) -> None:
    for key, version in CHANGING:
        with pytest.raises(MalformedMessageError):
            DECODERS[key](memoryview(lie + bytes(8)), version)


def test_what_is_produced_to_a_topic_that_is_there_is_no_batch() -> None:
    produced = 0
    for key, version, body in whole_frames():
        if key != PRODUCE or version != 8:
            continue
        (topic,) = ProduceRequest.decode(memoryview(body), version).topic_data
        for one in topic.partition_data if topic.name == "steady" else ():
            produced += 1
            with pytest.raises(CorruptMessageError):
                list(iter_batches(bytes(one.records or b"")))
    assert produced > FRAMES / 50


def test_every_sort_of_frame_is_among_them() -> None:
    found = whole_frames()
    keys = {key for key, *_ in found}
    assert {key for key, _ in (*READING, *CHANGING)} <= keys
    assert keys & {-1, 500}
    texts = b"".join(kafka_noise(1, place, "steady").data for place in range(FRAMES))
    for said in (b"GET / HTTP", b"PRI * HTTP/2.0", b"\x16\x03\x01", b"\x7f\xff\xff\xff"):
        assert said in texts


# How they are judged

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


async def strangers_at(serve: Serve) -> tuple[KafkaStrangers, asyncio.Server]:
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    return KafkaStrangers([f"127.0.0.1:{port}"], "steady"), server


def answer(correlation_id: int) -> bytes:
    return Struct(">ii").pack(4, correlation_id)


ONE = KafkaNoise(0, frame(head(API_VERSIONS, 0, 5)) + frame(head(API_VERSIONS, 0, 6)), (5, 6))


@pytest.mark.parametrize(
    ("said", "findings"),
    [
        (b"", 0),
        (answer(5), 0),
        (answer(5) + answer(6), 0),
        (answer(6), 0),
        (answer(6) + answer(5), 1),
        (answer(7), 1),
    ],
)
@pytest.mark.real_time
async def test_an_answer_has_the_correlation_id_of_a_request_in_their_order(
    said: bytes, findings: int
) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.write(said)
        writer.close()

    strangers, server = await strangers_at(serve)
    async with server:
        tally = Tally()
        await strangers._say(ONE, tally)
    assert tally.findings_count == findings
    assert tally.by_status["answered" if said else "hung up"] == 1


@pytest.mark.real_time
async def test_whoever_neither_answers_nor_hangs_up_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(kafka_strangers, "ANSWERED_S_MAX", 1.0)
    monkeypatch.setattr(kafka_strangers, "HUNG_UP_S_MAX", 1.0)
    monkeypatch.setattr(half_open, "HUNG_UP_S_MAX", 1.0)
    released = asyncio.Event()

    async def serve(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await released.wait()
        writer.close()

    strangers, server = await strangers_at(serve)
    async with server:
        tally = Tally()
        await strangers._say(ONE, tally)
        await strangers._announce(strangers._addresses[0], 1 << 30, tally)
        waited = await half_open.connect_and_wait(strangers._addresses, connections=4)
        released.set()
    assert [("neither answers" in one or "hang up" in one) for one in tally.findings] == [True] * 2
    assert (waited.requests, waited.findings_count) == (4, 4)


@pytest.mark.process
async def test_half_open_connections_are_another_processs() -> None:
    came: list[int] = []

    async def serve(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        came.append(writer.get_extra_info("peername")[1])
        writer.close()

    strangers, server = await strangers_at(serve)
    async with server:
        waited = await strangers.connect_and_wait(connections=4)
    assert (waited.requests, waited.findings_count, len(came)) == (4, 0, 4)


def test_what_another_process_found_is_read() -> None:
    tally = Tally(requests=3)
    tally.by_status["broken"] += 1
    tally.find("is still open")
    assert half_open.decode(half_open.encode(tally).encode()) == tally
