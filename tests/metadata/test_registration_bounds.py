"""What a broker's registration may hold, and how many there may be."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from tidelog.metadata.brokers import RACK_CHARACTERS_MAX
from tidelog.metadata.controller import Controller
from tidelog.metadata.endpoints import (
    HOST_CHARACTERS_MAX,
    PORT_MAX,
    WORD_CHARACTERS_MAX,
    images_of,
    records_of,
)
from tidelog.metadata.image import BrokerImage
from tidelog.net.listeners import LISTENERS_MAX, NAME_CHARACTERS_MAX
from tidelog.v1 import common_pb2
from tidelog.v1.common_pb2 import BrokerEndpoint
from tidelog.v1.controller_pb2 import RegisterBrokerRequest, RegisterBrokerResponse

if TYPE_CHECKING:
    from tests.metadata.conftest import World


GOOD = BrokerEndpoint(listener="A", host="h", port=9, protocol="grpc", internal=True)
OTHER = BrokerEndpoint(listener="B", host="h", port=10, protocol="grpc")


def changed(**fields: Any) -> BrokerEndpoint:
    endpoint = BrokerEndpoint()
    endpoint.CopyFrom(GOOD)
    endpoint.MergeFrom(BrokerEndpoint(**fields))
    return endpoint


def named(name: str) -> BrokerEndpoint:
    return BrokerEndpoint(listener=name, host="h", port=9)


def many(count: int) -> list[BrokerEndpoint]:
    return [GOOD, *(named(f"L{number}") for number in range(1, count))]


@pytest.mark.parametrize(
    ("endpoints", "rack", "is_taken"),
    [
        ([GOOD, OTHER], "r" * RACK_CHARACTERS_MAX, True),
        ([GOOD], "r" * (RACK_CHARACTERS_MAX + 1), False),
        ([], "", False),
        ([OTHER], "", False),
        ([GOOD, changed(listener="B")], "", False),
        ([GOOD, BrokerEndpoint(listener="K", host="h", port=8, protocol="kafka")], "", True),
        ([changed(protocol="kafka")], "", False),
        ([GOOD, GOOD], "", False),
        ([GOOD, named("A")], "", False),
        (many(LISTENERS_MAX), "", True),
        (many(LISTENERS_MAX + 1), "", False),
        ([changed(host="h" * HOST_CHARACTERS_MAX)], "", True),
        ([changed(host="h" * (HOST_CHARACTERS_MAX + 1))], "", False),
        ([changed(listener="L" * NAME_CHARACTERS_MAX)], "", True),
        ([changed(listener="L" * (NAME_CHARACTERS_MAX + 1))], "", False),
        ([changed(protocol="p" * WORD_CHARACTERS_MAX)], "", True),
        ([changed(protocol="p" * (WORD_CHARACTERS_MAX + 1))], "", False),
        ([changed(security="s" * (WORD_CHARACTERS_MAX + 1))], "", False),
        ([changed(port=PORT_MAX)], "", True),
        ([changed(port=PORT_MAX + 1)], "", False),
        ([changed(port=-1)], "", False),
    ],
)
def test_what_a_broker_says_of_itself_is_bounded(
    world: World, endpoints: list[BrokerEndpoint], rack: str, *, is_taken: bool
) -> None:
    request = RegisterBrokerRequest(
        broker_id=1,
        cluster_id="tide",
        incarnation_id=bytes(16),
        endpoints=endpoints,
        rack=rack,
    )
    reply = world.do(request)
    assert isinstance(reply, RegisterBrokerResponse)
    assert (reply.error.code == common_pb2.NONE) is is_taken
    assert bool(world.image.brokers) is is_taken
    if is_taken:
        assert records_of(world.image.brokers[1].endpoints) == endpoints


def test_nodes_and_the_clients_of_each_listener_reach_a_broker_at_their_own_endpoint() -> None:
    broker = BrokerImage(1, b"", 1, images_of([OTHER, GOOD]), "", is_fenced=False)
    assert broker.address == broker.address_at("A") == "h:9"
    assert broker.address_at("B") == "h:10"
    assert broker.address_at("C") == ""


def test_no_more_brokers_register_than_a_cluster_may_have(world: World) -> None:
    world.controller = Controller(replace(world.config, brokers_max=2), world._ids)
    world.activate()
    replies = [world.register(broker_id) for broker_id in (1, 2, 3)]
    codes = [reply.error.code for reply in replies]
    assert codes == [common_pb2.NONE, common_pb2.NONE, common_pb2.INVALID_REQUEST]
    assert "limit of 2 brokers" in replies[-1].error.message
    assert set(world.image.brokers) == {1, 2}
    assert world.register(2).error.code == common_pb2.NONE, "it is one of them"
