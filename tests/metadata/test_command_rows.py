"""A command is a row: its RPC, its decision, its forwarding and its rules need nothing else."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, cast

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from tests.metadata.fake_quorum import Nodes

from tidelog.broker.controller_link.channel import ControllerChannel
from tidelog.broker.controller_link.controller_forwarder import ControllerForwarder
from tidelog.broker.controller_link.epoch import ControllerEpoch
from tidelog.broker.controller_link.metadata_follower import MetadataFollower
from tidelog.core.env import Random
from tidelog.metadata import brokers, leaders, settling
from tidelog.metadata.commands import COMMANDS, CommandRow
from tidelog.metadata.config import ControllerConfig
from tidelog.metadata.context import ControllerContext
from tidelog.metadata.decision import Decision, set_metadata_offset, shows_offset
from tidelog.metadata.image import MetadataImage
from tidelog.net.own_cluster import OwnCluster
from tidelog.node.handlers.admin import AdminHandler
from tidelog.node.handlers.controller import ControllerHandler
from tidelog.v1 import common_pb2, methods
from tidelog.v1.admin_pb2 import (
    PREFERRED,
    CreateTopicsRequest,
    DeleteTopicsRequest,
    ElectLeadersRequest,
    ElectLeadersResponse,
    NewTopic,
)
from tidelog.v1.metadata_records_pb2 import CommandRecord, ConfigRecord, MetadataRecord
from tidelog.v1.methods import Method

if TYPE_CHECKING:
    from tests.metadata.conftest import World

SERVICES = ("tidelog.v1.Admin", "tidelog.v1.Controller")
NO_COMMANDS = {
    "DescribeTopics",
    "DescribeCluster",
    "DescribeConfigs",
    "FollowMetadata",
    "DescribeQuorum",
    "ReportUnreachableBroker",
}
"""Reads, and a report that is no decision: the controller dials, and what it finds decides."""
OWN = {
    brokers.ExpireSessions,
    brokers.FenceDeadBroker,
    leaders.RebalanceLeaders,
    settling.SettlePartitions,
}
RPCS = [method for service in SERVICES for method in methods.rpcs_of(service)]
ROWS = [pytest.param(row, id=row.request.__name__) for row in COMMANDS.values()]


def test_every_rpc_of_the_controllers_has_one_row_and_each_row_one_rpc() -> None:
    commands = [method for method in RPCS if method.name not in NO_COMMANDS]
    assert {method.name for method in RPCS} > NO_COMMANDS
    asked = [method.request_type for method in commands]
    assert len(set(asked)) == len(asked)
    assert set(asked) | OWN == set(COMMANDS)
    for method in commands:
        assert COMMANDS[method.request_type].reply is method.response_type, method.path


@pytest.mark.parametrize("service", SERVICES)
def test_every_rpc_of_the_service_is_served(service: str) -> None:
    none = cast(Any, None)
    controller = ControllerHandler(
        node_id=1, own=none, quorum=none, peers=none, voters={}, reports=none
    )
    admin = admin_handler(controller=controller, forwarder=None)
    served = {"tidelog.v1.Admin": admin.rpcs(), "tidelog.v1.Controller": controller.rpcs()}
    assert set(served[service]) == {method.name for method in methods.rpcs_of(service)}


@pytest.mark.parametrize("row", ROWS)
def test_a_row_says_what_its_messages_say(row: CommandRow[Any, Any]) -> None:
    if row.request in OWN:
        assert (row.needs_id, row.complete, row.visible_when) == (False, None, None)
        return
    asked = row.request.DESCRIPTOR.fields_by_name
    answered = row.reply.DESCRIPTOR.fields_by_name
    assert {"cluster_id", "forwarded"} <= set(asked)
    assert {"cluster_id", "error", "controller_epoch"} <= set(answered)
    assert row.needs_id == ("command_id" in asked)
    remembered = CommandRecord.DESCRIPTOR.oneofs_by_name["reply"].fields
    assert row.needs_id == (row.reply.DESCRIPTOR in [field.message_type for field in remembered])
    assert row.needs_id or row.plan_items is None, "the progress of a plan is found by its id"
    if "from_broker" in asked:
        assert row.visible_when is not None
        assert "timeout_ms" in asked


def shown(world: World, request: Any) -> tuple[bool, bool]:
    """Whether the change that a request asks for shows before it happens, and after it."""
    before = world.image
    reply = world.do(request)
    visible_when = COMMANDS[type(request)].visible_when
    assert visible_when is not None
    shows = visible_when(request, reply, before)
    return shows(before), shows(world.image)


def test_a_created_topic_is_visible_where_it_is_and_a_deleted_one_where_it_is_not(
    world: World,
) -> None:
    world.start(1)
    topic = NewTopic(name="t", partitions=1, replication_factor=1)
    only_validated = CreateTopicsRequest(topics=[topic], validate_only=True)
    assert shown(world, only_validated) == (True, True)
    assert shown(world, CreateTopicsRequest(topics=[topic])) == (False, True)
    assert shown(world, CreateTopicsRequest(topics=[topic])) == (True, True)  # it exists
    assert shown(world, DeleteTopicsRequest(names=["t", "no"])) == (False, True)


def test_an_elected_leader_is_visible_where_it_leads_or_a_newer_one_does(world: World) -> None:
    world.start(1, 2, 3)
    world.create("t")
    preferred = world.partition("t").replicas[0]
    others = {1, 2, 3} - {preferred}
    world.pass_session_but(*others)
    world.start(preferred)
    world.alter("t", [1, 2, 3])
    before = world.image
    request = ElectLeadersRequest(election_type=PREFERRED, topics=[{"name": "t"}])
    assert shown(world, request) == (False, True)
    reply = ElectLeadersResponse()
    reply.partitions.add(topic="t", leader_id=preferred)
    world.pass_session_but(*others)
    shows = leaders.show_elected(request, reply, before)
    assert shows(world.image), "a newer leader than the one that was elected"


# A toy command, from its proto to the client's answer


@cache
def toy_messages() -> tuple[Any, Any]:
    """A request and a reply as the proto of a new command would have them."""
    file = descriptor_pb2.FileDescriptorProto(name="toy.proto", syntax="proto3", package="toy")
    file.dependency.append("tidelog/v1/common.proto")
    kinds = descriptor_pb2.FieldDescriptorProto
    fields = {
        "Request": [
            ("value", 1, kinds.TYPE_STRING),
            ("timeout_ms", 2, kinds.TYPE_INT32),
            ("from_broker", 13, kinds.TYPE_BOOL),
            ("cluster_id", 14, kinds.TYPE_STRING),
            ("forwarded", 15, kinds.TYPE_BOOL),
        ],
        "Response": [
            ("error", 1, kinds.TYPE_MESSAGE),
            ("controller_epoch", 2, kinds.TYPE_INT64),
            ("metadata_offset", 3, kinds.TYPE_INT64),
            ("cluster_id", 14, kinds.TYPE_STRING),
        ],
    }
    for name, its_fields in fields.items():
        message = file.message_type.add(name=name)
        for field, number, kind in its_fields:
            added = message.field.add(name=field, number=number, type=kind, label=1)
            if kind == kinds.TYPE_MESSAGE:
                added.type_name = ".tidelog.v1.Error"
    pool = descriptor_pool.Default()
    pool.AddSerializedFile(file.SerializeToString())
    request, response = (pool.FindMessageTypeByName(f"toy.{name}") for name in fields)
    return message_factory.GetMessageClass(request), message_factory.GetMessageClass(response)


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> Method[Any, Any]:
    """`Admin.SetToy`, as a new command is written: messages, a decision, a row."""
    request_type, reply_type = toy_messages()

    def set_toy(request: Any, _image: MetadataImage, _context: ControllerContext) -> Decision[Any]:
        record = ConfigRecord(
            resource_type=ConfigRecord.CLUSTER, key="retention.ms", value=request.value
        )
        return Decision([MetadataRecord(config=record)], reply_type())

    row: CommandRow[Any, Any] = CommandRow(
        request=request_type,
        reply=reply_type,
        decide=set_toy,
        is_refused_while_held=True,
        complete=set_metadata_offset,
        visible_when=shows_offset,
    )
    monkeypatch.setitem(COMMANDS, request_type, row)
    method: Method[Any, Any] = Method("tidelog.v1.Admin", "SetToy", request_type, reply_type)
    monkeypatch.setattr(methods, "SET_TOY", method, raising=False)
    return method


class Wire:
    """Implements `Peers` between controllers by address; notes who was asked, and how."""

    def __init__(self) -> None:
        self.served: dict[str, Callable[[Any], Any]] = {}
        self.asked: list[tuple[str, bool]] = []

    async def call(self, address: str, method: Any, request: Any, *, timeout_ms: int) -> Any:
        assert timeout_ms > 0
        copy = type(request).FromString(request.SerializeToString())
        assert copy.from_broker
        self.asked.append((f"{address} {method.path}", copy.forwarded))
        return await self.served[address](copy)


class Follower:
    """The asked broker's metadata: it sees what the first controller has applied, one look late."""

    def __init__(self, nodes: Nodes) -> None:
        self._nodes = nodes
        self.image = nodes.quorums[0].image
        self.looks = 0

    async def wait_until(self, condition: Callable[[MetadataImage], bool], **_: int) -> bool:
        while not condition(self.image):
            self.looks += 1
            self.image = self._nodes.quorums[0].image
        return True


