"""Callers that ask for much and read nothing: fetches on connections with an HTTP/2 window of 0.

Owns their connections, and the topic they fetch from, which is no clients'. Pings are answered, so
that no keepalive ends them: what ends them is the node's to do.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from tidelog.chaos.workloads.noise import (
    DATA,
    HEADERS,
    PING,
    PREFACE,
    SETTINGS,
    call_headers,
    frame,
)
from tidelog.core.system import SystemClock
from tidelog.net.grpc_transport import GrpcTransport
from tidelog.records.records import Record, encode_batch
from tidelog.v1 import common_pb2, methods
from tidelog.v1.admin_pb2 import CreateTopicsRequest, NewTopic
from tidelog.v1.data_pb2 import (
    FetchPartition,
    FetchRequest,
    MetadataRequest,
    PartitionProduceData,
    ProduceRequest,
)

TOPIC = "unread"
MIB = 1 << 20
TOPIC_BYTES = 20 * MIB
FETCH_BYTES = 8 * MIB
CONNECTIONS = 6
CALL_TIMEOUT_MS = 10_000
LEADER_S_MAX = 30.0
LOOK_EVERY_S = 0.05
_ACK, _END_STREAM, _END_HEADERS = 1, 1, 4
_NO_WINDOW = b"\x00\x04\x00\x00\x00\x00"
_PATHS = (methods.FETCH.path, methods.FETCH_STREAM.path)


async def fill_topic(transport: GrpcTransport, address: str, replicas: int) -> int:
    """Create the topic with one partition and fill it; the node id of its leader."""
    topic = NewTopic(name=TOPIC, partitions=1, replication_factor=replicas)
    await transport.call(
        address,
        methods.CREATE_TOPICS,
        CreateTopicsRequest(topics=[topic]),
        timeout_ms=CALL_TIMEOUT_MS,
    )
    leader_id, leader = await _leader(transport, address)
    # Of now: what is older than a topic's retention would be gone before it is fetched.
    now_ms = SystemClock().wall_ms()
    batch = encode_batch([Record(0, now_ms, None, bytes(MIB - 1000), ())])
    async with asyncio.timeout(LEADER_S_MAX):
        for _ in range(TOPIC_BYTES // MIB):
            await _append(transport, leader, batch)
    return leader_id


async def _append(transport: GrpcTransport, leader: str, batch: bytes) -> None:
    """Again and again while the leader is not ready for it."""
    data = PartitionProduceData(topic=TOPIC, records=batch)
    while True:
        response = await transport.call(
            leader,
            methods.PRODUCE,
            ProduceRequest(acks=-1, partitions=[data]),
            timeout_ms=CALL_TIMEOUT_MS,
        )
        error = response.partitions[0].error
        if error.code == common_pb2.NONE:
            return
        if error.code not in (common_pb2.NOT_LEADER_OR_FOLLOWER, common_pb2.LEADER_NOT_AVAILABLE):
            raise RuntimeError(f"{TOPIC} cannot be filled: {error.message}")
        await asyncio.sleep(LOOK_EVERY_S)


async def _leader(transport: GrpcTransport, address: str) -> tuple[int, str]:
    async with asyncio.timeout(LEADER_S_MAX):
        while True:
            known = await transport.call(
                address,
                methods.METADATA,
                MetadataRequest(topics=[TOPIC]),
                timeout_ms=CALL_TIMEOUT_MS,
            )
            addresses = {one.node_id: one.address for one in known.brokers}
            for partition in known.topics[0].partitions:
                if partition.leader_id in addresses:
                    return partition.leader_id, addresses[partition.leader_id]
            await asyncio.sleep(LOOK_EVERY_S)


async def leave_unread(
    address: str, *, calls: int, within_s: float, look: Callable[[], None]
) -> int:
    """Make so many calls and read none; how many connections the node closed in time.

    Looks all the while. The caller learns what that cost the node.
    """
    host, _, port = address.rpartition(":")
    ends: list[asyncio.Task[None]] = []
    writers: list[asyncio.StreamWriter] = []
    for _ in range(CONNECTIONS):
        reader, writer = await asyncio.open_connection(host, int(port))
        writers.append(writer)
        writer.write(PREFACE + frame(SETTINGS, payload=_NO_WINDOW))
        ends.append(asyncio.create_task(_answer_pings(reader, writer)))
        for number in range(calls // CONNECTIONS):
            writer.write(_call(1 + 2 * number, _PATHS[number % len(_PATHS)]))
    try:
        async with asyncio.timeout(within_s):
            while not all(end.done() for end in ends):
                look()
                await asyncio.sleep(LOOK_EVERY_S)
    except TimeoutError:
        pass
    closed = sum(end.done() for end in ends)
    for end in ends:
        end.cancel()
    for writer in writers:
        writer.close()
    return closed


def _call(stream: int, path: str) -> bytes:
    asked = FetchPartition(topic=TOPIC, partition_max_bytes=FETCH_BYTES)
    request = FetchRequest(max_wait_ms=30_000, max_bytes=FETCH_BYTES, partitions=[asked])
    message = request.SerializeToString()
    payload = b"\0" + len(message).to_bytes(4, "big") + message
    headers = call_headers(path.encode())
    return frame(HEADERS, flags=_END_HEADERS, stream=stream, payload=headers) + frame(
        DATA, flags=_END_STREAM, stream=stream, payload=payload
    )


async def _answer_pings(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Until the node hangs up."""
    try:
        while True:
            head = await reader.readexactly(9)
            payload = await reader.readexactly(int.from_bytes(head[:3], "big"))
            kind, flags = head[3], head[4]
            if kind in (PING, SETTINGS) and not flags & _ACK:
                echo = payload if kind == PING else b""
                writer.write(frame(kind, flags=_ACK, payload=echo))
    except (asyncio.IncompleteReadError, ConnectionError):
        return
