"""A controller that does not lead forwards once; a broker's channel tries one after the other."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import aclosing
from typing import Any

import pytest

from tidelog.broker.controller_link.channel import ControllerChannel
from tidelog.broker.controller_link.epoch import ControllerEpoch, StaleControllerError
from tidelog.core.errors import CallFailedError, UnreachableError
from tidelog.metadata.attempts import is_numbered
from tidelog.metadata.config import ControllerConfig
from tidelog.metadata.image import EMPTY_IMAGE
from tidelog.metadata.state_machine import MetadataStateMachine
from tidelog.net.own_cluster import OwnCluster
from tidelog.node.handlers.controller import ControllerHandler
from tidelog.raft.replicated_log import CommittedEntry, PeerStatus, QuorumStatus
from tidelog.v1 import common_pb2, controller_pb2, methods
from tidelog.v1.common_pb2 import Error
from tidelog.v1.controller_pb2 import (
    BrokerHeartbeatRequest,
    DescribeQuorumRequest,
    FollowMetadataRequest,
    RegisterBrokerRequest,
    RegisterBrokerResponse,
)
from tidelog.v1.metadata_records_pb2 import MetadataBatch, MetadataRecord, ProducerIdsRecord
from tidelog.v1.methods import REGISTER_BROKER, Method

VOTERS = {1: "a:1", 2: "b:2", 3: "c:3"}
NOT_CONTROLLER = RegisterBrokerResponse(error=Error(code=common_pb2.NOT_CONTROLLER))


class StubQuorum:
    """A quorum that leads or not, and knows who does."""

    def __init__(self, *, is_active: bool, leader_id: int | None) -> None:
        self.is_active = is_active
        self.leader_id = leader_id
        self.term = 5
        self.image = EMPTY_IMAGE
        self.follow: Any = None  # set where it is used

    def status(self) -> QuorumStatus:
        return QuorumStatus(
            node_id=1,
            role="leader",
            term=self.term,
            leader_id=self.leader_id,
            last_index=41,
            commit_index=40,
            applied_index=39,
            snapshot_index=30,
            snapshot_bytes=9,
            wal_bytes=700,
            last_contact_ms=0,
            peers=(PeerStatus(2, 40, 12), PeerStatus(3, 0, None)),
        )

    async def submit(self, request: RegisterBrokerRequest) -> RegisterBrokerResponse:
        return RegisterBrokerResponse(broker_epoch=request.broker_id * 100)


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


def handler(
    quorum: StubQuorum, peers: StubPeers, reports: StubReports | None = None
) -> ControllerHandler:
    return ControllerHandler(
        node_id=1,
        own=OwnCluster(),
        quorum=quorum,  # type: ignore[arg-type]
        peers=peers,  # type: ignore[arg-type]
        voters=VOTERS,
        reports=reports or StubReports(),  # type: ignore[arg-type]
    )


async def test_active_controller_decides_by_itself() -> None:
    peers = StubPeers(lambda _a, _r: AssertionError("not to be asked"))
    served = handler(StubQuorum(is_active=True, leader_id=1), peers)
    response = await served.decide(REGISTER_BROKER, RegisterBrokerRequest(broker_id=7))
    assert response.broker_epoch == 700
    assert peers.asked == []


async def test_request_is_forwarded_to_the_leader_and_marked() -> None:
    peers = StubPeers(lambda _a, _r: RegisterBrokerResponse(broker_epoch=5))
    served = handler(StubQuorum(is_active=False, leader_id=3), peers)
    request = RegisterBrokerRequest(broker_id=7)
    assert (await served.decide(REGISTER_BROKER, request)).broker_epoch == 5
    assert peers.asked == [("c:3", RegisterBrokerRequest(broker_id=7, forwarded=True))]
    assert not request.forwarded


async def test_forwarded_request_is_never_forwarded_again() -> None:
    peers = StubPeers(lambda _a, _r: AssertionError("not to be asked"))
    served = handler(StubQuorum(is_active=False, leader_id=3), peers)
    response = await served.decide(methods.BROKER_HEARTBEAT, BrokerHeartbeatRequest(forwarded=True))
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
    answer = await served.decide(REGISTER_BROKER, RegisterBrokerRequest())
    assert answer.error.code == code


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
        epoch=ControllerEpoch(),
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
        epoch=ControllerEpoch(),
    )
    with pytest.raises(CallFailedError, match="broke"):
        await channel.call(REGISTER_BROKER, RegisterBrokerRequest(), timeout_ms=50)


NUMBERED: list[Method[Any, Any]] = [
    methods.BROKER_HEARTBEAT,
    methods.ALTER_PARTITION,
    methods.REPORT_REPLICA_STATE,
]


@pytest.mark.parametrize("method", NUMBERED, ids=lambda method: method.name)
async def test_each_attempt_has_a_number_of_its_own_and_names_the_newest_controller(
    method: Method[Any, Any],
) -> None:
    """On all channels of a broker, whatever became of the attempts before."""
    answers = [
        CallFailedError("broke"),
        UnreachableError("refused"),
        method.response_type(error=Error(code=common_pb2.NOT_CONTROLLER)),
        method.response_type(controller_epoch=7),
        method.response_type(controller_epoch=7),
    ]
    peers = StubPeers(lambda _a, _r: answers[len(peers.asked) - 1])
    one, other = two_channels(peers)
    one.epoch.learn(6)
    request = method.request_type(broker_id=3, broker_epoch=9)
    await one.call(method, request, timeout_ms=60_000)
    await other.call(method, request, timeout_ms=60_000)
    sent: list[Any] = [attempt for _, attempt in peers.asked]
    assert [attempt.attempt for attempt in sent] == [1, 2, 3, 4, 5]
    assert [attempt.controller_epoch for attempt in sent] == [6, 6, 6, 6, 7]
    assert {(attempt.broker_id, attempt.broker_epoch) for attempt in sent} == {(3, 9)}
    assert (request.controller_epoch, request.attempt) == (0, 0)


@pytest.mark.parametrize("method", NUMBERED, ids=lambda method: method.name)
async def test_a_controller_the_broker_had_not_heard_of_is_asked_again_at_once(
    method: Method[Any, Any],
) -> None:
    answers = [
        method.response_type(
            error=Error(code=common_pb2.STALE_CONTROLLER_EPOCH), controller_epoch=8
        ),
        method.response_type(controller_epoch=8),
    ]
    peers = StubPeers(lambda _a, _r: answers[len(peers.asked) - 1])
    channel, _ = two_channels(peers)
    channel.epoch.learn(7)
    assert not (await channel.call(method, method.request_type(), timeout_ms=1000)).error.code
    asked: list[Any] = [(address, sent) for address, sent in peers.asked]
    assert [(address, sent.controller_epoch) for address, sent in asked] == [("a:1", 7), ("a:1", 8)]


@pytest.mark.parametrize("code", [common_pb2.STALE_CONTROLLER_EPOCH, common_pb2.STALE_ATTEMPT])
async def test_attempts_that_are_refused_as_late_go_on_until_the_deadline(
    code: common_pb2.ErrorCode,
) -> None:
    peers = StubPeers(
        lambda _a, _r: methods.ALTER_PARTITION.response_type(
            error=Error(code=code, message="late"), controller_epoch=7
        )
    )
    channel, _ = two_channels(peers)
    request = methods.ALTER_PARTITION.request_type()
    with pytest.raises(UnreachableError, match="late"):
        await channel.call(methods.ALTER_PARTITION, request, timeout_ms=100)
    assert len(peers.asked) > len(VOTERS)


def test_every_request_that_has_numbers_is_numbered() -> None:
    service = controller_pb2.DESCRIPTOR.services_by_name["Controller"]
    with_numbers = {
        method.name for method in service.methods if "attempt" in method.input_type.fields_by_name
    }
    assert with_numbers == {method.name for method in NUMBERED}
    for method in NUMBERED:
        assert is_numbered(method.request_type())


DECIDING: list[Method[Any, Any]] = [
    methods.REGISTER_BROKER,
    methods.BROKER_HEARTBEAT,
    methods.ALTER_PARTITION,
    methods.CREATE_TOPICS,
    methods.DELETE_TOPICS,
    methods.ALTER_CONFIGS,
    methods.ALLOCATE_PRODUCER_IDS,
    methods.REPORT_REPLICA_STATE,
    methods.CREATE_PARTITIONS,
    methods.ELECT_LEADERS,
    methods.REPORT_UNREACHABLE_BROKER,
]


class StubReports:
    """Whom a node heard, and who hung up."""

    def __init__(self) -> None:
        self.events: list[str] = []

    def note_request(self, broker_id: int) -> None:
        self.events.append(f"heard {broker_id}")

    def hung_up(self, broker_id: int) -> None:
        self.events.append(f"hung up {broker_id}")


def two_channels(peers: StubPeers) -> tuple[ControllerChannel, ControllerChannel]:
    """Of one broker."""
    epoch = ControllerEpoch()
    one, other = (
        ControllerChannel(
            peers=peers,  # type: ignore[arg-type]
            addresses=list(VOTERS.values()),
            clock=SteppingClock(),
            epoch=epoch,
        )
        for _ in range(2)
    )
    return one, other


@pytest.mark.parametrize("method", DECIDING, ids=lambda method: method.name)
@pytest.mark.parametrize("code", [common_pb2.NONE, common_pb2.STALE_BROKER_EPOCH])
async def test_what_a_replaced_controller_decides_is_refused_and_another_asked(
    method: Method[Any, Any], code: common_pb2.ErrorCode
) -> None:
    """Whatever it decides, on any of the broker's channels."""
    epochs = {"a:1": 7, "b:2": 6, "c:3": 8}
    peers = StubPeers(
        lambda address, _r: method.response_type(
            error=Error(code=code), controller_epoch=epochs[address]
        )
    )
    one, other = two_channels(peers)
    first = await one.call(REGISTER_BROKER, RegisterBrokerRequest(), timeout_ms=1000)
    assert first.controller_epoch == 7
    other.rotate()
    answer = await other.call(method, method.request_type(), timeout_ms=1000)
    assert (answer.controller_epoch, answer.error.code) == (8, code)
    assert [address for address, _ in peers.asked] == ["a:1", "b:2", "c:3"]


