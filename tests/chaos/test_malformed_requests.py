"""Malformed requests: over every RPC, the same whenever they are made, and never harmful."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from google.protobuf import descriptor_pool
from google.protobuf.message import DecodeError

from tidelog.chaos.workloads.grpc_rpcs import rpcs
from tidelog.chaos.workloads.harmless import HARMLESS, is_harmless
from tidelog.chaos.workloads.malformed import Malformed, MalformedRequests
from tidelog.chaos.workloads.malformed_fields import Known
from tidelog.v1 import methods
from tidelog.v1.admin_pb2 import CreateTopicsRequest, NewTopic, PrepareStopRequest
from tidelog.v1.controller_pb2 import BrokerHeartbeatRequest, RegisterBrokerRequest
from tidelog.v1.coordinator_pb2 import (
    ConsumerGroupHeartbeatRequest,
    DeleteGroupsRequest,
    OffsetCommitRequest,
    OffsetDeleteRequest,
)
from tidelog.v1.data_pb2 import DeleteRecordsRequest, FetchRequest
from tidelog.v1.raft_pb2 import RaftHello, RaftMessage

KNOWN = Known(
    topics=("live",), compacted="kept", cluster_id="c", groups=("harbour",), members=("m1", "m2")
)
BY_RECORDS = ("Produce", "ProduceStream")
HELLO = RaftHello(engine="tidelog")


def calls(seed: int, count: int) -> list[Malformed]:
    source = MalformedRequests(seed, KNOWN)
    return [source.call(place) for place in range(count)]


def test_every_rpc_of_the_protocol_is_called() -> None:
    known = {one.path for one in vars(methods).values() if isinstance(one, methods.Method)}
    paths = {one.path for one in rpcs()}
    assert known <= paths
    assert {one.rpc.path for one in calls(1, len(paths))} == paths
    assert set(HARMLESS) == paths


def test_every_service_that_a_node_registers_is_among_them() -> None:
    for service in {one.service for one in rpcs()}:
        descriptor = descriptor_pool.Default().FindServiceByName(service)
        found = {one.name for one in rpcs() if one.service == service}
        assert found == {method.name for method in descriptor.methods}


def test_a_call_is_what_its_seed_and_place_say_whatever_was_made_before() -> None:
    once = calls(7, 80)
    source = MalformedRequests(7, KNOWN)
    assert [source.call(place) for place in reversed(range(80))] == once[::-1]
    assert calls(8, 80) != once


def test_none_of_them_can_change_anything() -> None:
    readable = Counter[str]()
    for call in calls(3, 16 * len(rpcs())):
        for message in call.messages:
            try:
                request = call.rpc.request.FromString(message)
            except DecodeError:
                continue
            readable[call.rpc.path] += 1
            is_by_records = call.rpc.name in BY_RECORDS
            assert is_by_records or is_harmless(call.rpc.path, request, KNOWN), call.place
    assert set(readable) == {one.path for one in rpcs()}, "each is read by its handler, too"


def test_most_name_the_cluster_they_are_sent_to() -> None:
    """Nodes compare it first: what names another one is looked into no further."""
    named = Counter[bool]()
    for call in calls(4, 16 * len(rpcs())):
        if call.rpc.service == "tidelog.v1.Controller" and call.rpc.name != "RegisterBroker":
            request: Any = call.rpc.request()
            try:
                request.ParseFromString(call.messages[0])
            except DecodeError:
                continue
            if "cluster_id" in request.DESCRIPTOR.fields_by_name:
                named[request.cluster_id == KNOWN.cluster_id] += 1
    assert named[True] > named[False] > 0


def commit(topic: str, offset: int, **fields: Any) -> OffsetCommitRequest:
    request = OffsetCommitRequest(group_id="harbour", **fields)
    request.topics.add(topic=topic).partitions.add(offset=offset)
    return request


def deletion(topic: str) -> OffsetDeleteRequest:
    request = OffsetDeleteRequest(group_id="harbour")
    request.topics.add(topic=topic)
    return request


def beat(member_id: str, epoch: int) -> ConsumerGroupHeartbeatRequest:
    return ConsumerGroupHeartbeatRequest(
        group_id="harbour", member_id=member_id, member_epoch=epoch
    )


def test_groups_that_are_there_are_named_and_members_too() -> None:
    named = Counter[str]()
    ours = [one for one in rpcs() if one.service == "tidelog.v1.Coordinator"]
    source = MalformedRequests(5, KNOWN, among=ours)
    for call in map(source.call, range(50 * len(ours))):
        for message in call.messages:
            request: Any = call.rpc.request()
            try:
                request.ParseFromString(message)
            except DecodeError:
                continue
            fields = request.DESCRIPTOR.fields_by_name
            if "group_id" in fields:
                named[call.rpc.name] += request.group_id == "harbour"
            if "member_id" in fields:
                named["member"] += request.group_id == "harbour" and request.member_id == "m1"
            if "subscription" in fields:
                named["pattern"] += len(request.subscription.pattern) > 1
    assert min(named.values()) >= 3, named
    assert len(named) == 8


def harmful() -> list[tuple[str, object]]:
    deletion_of_records = DeleteRecordsRequest(
        partitions=[DeleteRecordsRequest.Partition(topic="live")]
    )
    coordinator = "/tidelog.v1.Coordinator"
    return [
        (f"{coordinator}/ConsumerGroupHeartbeat", beat("new", 0)),
        (f"{coordinator}/ConsumerGroupHeartbeat", beat("m1", 3)),
        (f"{coordinator}/ConsumerGroupHeartbeat", beat("m1", -1)),
        (f"{coordinator}/GroupStream", beat("m1", 2**30)),
        (f"{coordinator}/OffsetCommit", commit("live", 0)),
        (f"{coordinator}/OffsetCommit", commit("live", 5, member_id="m1", member_epoch=3)),
        (f"{coordinator}/OffsetDelete", deletion("live")),
        (f"{coordinator}/DeleteGroups", DeleteGroupsRequest(group_ids=["x", "harbour"])),
        ("/tidelog.v1.Admin/CreateTopics", CreateTopicsRequest(topics=[NewTopic(name="t")])),
        ("/tidelog.v1.Node/PrepareStop", PrepareStopRequest()),
        ("/tidelog.v1.Broker/Fetch", FetchRequest(replica_id=1, replica_epoch=9)),
        ("/tidelog.v1.Broker/DeleteRecords", deletion_of_records),
        ("/tidelog.v1.Controller/RegisterBroker", RegisterBrokerRequest(cluster_id="c")),
        ("/tidelog.v1.Controller/BrokerHeartbeat", BrokerHeartbeatRequest(broker_epoch=5)),
        ("/tidelog.v1.RaftPeer/Exchange", RaftMessage(sender_id=2, receiver_id=1, term=9)),
        ("/tidelog.v1.RaftPeer/Exchange", RaftMessage(sender_id=2, term=-1, hello=HELLO)),
    ]


@pytest.mark.parametrize(("path", "request_"), harmful(), ids=[path for path, _ in harmful()])
def test_what_might_change_something_is_known_as_such(path: str, request_: object) -> None:
    assert not is_harmless(path, request_, KNOWN)
