"""A client that speaks Kafka's messages with a simulated node, and a cluster that listens."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Sequence
from typing import TypeVar

from tests.proto.kafka_requests import write_request

from tidelog.core.errors import UnreachableError
from tidelog.kafka.apis import API_VERSIONS, APIS, response_class
from tidelog.kafka.message import Message
from tidelog.kafka.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from tidelog.kafka.messages.metadata_response import MetadataResponse, MetadataResponseTopic
from tidelog.net.byte_streams import ByteStream
from tidelog.net.listeners import CLIENT, KAFKA, Listener, one_listener
from tidelog.simulation.cluster.cluster import SimCluster

M = TypeVar("M", bound=Message)
DEADLINE_S = 120


def listeners(name: str) -> tuple[Listener, ...]:
    """One of gRPC and one of Kafka's protocol."""
    address = f"{name}:9092"
    of_kafka = Listener("KAFKA", address, address, protocol=KAFKA, services=frozenset({CLIENT}))
    return (*one_listener(f"{name}:9192"), of_kafka)


class WireClient:
    """One connection. `calls` may be many at once; answers come in the order of the requests."""

    def __init__(self) -> None:
        self.end = asyncio.get_running_loop().create_future()
        self._stream: ByteStream | None = None
        self._unsent = b""
        self._unread = bytearray()
        self._space = memoryview(bytearray(1 << 16))
        self._waiting: dict[int, asyncio.Future[bytes]] = {}
        self.answered: list[int] = []
        """Correlation ids in the order of their answers."""

    @classmethod
    async def connect(cls, cluster: SimCluster, address: str) -> WireClient:
        client = cls()
        async with asyncio.timeout(DEADLINE_S):
            while client._stream is None:
                try:
                    await cluster.client.dialer.connect(address, client._accept)
                except UnreachableError:
                    await asyncio.sleep(0.5)
        return client

    def send(self, data: bytes) -> None:
        assert self._stream is not None
        self._unsent += data
        self._stream.flush()

    def begin(
        self, request: Message, version: int, correlation_id: int, client_id: str = "wire"
    ) -> asyncio.Future[bytes]:
        """Send a request; the future is of the bytes behind the correlation id."""
        frame = write_request(
            request, version=version, correlation_id=correlation_id, client_id=client_id
        )
        future = self.wait_for(correlation_id)
        self.send(b"".join(frame))
        return future

    def wait_for(self, correlation_id: int) -> asyncio.Future[bytes]:
        """The future of the bytes behind a correlation id; send the request next."""
        future = self._waiting[correlation_id] = asyncio.get_running_loop().create_future()
        return future

    async def call(self, request: Message, version: int, kind: type[M]) -> M:
        """Send a request and decode the whole answer."""
        answer = await self.begin(request, version, len(self.answered) + 1)
        return decode(answer, request.API_KEY, version, kind)

    def read_nothing(self) -> None:
        """Leave what arrives to the window."""
        assert self._stream is not None
        self._stream.set_reading(is_reading=False)

    def leave(self) -> None:
        assert self._stream is not None
        self._stream.close()

    # See `Receiver`

    def _accept(self, stream: ByteStream) -> WireClient:
        self._stream = stream
        return self

    def space(self) -> memoryview:
        return self._space

    def received(self, count: int) -> None:
        self._unread += self._space[:count]
        while len(self._unread) >= 8:
            size, correlation_id = struct.unpack_from(">ii", self._unread)
            if len(self._unread) < 4 + size:
                return
            self.answered.append(correlation_id)
            self._waiting.pop(correlation_id).set_result(bytes(self._unread[8 : 4 + size]))
            del self._unread[: 4 + size]

    def outgoing(self) -> Sequence[bytes]:
        return [self._unsent] if self._unsent else []

    def sent(self, count: int) -> None:
        self._unsent = self._unsent[count:]

    def ended(self) -> None:
        self.end.set_result(None)
        for one in self._waiting.values():
            if not one.done():
                one.set_exception(ConnectionError("closed before the answer"))
                one.exception()  # not all are awaited


def decode(answer: bytes, key: int, version: int, kind: type[M]) -> M:
    has_tags = version >= APIS[key].flexible_from and key != API_VERSIONS
    assert not has_tags or answer[0] == 0
    message = response_class(key).decode(answer[has_tags:], version)
    assert isinstance(message, kind)
    return message


async def metadata(client: WireClient, topic: str, version: int = 13) -> MetadataResponse:
    request = MetadataRequest(topics=[MetadataRequestTopic(name=topic)])
    return await client.call(request, version, MetadataResponse)


async def led_topic(
    cluster: SimCluster, topic: str, *, by: str = "node-1:9092"
) -> tuple[WireClient, MetadataResponseTopic, int]:
    """Create a topic by asking for it; return a connection to partition 0's leader, and its id."""
    async with asyncio.timeout(DEADLINE_S):
        while True:
            client = await WireClient.connect(cluster, by)
            asking = asyncio.ensure_future(metadata(client, topic))
            await asyncio.wait({asking, client.end}, return_when=asyncio.FIRST_COMPLETED)
            if client.end.done():  # it has no metadata yet
                asking.cancel()
                await asyncio.sleep(0.5)
                continue
            response = asking.result()
            (found,) = response.topics
            if found.error_code == 0 and found.partitions and found.partitions[0].leader_id >= 0:
                break
            await asyncio.sleep(0.5)
    leader_id = found.partitions[0].leader_id
    host = {one.node_id: f"{one.host}:{one.port}" for one in response.brokers}[leader_id]
    return await WireClient.connect(cluster, host), found, leader_id
