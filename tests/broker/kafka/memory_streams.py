"""Connections of Kafka's protocol in memory, and clients at their other ends."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from tests.broker.kafka.kafka_frames import FETCH, PRODUCE, answers_in, form_of

from tidelog.broker.kafka.config import KafkaConfig
from tidelog.broker.kafka.connection import Request
from tidelog.broker.kafka.peer import Handler
from tidelog.broker.kafka.server import KafkaApis, KafkaServer, KafkaTimes
from tidelog.broker.kafka.traffic import KafkaTraffic
from tidelog.net.answer_budget import AnswerBudget
from tidelog.net.byte_streams import Receiver
from tidelog.net.call import Call
from tidelog.net.listeners import KAFKA, Listener

LISTENER = Listener("KAFKA", "h:9", "h:9", protocol=KAFKA)
Answered = Sequence[bytes] | None
Serve = Callable[[Request, Call], Awaitable[Answered]]


async def echo(request: Request, _call: Call) -> Answered:
    """Answer with the body."""
    return [bytes(request.body)]


def server(
    handler: Handler = echo,
    *,
    config: KafkaConfig | None = None,
    times: KafkaTimes | None = None,
    on_fatal: Callable[[BaseException], None] | None = None,
    answers: AnswerBudget | None = None,
) -> KafkaServer:
    return KafkaServer(
        apis=KafkaApis(
            form_of, handler, pipelined=frozenset({PRODUCE}), abandoned=frozenset({FETCH})
        ),
        config=config or KafkaConfig(),
        times=times or KafkaTimes(),
        on_fatal=on_fatal or fail,
        answers=answers,
    )


def by_api(traffic: KafkaTraffic) -> dict[str, dict[str, float]]:
    """Metrics of a server with one label: by name, then by API."""
    families = [one for one in traffic.families() if one.labels == ("api",)]
    return {one.name: {api: value for (api,), value in one.samples} for one in families}


def fail(error: BaseException) -> None:
    raise AssertionError from error


class Client:
    """A client of a server, at the end of a stream in memory; see `ByteStream` for the stream."""

    def __init__(self, of: KafkaServer, *, host: str = "1.2.3.4", reads: bool = True) -> None:
        self.host = host
        self.peer = f"ipv4:{host}:{id(self)}"
        self.is_open = True
        self.read_bytes = b""
        self.unread = b""
        self.reads = reads
        self._is_reading = True
        self._receiver: Receiver | None = of.acceptor(LISTENER)(self)
        if self._receiver is None:
            self.is_open = False

    # The server's end

    def set_reading(self, *, is_reading: bool) -> None:
        self._is_reading = is_reading
        if is_reading and self.unread:
            asyncio.get_running_loop().call_soon(self._deliver)

    def flush(self) -> None:
        if self.reads:
            asyncio.get_running_loop().call_soon(self._take)

    def close(self) -> None:
        self.is_open = False
        self._receiver = None

    # The client's

    def send(self, data: bytes) -> None:
        self.unread += data
        self._deliver()

    def read_on(self, most: int = 1 << 30) -> None:
        """Read what waits, at most so much."""
        self.reads = most == 1 << 30
        self._take(most)

    def leave(self) -> None:
        """Close the client's end."""
        receiver, self._receiver, self.is_open = self._receiver, None, False
        if receiver is not None:
            receiver.ended()

    @property
    def answers(self) -> list[tuple[int, bytes]]:
        return answers_in(self.read_bytes)

    def _deliver(self) -> None:
        while self.unread and self._is_reading and self._receiver is not None:
            space = self._receiver.space()
            count = min(len(space), len(self.unread))
            assert count > 0
            space[:count] = self.unread[:count]
            self.unread = self.unread[count:]
            self._receiver.received(count)

    def _take(self, most: int = 1 << 30) -> None:
        while most > 0 and self._receiver is not None and (out := self._receiver.outgoing()):
            taken = b"".join(out)[:most]
            self.read_bytes += taken
            most -= len(taken)
            self._receiver.sent(len(taken))