async def test_a_broker_that_hears_replaced_controllers_alone_says_so() -> None:
    peers = StubPeers(lambda _a, _r: RegisterBrokerResponse(broker_epoch=9, controller_epoch=6))
    channel, _ = two_channels(peers)
    channel.epoch.learn(7)
    with pytest.raises(StaleControllerError, match="controller epoch 6, which ended: it is 7"):
        await channel.call(REGISTER_BROKER, RegisterBrokerRequest(), timeout_ms=50)


@pytest.mark.parametrize("code", [common_pb2.NOT_CONTROLLER, common_pb2.REQUEST_TIMED_OUT])
async def test_an_answer_that_nobody_decided_has_no_epoch_to_refuse(
    code: common_pb2.ErrorCode,
) -> None:
    answers = {"a:1": Error(code=code), "b:2": Error(), "c:3": Error()}
    peers = StubPeers(lambda address, _r: RegisterBrokerResponse(error=answers[address]))
    channel, _ = two_channels(peers)
    channel.epoch.learn(7)
    answer = await channel.call(REGISTER_BROKER, RegisterBrokerRequest(), timeout_ms=1000)
    assert answer.error.code in (common_pb2.NONE, common_pb2.REQUEST_TIMED_OUT)
    assert channel.epoch.highest == 7


