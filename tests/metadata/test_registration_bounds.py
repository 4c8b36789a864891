"""What a broker's registration may hold, and how many there may be."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tidelog.metadata.brokers import ADDRESS_CHARACTERS_MAX, RACK_CHARACTERS_MAX
from tidelog.metadata.controller import Controller
from tidelog.v1 import common_pb2
from tidelog.v1.controller_pb2 import RegisterBrokerRequest, RegisterBrokerResponse

if TYPE_CHECKING:
    from tests.metadata.conftest import World


@pytest.mark.parametrize(
    ("address_characters", "rack_characters", "is_taken"),
    [
        (ADDRESS_CHARACTERS_MAX, RACK_CHARACTERS_MAX, True),
        (ADDRESS_CHARACTERS_MAX + 1, 0, False),
        (1, RACK_CHARACTERS_MAX + 1, False),
    ],
)
def test_what_a_broker_says_of_itself_is_bounded(
    world: World, address_characters: int, rack_characters: int, *, is_taken: bool
) -> None:
    request = RegisterBrokerRequest(
        broker_id=1,
        cluster_id="tide",
        incarnation_id=bytes(16),
        address="a" * address_characters,
        rack="r" * rack_characters,
    )
    reply = world.do(request)
    assert isinstance(reply, RegisterBrokerResponse)
    assert (reply.error.code == common_pb2.NONE) is is_taken
    assert bool(world.image.brokers) is is_taken


def test_no_more_brokers_register_than_a_cluster_may_have(world: World) -> None:
    world.controller = Controller(replace(world.config, brokers_max=2), world._ids)
    world.activate()
    replies = [world.register(broker_id) for broker_id in (1, 2, 3)]
    codes = [reply.error.code for reply in replies]
    assert codes == [common_pb2.NONE, common_pb2.NONE, common_pb2.INVALID_REQUEST]
    assert "limit of 2 brokers" in replies[-1].error.message
    assert set(world.image.brokers) == {1, 2}
    assert world.register(2).error.code == common_pb2.NONE, "it is one of them"