def admin_handler(
    *, controller: ControllerHandler | None, forwarder: ControllerForwarder | None
) -> AdminHandler:
    none = cast(Any, None)
    return AdminHandler(
        config=ControllerConfig(cluster_id="tide"),
        voters={},
        peers=none,
        image=none,
        controller_id=none,
        forwarder=forwarder,
        controller=controller,
    )


def controllers(nodes: Nodes, wire: Wire, toy: Method[Any, Any]) -> None:
    """Both controllers serve the command under its own path, on nodes that are no brokers."""
    none = cast(Any, None)
    for number, quorum in enumerate(nodes.quorums, start=1):
        controller = ControllerHandler(
            node_id=number,
            own=OwnCluster("tide"),
            quorum=quorum,
            peers=cast(Any, wire),
            voters={1: "c:1", 2: "c:2"},
            reports=none,
        )
        admin = admin_handler(controller=controller, forwarder=None)
        wire.served[f"c:{number}"] = admin.rpcs()[toy.name]


def broker(nodes: Nodes, wire: Wire, random: Random) -> tuple[AdminHandler, Follower]:
    """A broker that asks the second controller first, which does not lead."""
    follower = Follower(nodes)
    channel = ControllerChannel(
        peers=cast(Any, wire),
        addresses=["c:2", "c:1"],
        clock=nodes.clock,
        epoch=ControllerEpoch(),
        own=OwnCluster("tide"),
    )
    forwarder = ControllerForwarder(
        controllers=channel,
        follower=cast(MetadataFollower, follower),
        random=random,
        auto_create=False,
        topics_max=1_000,
    )
    return admin_handler(controller=None, forwarder=forwarder), follower


