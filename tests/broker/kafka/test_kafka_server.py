"""The server of Kafka's protocol on streams in memory: handlers, limits, idle ones, stops."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, MutableMapping

import pytest
import structlog
from tests.broker.kafka.kafka_frames import FETCH, METADATA, PRODUCE, frame
from tests.broker.kafka.memory_streams import LISTENER, Answered, Client, by_api, echo, server

from tidelog.broker.kafka.config import KafkaConfig
from tidelog.broker.kafka.connection import Request
from tidelog.broker.kafka.crowd import IDLE_MS_MIN
from tidelog.broker.kafka.peer import ConnectionClosedError
from tidelog.broker.kafka.request_header import Refusal
from tidelog.broker.kafka.server import (
    LOOK_S,
    PROGRESS_BYTES_MIN,
    PROGRESS_PARTS,
    KafkaTimes,
)
from tidelog.core.errors import InvariantError
from tidelog.net.answer_budget import AnswerBudget
from tidelog.net.call import Call

MIB = 1 << 20
TURNS = 20


async def settle() -> None:
    """Let everything that is ready be done."""
    for _ in range(TURNS):
        await asyncio.sleep(0)


class Gate:
    """A handler that answers when it is let; each request's body names it."""

    def __init__(self) -> None:
        self.begun: list[bytes] = []
        self.cancelled: list[bytes] = []
        self.calls: list[Call] = []
        self.open = asyncio.Event()

    async def __call__(self, request: Request, call: Call) -> Answered:
        body = bytes(request.body)
        self.begun.append(body)
        self.calls.append(call)
        try:
            await self.open.wait()
        except asyncio.CancelledError:
            self.cancelled.append(body)
            raise
        return [body]


async def test_requests_are_handled_and_answered_in_their_order() -> None:
    client = Client(server())
    client.send(frame(METADATA, 1, b"one") + frame(PRODUCE, 2, b"two") + frame(FETCH, 3, b"three"))
    await settle()
    assert client.answers == [(1, b"one"), (2, b"two"), (3, b"three")]


async def test_a_handler_is_told_listener_client_and_when_its_answer_was_taken() -> None:
    taken: list[str] = []

    async def handle(request: Request, call: Call) -> Answered:
        assert call.listener is LISTENER
        assert call.client_id == "ant"
        assert call.connection.startswith("ipv4:1.2.3.4:")
        call.when_taken(lambda: taken.append("taken"))
        return [bytes(1000)]

    client = Client(server(handle), reads=False)
    client.send(frame(METADATA, 1, client_id="ant"))
    await settle()
    assert taken == []
    client.read_on(1000)
    assert taken == []
    client.read_on()
    assert taken == ["taken"]


async def test_a_client_id_that_is_no_name_is_that_of_nobody_in_a_call() -> None:
    gate = Gate()
    client = Client(server(gate))
    for name in (None, "", "no name", "x" * 200):
        client.send(frame(PRODUCE, 1, client_id=name))
    await settle()
    assert [call.client_id for call in gate.calls] == [""] * 4


async def test_an_error_of_a_handler_closes_after_the_answers_before_it() -> None:
    async def handle(request: Request, _call: Call) -> Answered:
        if bytes(request.body) == b"close":
            raise ConnectionClosedError("acks=0 failed")
        if bytes(request.body) == b"broken":
            raise ValueError("a bug")
        await asyncio.sleep(1)
        return [bytes(request.body)]

    for last in (b"close", b"broken"):
        client = Client(server(handle))
        client.send(frame(PRODUCE, 1, b"a") + frame(PRODUCE, 2, last) + frame(PRODUCE, 3, b"c"))
        await settle()
        assert client.is_open
        await asyncio.sleep(2)
        assert client.answers == [(1, b"a")]
        assert not client.is_open


async def test_what_works_behind_a_request_that_closes_is_cancelled() -> None:
    gate = Gate()

    async def handle(request: Request, call: Call) -> Answered:
        if bytes(request.body) == b"close":
            raise ConnectionClosedError("acks=0 failed")
        return await gate(request, call)

    client = Client(server(handle))
    client.send(frame(PRODUCE, 1, b"a") + frame(PRODUCE, 2, b"close") + frame(PRODUCE, 3, b"c"))
    await settle()
    assert gate.begun in ([b"a"], [b"a", b"c"])
    assert gate.cancelled == gate.begun[1:]
    gate.open.set()
    await settle()
    assert client.answers == [(1, b"a")]
    assert not client.is_open