def test_every_deciding_method_of_the_controllers_answers_with_its_epoch() -> None:
    services = ("tidelog.v1.Admin", "tidelog.v1.Controller")
    listed = [method for service in services for method in methods.rpcs_of(service)]
    undecided = [method for method in listed if method not in DECIDING]
    assert {method.name for method in undecided} == {
        *("DescribeTopics", "DescribeCluster", "DescribeConfigs"),
        *("FollowMetadata", "DescribeQuorum"),
    }
    for method in DECIDING:
        assert "controller_epoch" in method.response_type.DESCRIPTOR.fields_by_name


async def test_a_voter_describes_itself_whether_it_leads_or_not() -> None:
    peers = StubPeers(lambda _a, _r: AssertionError("not to be asked"))
    served = handler(StubQuorum(is_active=False, leader_id=3), peers)
    described = await served.describe_quorum(DescribeQuorumRequest())
    assert (described.node_id, described.role, described.leader_id) == (1, "leader", 3)
    assert (described.term, described.commit_index, described.applied_index) == (5, 40, 39)
    assert (described.last_index, described.snapshot_index, described.snapshot_bytes) == (41, 30, 9)
    assert (described.wal_bytes, described.last_contact_ms) == (700, 0)
    contacts = {
        peer.node_id: peer.last_contact_ms if peer.HasField("last_contact_ms") else None
        for peer in described.peers
    }
    assert contacts == {2: 12, 3: None}
    assert [peer.match_index for peer in described.peers] == [40, 0]
    assert {voter.node_id: voter.address for voter in described.voters} == VOTERS


@pytest.mark.parametrize("accepts_snapshot", [True, False])
async def test_the_metadata_is_streamed_as_the_caller_takes_it(accepts_snapshot: bool) -> None:
    committed = MetadataStateMachine(ControllerConfig(cluster_id="tide"))
    batch = MetadataBatch(
        controller_epoch=1,
        records=[MetadataRecord(producer_ids=ProducerIdsRecord(next_producer_id=1_000))],
    )
    committed.apply(CommittedEntry(4, 1, batch.SerializeToString()))
    quorum = StubQuorum(is_active=False, leader_id=3)
    quorum.image, quorum.follow = committed.image, committed.follow
    reports = StubReports()
    unasked = StubPeers(lambda _a, _r: AssertionError("not to be asked"))
    served = handler(quorum, unasked, reports)
    request = FollowMetadataRequest(broker_id=7, accepts_snapshot=accepts_snapshot)
    stream = served.follow_metadata(request)
    async with aclosing(stream) as responses:  # type: ignore[type-var]  # a generator
        response = await anext(responses)
    assert (response.committed_offset, response.leader_id, response.controller_epoch) == (4, 3, 5)
    assert response.HasField("snapshot") is accepts_snapshot
    assert [entry.offset for entry in response.entries] == ([] if accepts_snapshot else [4])
    assert reports.events == ["heard 7", "hung up 7"]