async def test_a_toy_row_is_served_forwarded_committed_and_awaited(
    nodes: Nodes, toy: Method[Any, Any], random: Random
) -> None:
    wire = Wire()
    controllers(nodes, wire, toy)
    asked, follower = broker(nodes, wire, random)
    answer = await asked.rpcs()[toy.name](toy.request_type(value="5000"))
    assert not answer.error.code
    path = "/tidelog.v1.Admin/SetToy"
    assert wire.asked == [(f"c:2 {path}", False), (f"c:1 {path}", True)]
    assert answer.controller_epoch == nodes.raft.term
    assert answer.metadata_offset == nodes.raft.index
    assert follower.looks == 1, "answered once the broker that was asked shows the change"
    assert follower.image.cluster_configs == {"retention.ms": "5000"}


async def test_a_toy_row_that_may_change_an_isr_is_refused_while_the_cluster_is_held(
    nodes: Nodes, toy: Method[Any, Any], random: Random
) -> None:
    wire = Wire()
    controllers(nodes, wire, toy)
    asked, follower = broker(nodes, wire, random)
    nodes.quorums[0].hold(nodes.clock.now_ms + 1)
    answer = await asked.rpcs()[toy.name](toy.request_type(value="5000"))
    assert answer.error.code == common_pb2.BROKER_NOT_AVAILABLE
    assert follower.image.cluster_configs == {}
    nodes.quorums[0].release()
    assert not (await asked.rpcs()[toy.name](toy.request_type(value="5000"))).error.code


async def test_a_node_that_is_no_controller_refuses_what_a_broker_passes_on(
    nodes: Nodes, toy: Method[Any, Any], random: Random
) -> None:
    asked, _ = broker(nodes, Wire(), random)
    answer = await asked.rpcs()[toy.name](toy.request_type(from_broker=True))
    assert answer.error.code == common_pb2.NOT_CONTROLLER