async def test_a_broken_invariant_ends_the_node() -> None:
    fatal: list[BaseException] = []

    async def handle(_request: Request, _call: Call) -> Answered:
        raise InvariantError("broken")

    client = Client(server(handle, on_fatal=fatal.append))
    client.send(frame(METADATA, 1))
    await settle()
    assert [type(error) for error in fatal] == [InvariantError]
    assert client.answers == []


async def test_a_request_without_answer_holds_nothing_up() -> None:
    async def handle(request: Request, _call: Call) -> Answered:
        return None if bytes(request.body) == b"acks=0" else [b"x"]

    client = Client(server(handle))
    client.send(frame(PRODUCE, 1, b"acks=0") + frame(PRODUCE, 2))
    await settle()
    assert client.answers == [(2, b"x")]


async def test_what_arrived_is_carried_out_when_the_client_leaves_but_for_fetches() -> None:
    gate = Gate()
    of = server(gate)
    client, fetcher = Client(of), Client(of)
    client.send(frame(PRODUCE, 1, b"a") + frame(PRODUCE, 2, b"b") + frame(METADATA, 3, b"c"))
    fetcher.send(frame(FETCH, 1, b"f"))
    await settle()
    client.leave()
    fetcher.leave()
    await settle()
    assert gate.cancelled == [b"f"]
    assert gate.begun == [b"a", b"b", b"f"]
    gate.open.set()
    await settle()
    assert gate.begun == [b"a", b"b", b"f", b"c"]
    assert of.stats()["kafka_queued_request_bytes"] == 0
    assert of.stats()["kafka_connections"] == 0


async def test_the_queued_bytes_of_all_connections_are_bounded() -> None:
    gate = Gate()
    of = server(gate, config=KafkaConfig(request_bytes_max=MIB, queued_bytes_max=4 * MIB))
    clients = [Client(of) for _ in range(10)]
    for client in clients:
        client.send(frame(PRODUCE, 1, bytes(MIB - 1000)))
    await settle()
    assert gate.begun
    assert of.stats()["kafka_queued_request_bytes"] <= 4 * MIB
    gate.open.set()
    await asyncio.sleep(1)
    assert [len(client.answers) for client in clients] == [1] * 10
    assert of.stats()["kafka_queued_request_bytes"] == 0
    assert of.stats()["kafka_queued_request_waits"] >= 6


