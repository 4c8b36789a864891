"""A controller that does not lead forwards once; a broker's channel tries one after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tidelog.broker.controller_channel import ControllerChannel
from tidelog.broker.rpc.controller import ControllerHandler
from tidelog.log.errors import CallFailedError, UnreachableError
from tidelog.v1 import common_pb2
from tidelog.v1.common_pb2 import Error
from tidelog.v1.controller_pb2 import (
    BrokerHeartbeatRequest,
    RegisterBrokerRequest,
    RegisterBrokerResponse,
)
from tidelog.v1.methods import REGISTER_BROKER

VOTERS = {1: "a:1", 2: "b:2", 3: "c:3"}
NOT_CONTROLLER = RegisterBrokerResponse(error=Error(code=common_pb2.NOT_CONTROLLER))


class StubQuorum:
    """A quorum that leads or not, and knows who does."""

    def __init__(self, *, is_active: bool, leader_id: int | None) -> None:
        self.is_active = is_active
        self.leader_id = leader_id

    async def register_broker(self, request: RegisterBrokerRequest) -> RegisterBrokerResponse:
        return RegisterBrokerResponse(broker_epoch=request.broker_id * 100)

    broker_heartbeat = alter_partition = register_broker
    create_topics = delete_topics = alter_configs = register_broker


class StubPeers:
    """Answers by address; records what was asked."""

    def __init__(self, answer: Callable[[str, Any], Any]) -> None:
        self.asked: list[tuple[str, Any]] = []
        self._answer = answer

    async def call(self, address: str, method: Any, request: Any, *, timeout_ms: int) -> Any:
        assert timeout_ms > 0
        del method
        self.asked.append((address, request))
        result = self._answer(address, request)
        if isinstance(result, Exception):
            raise result
        return result


class SteppingClock:
    """Ten milliseconds pass between any two looks."""

    def __init__(self) -> None:
        self._now = 0

    def monotonic_ms(self) -> int:
        self._now += 10
        return self._now

    def monotonic_s(self) -> float:
        return self.monotonic_ms() / 1000

    def wall_ms(self) -> int:
        return self.monotonic_ms()


def handler(quorum: StubQuorum, peers: StubPeers) -> ControllerHandler:
    return ControllerHandler(
        node_id=1,
        quorum=quorum,  # type: ignore[arg-type]
        peers=peers,  # type: ignore[arg-type]
        voters=VOTERS,
    )


async def test_active_controller_decides_by_itself() -> None:
    peers = StubPeers(lambda _a, _r: AssertionError("not to be asked"))
    served = handler(StubQuorum(is_active=True, leader_id=1), peers)
    response = await served.register_broker(RegisterBrokerRequest(broker_id=7))
    assert response.broker_epoch == 700
    assert peers.asked == []


async def test_request_is_forwarded_to_the_leader_and_marked() -> None:
    peers = StubPeers(lambda _a, _r: RegisterBrokerResponse(broker_epoch=5))
    served = handler(StubQuorum(is_active=False, leader_id=3), peers)
    request = RegisterBrokerRequest(broker_id=7)
    assert (await served.register_broker(request)).broker_epoch == 5
    assert peers.asked == [("c:3", RegisterBrokerRequest(broker_id=7, forwarded=True))]
    assert not request.forwarded


async def test_forwarded_request_is_never_forwarded_again() -> None:
    peers = StubPeers(lambda _a, _r: AssertionError("not to be asked"))
    served = handler(StubQuorum(is_active=False, leader_id=3), peers)
    response = await served.broker_heartbeat(BrokerHeartbeatRequest(forwarded=True))
    assert response.error.code == common_pb2.NOT_CONTROLLER
    assert "node 3 leads" in response.error.message
    assert peers.asked == []


@pytest.mark.parametrize(
    ("failure", "code"),
    [
        (UnreachableError("refused"), common_pb2.NOT_CONTROLLER),
        (CallFailedError("broke"), common_pb2.REQUEST_TIMED_OUT),
    ],
)
async def test_failed_forward_says_whether_the_outcome_is_known(
    failure: Exception, code: common_pb2.ErrorCode
) -> None:
    served = handler(StubQuorum(is_active=False, leader_id=2), StubPeers(lambda _a, _r: failure))
    assert (await served.register_broker(RegisterBrokerRequest())).error.code == code


async def test_channel_goes_on_to_the_controller_that_answers_and_stays_there() -> None:
    answers = {
        "a:1": UnreachableError("refused"),
        "b:2": NOT_CONTROLLER,
        "c:3": RegisterBrokerResponse(broker_epoch=9),
    }
    peers = StubPeers(lambda address, _r: answers[address])
    channel = ControllerChannel(
        peers=peers,  # type: ignore[arg-type]
        addresses=list(VOTERS.values()),
        clock=SteppingClock(),
    )
    for _ in range(2):
        response = await channel.call(REGISTER_BROKER, RegisterBrokerRequest(), timeout_ms=1000)
        assert response.broker_epoch == 9
    assert [address for address, _ in peers.asked] == ["a:1", "b:2", "c:3", "c:3"]


async def test_channel_gives_up_at_its_deadline_with_the_last_error() -> None:
    channel = ControllerChannel(
        peers=StubPeers(lambda _a, _r: CallFailedError("broke")),  # type: ignore[arg-type]
        addresses=["a:1"],
        clock=SteppingClock(),
    )
    with pytest.raises(CallFailedError, match="broke"):
        await channel.call(REGISTER_BROKER, RegisterBrokerRequest(), timeout_ms=50)
