"""Callers are told addresses of the listener they came in by, and of no other."""

from __future__ import annotations

from dataclasses import replace

from tidelog.metadata.endpoints import endpoints_of, images_of
from tidelog.metadata.image import EMPTY_IMAGE, BrokerImage
from tidelog.net.listeners import CLIENT, KAFKA, Listener
from tidelog.node.handlers.reached import address_hints, controllers, live_brokers
from tidelog.v1 import common_pb2
from tidelog.v1.common_pb2 import Endpoint, Error, LeaderHint
from tidelog.v1.data_pb2 import PartitionProduceResult

INSIDE = Listener("INSIDE", "h:1", "h:1")
OUTSIDE = Listener("OUTSIDE", "h:2", "h:2", services=frozenset({CLIENT}))
OF_KAFKA = Listener("KAFKA", "h:4", "h:4", protocol=KAFKA, services=frozenset({CLIENT}))
ELSEWHERE = Listener("ELSEWHERE", "h:3", "h:3", services=frozenset({CLIENT}))


def broker(broker_id: int, *listeners: Listener, is_fenced: bool = False) -> BrokerImage:
    own = [replace(one, advertised=f"b{broker_id}:{one.port}") for one in listeners]
    endpoints = images_of(endpoints_of(own))
    return BrokerImage(broker_id, b"", 1, endpoints, "r", is_fenced=is_fenced)


IMAGE = replace(
    EMPTY_IMAGE,
    brokers={
        1: broker(1, INSIDE, OUTSIDE, OF_KAFKA),
        2: broker(2, INSIDE),
        3: broker(3, INSIDE, OUTSIDE, is_fenced=True),
    },
)


def test_live_brokers_without_the_listener_are_left_out() -> None:
    assert live_brokers(IMAGE, OUTSIDE) == [Endpoint(node_id=1, address="b1:2", rack="r")]
    inside = live_brokers(IMAGE, INSIDE)
    assert [(one.node_id, one.address) for one in inside] == [(1, "b1:1"), (2, "b2:1")]
    assert live_brokers(IMAGE, ELSEWHERE) == []


def test_voters_that_are_brokers_are_reached_by_the_listener_and_others_as_configured() -> None:
    voters = {3: "v3:9", 2: "v2:9", 7: "v7:9"}
    found = {one.node_id: one.address for one in controllers(IMAGE, voters, OUTSIDE)}
    assert found == {2: "v2:9", 3: "b3:2", 7: "v7:9"}


def test_clients_of_kafkas_protocol_are_sent_to_no_address_of_grpc() -> None:
    found = controllers(IMAGE, {1: "v1:9", 2: "v2:9", 7: "v7:9"}, OF_KAFKA)
    assert [(one.node_id, one.address) for one in found] == [(1, "b1:4")]
    assert [one.node_id for one in live_brokers(IMAGE, OF_KAFKA)] == [1]


def hinted(leader_id: int | None) -> str:
    result = PartitionProduceResult(error=Error(code=common_pb2.NOT_LEADER_OR_FOLLOWER))
    if leader_id is not None:
        result.current_leader.CopyFrom(LeaderHint(leader_id=leader_id, leader_epoch=3))
    address_hints([result], IMAGE, OUTSIDE)
    assert result.HasField("current_leader") == (leader_id is not None)
    return result.current_leader.address


def test_a_leader_is_named_with_its_address_at_the_listener() -> None:
    assert hinted(1) == "b1:2"
    assert hinted(2) == "", "it has no such listener"
    assert hinted(9) == "", "nobody knows it"
    assert hinted(None) == ""