async def test_half_a_request_gives_way_when_others_wait_for_its_room() -> None:
    of = server(
        config=KafkaConfig(request_bytes_max=MIB, queued_bytes_max=MIB),
        times=KafkaTimes(unfinished_ms=5_000),
    )
    half, other = Client(of), Client(of)
    half.send(frame(PRODUCE, 1, bytes(MIB - 1000))[: MIB // 2])
    await asyncio.sleep(60)
    assert half.is_open, "nobody needs its room"
    other.send(frame(PRODUCE, 2, bytes(MIB - 1000)))
    await asyncio.sleep(4)
    assert half.is_open
    assert other.answers == []
    await asyncio.sleep(4)
    assert not half.is_open
    assert [number for number, _ in other.answers] == [2]


async def send_slowly(client: Client, data: bytes, step: int) -> None:
    """A step each four seconds, while the client is not hung up on."""
    for begin in range(0, len(data), step):
        if client.is_open:
            client.send(data[begin : begin + step])
        await asyncio.sleep(4)


@pytest.mark.parametrize(("step", "is_answered"), [(160 << 10, True), (80 << 10, False)])
async def test_a_slow_request_is_let_end_while_others_wait_if_it_goes_on_for_its_size(
    step: int, *, is_answered: bool
) -> None:
    assert PROGRESS_BYTES_MIN < 5 / 4 * (80 << 10), "the lower rate is one of small requests"
    assert 5 / 4 * (80 << 10) < MIB // PROGRESS_PARTS < 5 / 4 * (160 << 10)
    of = server(
        config=KafkaConfig(request_bytes_max=MIB, queued_bytes_max=MIB),
        times=KafkaTimes(unfinished_ms=5_000),
    )
    slow, other = Client(of), Client(of)
    data = frame(PRODUCE, 1, bytes(MIB - 1000))
    sending = asyncio.ensure_future(send_slowly(slow, data, step))
    await asyncio.sleep(0.1)
    other.send(frame(PRODUCE, 2, bytes(MIB - 1000)))
    await sending
    await settle()
    assert len(slow.answers) == is_answered
    assert len(other.answers) == 1


async def test_slow_frames_that_nobody_waits_for_hold_nobody_up() -> None:
    of = server()
    slow = [Client(of) for _ in range(4)]
    for client in slow:
        client.send(frame(PRODUCE, 1, bytes(15 * MIB))[: 8 << 10])
    for _ in range(30):
        await asyncio.sleep(1)
        for client in slow:
            client.send(bytes(7_000))
        other = Client(of)
        other.send(frame(METADATA, 2, b"small") + frame(PRODUCE, 3, bytes(MIB)))
        await settle()
        assert len(other.answers) == 2
    assert all(client.is_open for client in slow)
    assert of.stats()["kafka_queued_request_waits"] == 0


async def test_a_client_that_takes_nothing_of_its_answers_is_hung_up_on() -> None:
    async def handle(_request: Request, _call: Call) -> Answered:
        return [bytes(MIB)]

    of = server(handle, times=KafkaTimes(unsent_ms=5_000))
    silent, slow = Client(of, reads=False), Client(of, reads=False)
    for client in (silent, slow):
        client.send(frame(FETCH, 1) + frame(FETCH, 2))
    for _ in range(20):
        await asyncio.sleep(1)
        slow.read_on(20_000)
    assert not silent.is_open
    assert slow.is_open
    assert of.traffic.hang_ups == 1


@pytest.mark.parametrize("is_short", [False, True])
async def test_while_answers_are_short_of_room_one_has_to_be_taken_at_a_rate_of_its_size(
    *, is_short: bool
) -> None:
    async def handle(_request: Request, _call: Call) -> Answered:
        return [bytes(16 * MIB)]

    answers = AnswerBudget(MIB)
    of = server(handle, times=KafkaTimes(unsent_ms=10_000), answers=answers)
    slow = Client(of, reads=False)
    slow.send(frame(FETCH, 1))
    if is_short:
        answers.begin("a", MIB).ask(lambda: None)
        answers.begin("a", MIB).ask(lambda: None)
    for _ in range(20):
        await asyncio.sleep(1)
        slow.read_on(100_000)
    assert PROGRESS_BYTES_MIN < 5 * 100_000
    assert slow.is_open is not is_short


async def test_idle_connections_are_closed_and_busy_ones_stay() -> None:
    gate = Gate()
    of = server(gate, times=KafkaTimes(idle_ms=10_000))
    idle, busy, half = Client(of), Client(of), Client(of)
    half.send(b"\0\0")
    busy.send(frame(FETCH, 1))
    await asyncio.sleep(9)
    assert idle.is_open
    await asyncio.sleep(1 + LOOK_S)
    assert (idle.is_open, busy.is_open, half.is_open) == (False, True, False)
    gate.open.set()
    await asyncio.sleep(9)
    assert busy.is_open
    await asyncio.sleep(1 + LOOK_S)
    assert not busy.is_open


async def test_connections_are_limited_in_all_and_by_address() -> None:
    of = server(config=KafkaConfig(connections_max=6, connections_per_ip_max=3))
    near = [Client(of, host="1.1.1.1") for _ in range(4)]
    far = [Client(of, host="2.2.2.2") for _ in range(3)]
    assert [client.is_open for client in near] == [True, True, True, False]
    assert all(client.is_open for client in far)
    assert not Client(of, host="3.3.3.3").is_open
    near[0].leave()
    assert Client(of, host="1.1.1.1").is_open
    assert not Client(of, host="3.3.3.3").is_open
    assert of.stats()["kafka_refused_connections"] == 3
    assert of.stats()["kafka_connections"] == 6


async def test_at_the_limit_idle_ones_give_way_and_those_with_a_request_stay() -> None:
    gate = Gate()
    of = server(gate, config=KafkaConfig(connections_max=5))
    half_open, said_hello, worker, uploading, third = (Client(of) for _ in range(5))
    half_open.send(b"\0\0\0")
    uploading.send(frame(PRODUCE, 1, bytes(MIB))[: MIB // 2])
    worker.send(frame(FETCH, 1))
    said_hello.send(frame(METADATA, 1))
    gate.open.set()
    await settle()
    gate.open.clear()
    worker.send(frame(FETCH, 2))
    assert len(said_hello.answers) == 1
    assert not Client(of).is_open, "all of them have just come"
    await asyncio.sleep(IDLE_MS_MIN / 1000 + 1)
    half_open.send(b"\0")  # which is no request
    assert [Client(of).is_open for _ in range(4)] == [True, True, True, False]
    open_ = [one.is_open for one in (half_open, said_hello, worker, uploading, third)]
    assert open_ == [False, False, True, True, False]
    assert of.stats()["kafka_connections"] == 5


async def test_ten_thousand_that_said_hello_keep_no_other_address_out() -> None:
    count = 1_000
    of = server(config=KafkaConfig(connections_max=count))
    established = Client(of, host="2.2.2.2")
    established.send(frame(METADATA, 1))
    strangers = [Client(of, host="6.6.6.6") for _ in range(count - 1)]
    for client in strangers:
        client.send(frame(METADATA, 1))
    await settle()
    assert all(client.is_open for client in strangers)
    newcomers = [Client(of, host=f"1.1.1.{number}") for number in range(10)]
    assert all(client.is_open for client in newcomers)
    await asyncio.sleep(60)
    again = [Client(of, host="6.6.6.6") for _ in range(count)]
    assert sum(client.is_open for client in again) >= count - 11
    assert established.is_open, "strangers take places of their own address"
    assert all(client.is_open for client in newcomers)


@pytest.fixture
def lines() -> Iterator[list[MutableMapping[str, object]]]:
    with structlog.testing.capture_logs() as found:
        yield found


async def test_other_protocols_are_closed_with_one_line_a_kind(
    lines: list[MutableMapping[str, object]],
) -> None:
    of = server()
    kinds = [b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"\x16\x03\x01\x02\0", b"GET / HTTP/1.1\r\n\r\n"]
    for first in kinds * 10:
        client = Client(of)
        client.send(first)
        assert not client.is_open
    assert [str(line["reason"]).partition(":")[0] for line in lines] == [
        "HTTP/2, as gRPC speaks it",
        "TLS",
        "HTTP",
    ]
    assert of.traffic.refused == {Refusal.HTTP2: 10, Refusal.TLS: 10, Refusal.HTTP: 10}
    assert of.stats()["kafka_refused_frames"] == 30


async def test_requests_are_counted_by_api() -> None:
    async def handle(request: Request, _call: Call) -> Answered:
        await asyncio.sleep(1.5)
        return [b"x" * 10]

    of = server(handle)
    client = Client(of)
    client.send(frame(PRODUCE, 1) + frame(PRODUCE, 2) + frame(METADATA, 3, b"12345"))
    await asyncio.sleep(10)
    found = by_api(of.traffic)
    assert found["kafka_requests"] == {"Produce": 2, "Metadata": 1}
    assert found["kafka_answer_bytes"] == {"Produce": 20, "Metadata": 10}
    assert found["kafka_request_bytes"] == {"Produce": 24, "Metadata": 17}
    assert found["kafka_request_seconds"]["Metadata"] == pytest.approx(1.5, abs=0.1)


async def test_a_stop_answers_what_came_and_ends_the_rest_in_bounded_time() -> None:
    gate = Gate()
    of = server(gate)
    clients = [Client(of) for _ in range(3)]
    for client in clients[:2]:
        client.send(frame(PRODUCE, 1, b"p"))
    clients[1].reads = False
    await settle()
    stopping = asyncio.create_task(of.stop(grace_s=5))
    await settle()
    assert [client.is_open for client in clients] == [True, True, False], "idle ones end at once"
    assert not Client(of).is_open, "no more are taken"
    gate.open.set()
    began_s = asyncio.get_running_loop().time()
    await stopping
    assert asyncio.get_running_loop().time() - began_s < 6
    assert clients[0].answers == [(1, b"p")]
    assert [client.is_open for client in clients] == [False] * 3


async def test_a_stop_cancels_what_does_not_end() -> None:
    gate = Gate()
    of = server(gate)
    client = Client(of)
    client.send(frame(PRODUCE, 1, b"p"))
    await settle()
    await of.stop(grace_s=1)
    assert gate.cancelled == [b"p"]
    assert not client.is_open


async def test_a_released_request_frees_its_room_before_its_answer() -> None:
    gate = asyncio.Event()

    async def handle(request: Request, _call: Call) -> Answered:
        request.release()
        await gate.wait()
        return [b"x"]

    of = server(handle, config=KafkaConfig(request_bytes_max=MIB, queued_bytes_max=MIB))
    clients = [Client(of) for _ in range(4)]
    for client in clients:
        client.send(frame(FETCH, 1, bytes(MIB - 1000)))
    await asyncio.sleep(1)
    assert of.stats()["kafka_queued_request_bytes"] == 0
    gate.set()
    await settle()
    assert [client.answers for client in clients] == [[(1, b"x")]] * 4


async def test_many_connections_at_once_leave_nothing() -> None:
    of = server(echo)
    clients = [Client(of) for _ in range(300)]
    for client in clients:
        client.send(frame(METADATA, 1, b"x") + b"\0\0")
    await settle()
    assert all(client.answers == [(1, b"x")] for client in clients)
    for client in clients:
        client.leave()
    stats = of.stats()
    assert stats["kafka_connections"] == stats["kafka_queued_request_bytes"] == 0
