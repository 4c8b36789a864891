"""Calls, streams and Raft connections over the simulated network."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest
from tests.sim.network_stage import SERVER, Handler, Stage

from tidelog.core.errors import CallFailedError, InvariantError, KafkaError, UnreachableError
from tidelog.net.transport import Dialled, DialOutcome
from tidelog.simulation.engine.network import Host, Lateness
from tidelog.simulation.engine.peers import SimPeers
from tidelog.simulation.engine.raft_transport import SimRaftTransport
from tidelog.simulation.engine.scheduler import UnhandledError
from tidelog.v1.admin_pb2 import NodeStatusRequest, NodeStatusResponse
from tidelog.v1.controller_pb2 import FollowMetadataRequest
from tidelog.v1.data_pb2 import MetadataRequest
from tidelog.v1.methods import FOLLOW_METADATA, METADATA
from tidelog.v1.raft_pb2 import RaftMessage

pytestmark = pytest.mark.sim


@pytest.fixture
def stage() -> Iterator[Stage]:
    stage = Stage()
    yield stage
    stage.scheduler.close()


def test_a_call_is_answered_from_copies(stage: Stage) -> None:
    async def main() -> None:
        request = MetadataRequest(topics=["a"])
        response = await stage.peers.call(SERVER, METADATA, request, timeout_ms=1000)
        assert response.cluster_id == "a"
        assert stage.handler.requests == [request]
        assert stage.handler.requests[0] is not request

    stage.run(main())


def test_nobody_at_the_address_is_unreachable_at_once(stage: Stage) -> None:
    async def main() -> None:
        stage.crash(stage.server)
        with pytest.raises(UnreachableError):
            await stage.ask()
        assert stage.scheduler.now_s < 0.2

    stage.run(main())


def test_a_server_that_does_not_listen_yet_is_unreachable(stage: Stage) -> None:
    stage.server.services = None

    async def main() -> None:
        with pytest.raises(UnreachableError):
            await stage.ask()

    stage.run(main())


def test_a_slow_answer_times_out_on_the_callers_clock_and_cancels_the_handler(
    stage: Stage,
) -> None:
    stage.handler.think_s = 10
    stage.scheduler.change_rate(stage.client.loop, 2.0)

    async def main() -> None:
        with pytest.raises(CallFailedError, match="within 4000 ms"):
            await stage.ask(timeout_ms=4000)
        assert stage.scheduler.now_s == pytest.approx(2.0, abs=0.1)
        await asyncio.sleep(1)
        assert stage.handler.cancelled == 1

    stage.run(main())


def test_a_paused_server_is_silent_and_answers_the_next_call_after_resume(stage: Stage) -> None:
    async def main() -> None:
        stage.server.loop.pause()
        with pytest.raises(CallFailedError):
            await stage.ask("lost", timeout_ms=500)
        stage.server.loop.resume()
        assert (await stage.ask("b")).cluster_id == "b"

    stage.run(main())


def test_a_crash_breaks_the_calls_in_flight(stage: Stage) -> None:
    stage.handler.think_s = 10
    stage.later(1.0, lambda: stage.crash(stage.server))

    async def main() -> None:
        with pytest.raises(CallFailedError, match="broke"):
            await stage.ask(timeout_ms=5000)
        assert stage.scheduler.now_s < 1.1

    stage.run(main())


def test_a_crashed_caller_cancels_its_handlers(stage: Stage) -> None:
    stage.handler.think_s = 10
    other = stage.add("other")
    request = MetadataRequest()
    peers = SimPeers(network=stage.network, host=other)

    async def main() -> None:
        other.loop.create_task(peers.call(SERVER, METADATA, request, timeout_ms=5000))
        await asyncio.sleep(1)
        stage.crash(other)
        await asyncio.sleep(1)
        assert stage.handler.cancelled == 1

    stage.run(main())


@pytest.mark.parametrize(
    ("link", "arrived"), [(("client", "server"), 0), (("server", "client"), 1)]
)
def test_a_cut_link_loses_in_silence_in_its_direction_only(
    stage: Stage, link: tuple[str, str], arrived: int
) -> None:
    async def main() -> None:
        stage.network.cut(*link)
        with pytest.raises(CallFailedError, match="within"):
            await stage.ask("lost", timeout_ms=1000)
        assert len(stage.handler.requests) == arrived
        stage.network.heal(*link)
        assert (await stage.ask("b")).cluster_id == "b"

    stage.run(main())
    assert any("lost" in line for line in stage.trace)


def test_a_refusal_fails_the_call_and_a_broken_invariant_fails_the_run(stage: Stage) -> None:
    async def main() -> None:
        with pytest.raises(CallFailedError):
            await stage.ask()

    stage.handler.error = KafkaError("no")
    stage.run(main())
    stage.handler.error = InvariantError("two leaders")
    with pytest.raises(UnhandledError, match="two leaders"):
        stage.run(main())


def test_a_stream_arrives_whole_and_in_order(stage: Stage) -> None:
    async def main() -> None:
        request = FollowMetadataRequest(from_offset=200)
        stream = stage.peers.stream(SERVER, FOLLOW_METADATA, request)
        offsets = [response.committed_offset async for response in stream]
        assert offsets == list(range(200))

    stage.run(main())


def test_closing_a_stream_cancels_its_handler(stage: Stage) -> None:
    stage.handler.think_s = 1

    async def main() -> None:
        request = FollowMetadataRequest(from_offset=200)
        async with aclosing(stage.peers.stream(SERVER, FOLLOW_METADATA, request)) as stream:
            await anext(stream)
        await asyncio.sleep(3)
        assert stage.handler.cancelled == 1
        assert stage.handler.sent < 3

    stage.run(main())


def test_a_stream_that_lost_a_message_breaks_when_the_link_heals(stage: Stage) -> None:
    stage.handler.think_s = 1
    stage.later(1.5, lambda: stage.network.cut("server", "client"))
    stage.later(5.0, lambda: stage.network.heal("server", "client"))
    seen: list[int] = []

    async def main() -> None:
        request = FollowMetadataRequest(from_offset=200)
        stream = stage.peers.stream(SERVER, FOLLOW_METADATA, request)
        seen.extend([(await anext(stream)).committed_offset for _ in range(2)])
        with pytest.raises(CallFailedError, match="broke"):
            await anext(stream)

    stage.run(main())
    assert seen == [0, 1]
    assert stage.scheduler.now_s == pytest.approx(5.0, abs=0.1)


def test_the_crash_of_a_cut_off_server_is_noticed_when_the_link_heals(stage: Stage) -> None:
    stage.handler.think_s = 100
    stage.later(1.0, lambda: stage.network.cut("server", "client"))
    stage.later(2.0, lambda: stage.crash(stage.server))
    stage.later(5.0, lambda: stage.network.heal("server", "client"))

    async def main() -> None:
        with pytest.raises(CallFailedError, match="broke"):
            await stage.ask(timeout_ms=50_000)

    stage.run(main())
    assert stage.scheduler.now_s == pytest.approx(5.0, abs=0.1)


def test_some_of_what_a_crashed_host_said_last_never_arrives(stage: Stage) -> None:
    heard: list[int] = []
    for _ in range(20):
        server = stage.add("server")
        connection = stage.network.connect((server, stage.client), lambda _: None)
        for number in range(5):
            connection.send(server, "word", b"", partial(heard.append, number))
        stage.crash(server)

    stage.run(asyncio.sleep(1))

    assert 20 * 5 / 4 < len(heard) < 20 * 5 * 3 / 4
    assert heard.count(0) > heard.count(4)


def dial(stage: Stage, *, timeout_ms: int = 500) -> Coroutine[Any, Any, Dialled]:
    return stage.peers.dial(SERVER, timeout_ms=timeout_ms)


def test_a_machine_without_power_is_silent_until_it_is_back(stage: Stage) -> None:
    stage.handler.think_s = 100
    stage.later(1.0, lambda: stage.power_off(stage.server))
    stage.later(5.0, lambda: stage.network.cut("client", "server"))
    stage.later(6.0, lambda: stage.network.heal("client", "server"))
    stage.later(8.0, partial(stage.bring_up, "server"))

    async def main() -> None:
        waiting = asyncio.ensure_future(stage.ask(timeout_ms=50_000))
        await asyncio.sleep(2)
        with pytest.raises(UnreachableError, match="silent"):
            await stage.ask()
        assert stage.scheduler.now_s == pytest.approx(3.5, abs=0.1)
        assert (await dial(stage)).outcome is DialOutcome.SILENT
        assert stage.scheduler.now_s == pytest.approx(4.0, abs=0.1)
        with pytest.raises(CallFailedError, match="broke"):
            await waiting

    stage.run(main())
    assert stage.scheduler.now_s == pytest.approx(8.0, abs=0.1)


def test_a_killed_process_refuses_and_behind_a_cut_link_is_silent(stage: Stage) -> None:
    async def main() -> None:
        stage.crash(stage.server)
        assert (await dial(stage)).outcome is DialOutcome.REFUSED
        stage.network.cut("server", "client")
        assert (await dial(stage)).outcome is DialOutcome.SILENT
        stage.network.heal("server", "client")
        stage.add("server")
        assert (await dial(stage)).outcome is DialOutcome.REFUSED, "it does not listen yet"

    stage.run(main())


def test_a_link_that_refuses_breaks_its_connections_and_takes_no_new_one(stage: Stage) -> None:
    stage.handler.think_s = 1

    async def main() -> None:
        waiting = asyncio.ensure_future(stage.ask(timeout_ms=50_000))
        await asyncio.sleep(0.5)
        stage.network.refuse("client", "server")
        with pytest.raises(CallFailedError, match="broke"):
            await waiting
        assert (await dial(stage)).outcome is DialOutcome.REFUSED
        with pytest.raises(UnreachableError, match="refuses"):
            await stage.ask()
        stage.network.cut("server", "client")
        assert (await dial(stage)).outcome is DialOutcome.REFUSED, "also where it is cut"
        stage.network.heal("server", "client")
        stage.network.accept("client", "server")
        await stage.ask(timeout_ms=50_000)

    stage.run(main())


def test_a_dial_finds_an_incarnation_unless_it_is_paused(stage: Stage) -> None:
    class Node:
        async def status(self, _: NodeStatusRequest) -> NodeStatusResponse:
            return NodeStatusResponse(incarnation_id=b"i" * 16)

    stage.server.services = {"tidelog.v1.Node": Node()}

    async def main() -> None:
        assert await dial(stage) == Dialled(DialOutcome.ANSWERED, b"i" * 16)
        stage.server.loop.pause()
        assert (await dial(stage)).outcome is DialOutcome.SILENT

    stage.run(main())


@dataclass
class Receiver:
    """Writes down what a voter hears."""

    events: list[str] = field(default_factory=list)

    def on_message(self, peer_id: int, message: RaftMessage) -> None:
        self.events.append(f"{peer_id}:{message.term}")

    def on_connected(self, peer_id: int) -> None:
        self.events.append(f"+{peer_id}")

    def on_disconnected(self, peer_id: int) -> None:
        self.events.append(f"-{peer_id}")


def start_two_voters(
    stage: Stage,
) -> tuple[dict[int, Host], dict[int, Receiver], dict[int, SimRaftTransport]]:
    directory: dict[int, SimRaftTransport] = {}
    hosts = {node_id: stage.add(f"voter-{node_id}") for node_id in (1, 2)}
    receivers = {node_id: Receiver() for node_id in hosts}
    transports = {
        node_id: SimRaftTransport(
            network=stage.network,
            host=host,
            node_id=node_id,
            voter_ids=hosts,
            directory=directory,
        )
        for node_id, host in hosts.items()
    }
    for node_id, host in hosts.items():
        host.loop.create_task(transports[node_id].start(receivers[node_id]))
    return hosts, receivers, transports


def test_raft_messages_keep_their_order_and_a_crash_disconnects(stage: Stage) -> None:
    hosts, receivers, transports = start_two_voters(stage)

    async def main() -> None:
        assert not transports[1].send(2, RaftMessage(term=7))
        await asyncio.sleep(1)
        assert all(transports[1].send(2, RaftMessage(term=term)) for term in range(50))
        await asyncio.sleep(1)
        stage.crash(hosts[2])
        await asyncio.sleep(1)
        assert not transports[1].send(2, RaftMessage(term=99))

    stage.run(main())

    assert receivers[2].events == ["+1", *(f"1:{term}" for term in range(50))]
    assert receivers[1].events == ["+2", "-2"]


def test_a_hello_that_its_sender_gave_up_mutes_nobody_for_good(stage: Stage) -> None:
    late = Lateness(probability=1.0, delay_s_min=3.0, delay_s_max=3.1)
    stage.network.lateness["voter-1", "voter-2"] = late
    _, receivers, transports = start_two_voters(stage)

    async def main() -> None:
        await asyncio.sleep(0.5)
        stage.network.lateness.clear()
        await asyncio.sleep(2)
        assert transports[1].send(2, RaftMessage(term=1))
        await asyncio.sleep(2)  # the first hello comes, behind the second one
        assert transports[1].send(2, RaftMessage(term=2))
        await asyncio.sleep(1)

    stage.run(main())

    assert [event for event in receivers[2].events if ":" in event] == ["1:1", "1:2"]


def test_a_late_request_is_worked_on_after_its_caller_gave_up_and_later_ones_overtake_it(
    stage: Stage,
) -> None:
    late = Lateness(probability=1.0, delay_s_min=3.0, delay_s_max=3.1)

    async def main() -> None:
        stage.network.lateness["client", "server"] = late
        with pytest.raises(CallFailedError, match="within 1000 ms"):
            await stage.ask("first", timeout_ms=1000)
        stage.network.lateness.clear()
        assert (await stage.ask("second", timeout_ms=1000)).cluster_id == "second"
        assert stage.scheduler.now_s < 1.5
        await asyncio.sleep(5)
        assert [list(one.topics) for one in stage.handler.requests] == [["second"], ["first"]]

    stage.run(main())


def test_a_held_call_arrives_late_and_unheard_while_others_overtake_it(stage: Stage) -> None:
    async def main() -> None:
        late = stage.network.hold_calls("client", "Metadata", most=1)
        with pytest.raises(CallFailedError):
            await stage.ask("first", timeout_ms=100)
        assert (await stage.ask("second")).cluster_id == "second"
        assert late.count == 1
        stage.network.deliver_late(late)
        await asyncio.sleep(1.0)
        assert [list(one.topics) for one in stage.handler.requests] == [["second"], ["first"]]

    stage.run(main())


def test_messages_of_one_connection_keep_their_order_however_late(stage: Stage) -> None:
    async def main() -> None:
        late = Lateness(probability=0.5, delay_s_min=0.1, delay_s_max=9.0)
        stage.network.lateness["server", "client"] = late
        request = FollowMetadataRequest(from_offset=20)
        responses = stage.peers.stream(SERVER, FOLLOW_METADATA, request)
        committed = [response.committed_offset async for response in responses]
        assert committed == list(range(20))
        assert stage.scheduler.now_s > 1.0

    stage.run(main())


def test_calls_of_others_and_of_other_methods_are_not_held(stage: Stage) -> None:
    async def main() -> None:
        held = [
            stage.network.hold_calls("server", "Metadata"),
            stage.network.hold_calls("client", "Produce"),
        ]
        assert (await stage.ask("a")).cluster_id == "a"
        assert not any(late.count for late in held)

    stage.run(main())


def test_a_late_call_comes_to_whoever_is_at_the_address_by_then(stage: Stage) -> None:
    async def main() -> None:
        late = stage.network.hold_calls("client", "Metadata")
        with pytest.raises(CallFailedError):
            await stage.ask("a", timeout_ms=100)
        stage.crash(stage.server)
        successor, handler = stage.add("server"), Handler()
        successor.services = {"tidelog.v1.Broker": handler}
        stage.network.deliver_late(late)
        await asyncio.sleep(1.0)
        assert [list(one.topics) for one in handler.requests] == [["a"]]
        assert not stage.handler.requests

    stage.run(main())
