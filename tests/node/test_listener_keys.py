"""Listeners of a node, from Kafka's keys: what is bound, what is advertised, and who is served."""

from __future__ import annotations

import pytest

from tidelog.core.errors import KafkaError
from tidelog.net.listeners import (
    CLIENT,
    GRPC,
    INTERNAL,
    KAFKA,
    LISTENERS_MAX,
    Listener,
    grpc_listeners,
    kafka_listeners,
    one_listener,
)
from tidelog.node.config import NodeConfig, parse_config
from tidelog.v1 import common_pb2

BOTH, CLIENTS = frozenset({CLIENT, INTERNAL}), frozenset({CLIENT})
TWO = '["CLIENT://0.0.0.0:9092", "INTERNAL://10.0.0.1:9093"]'
REACHED = '"advertised.listeners" = "CLIENT://tide.example:19092"'
NAMED = '"inter.broker.listener.name" = "INTERNAL"'


def parse(listeners: str, *lines: str, voter: str = "10.0.0.1:9093") -> NodeConfig:
    return parse_config(
        "\n".join(
            [
                "node.id = 1",
                'cluster.id = "abc"',
                'log.dirs = "/data"',
                f'controller.quorum.voters = {{ 1 = "{voter}" }}',
                f"listeners = {listeners}",
                *lines,
            ]
        )
    )


def refused(listeners: str, *lines: str, voter: str = "10.0.0.1:9093") -> str:
    with pytest.raises(KafkaError) as caught:
        parse(listeners, *lines, voter=voter)
    assert caught.value.code == common_pb2.INVALID_CONFIG
    return caught.value.message


def test_an_address_alone_is_the_one_listener_for_clients_and_nodes() -> None:
    config = parse('"h:1"', voter="h:1")
    assert config.listeners == one_listener("h:1") == (Listener("PLAINTEXT", "h:1", "h:1"),)
    assert config.listeners[0].services == BOTH
    assert config.address == "h:1"


def test_each_listener_has_its_own_address_and_only_the_named_one_serves_nodes() -> None:
    config = parse(TWO, REACHED, NAMED)
    client, internal = config.listeners
    assert (client.bind, client.advertised) == ("0.0.0.0:9092", "tide.example:19092")
    assert internal.bind == internal.advertised == config.address == "10.0.0.1:9093"
    assert (client.services, internal.services) == (CLIENTS, BOTH)
    assert config.internal_listener is internal


def test_the_voter_stands_at_the_internal_listeners_address() -> None:
    message = refused(TWO, REACHED, NAMED, voter="tide.example:19092")
    assert "controller.quorum.voters must name node 1 at 10.0.0.1:9093" in message


def test_of_several_listeners_the_internal_one_is_named() -> None:
    what = "inter.broker.listener.name must be one of CLIENT, INTERNAL"
    assert what in refused(TWO, REACHED)
    assert what in refused(TWO, REACHED, NAMED.replace("INTERNAL", "BROKER"))
    assert "must be one of PLAINTEXT" in refused('"10.0.0.1:9093"', NAMED)


def test_nobody_is_sent_to_an_address_that_stands_for_every_interface() -> None:
    message = refused(TWO, NAMED)
    assert "listener CLIENT binds every interface: advertised.listeners must say" in message
    assert "binds every interface" in refused('"[::]:1"', voter="[::]:1")


def test_what_is_advertised_is_listened_to() -> None:
    message = refused(TWO, REACHED.replace("CLIENT", "OUTSIDE"), NAMED)
    assert "advertised.listeners names OUTSIDE, which listeners does not" in message


def test_names_that_begin_with_kafka_speak_its_protocol_and_all_others_grpc() -> None:
    config = parse(
        '"GRPC://10.0.0.1:9093,KAFKA://10.0.0.1:9092,KAFKA_OUTSIDE://0.0.0.0:9094"',
        '"advertised.listeners" = "KAFKA_OUTSIDE://tide.example:19094"',
    )
    assert [(one.name, one.protocol, one.advertised) for one in config.listeners] == [
        ("GRPC", GRPC, "10.0.0.1:9093"),
        ("KAFKA", KAFKA, "10.0.0.1:9092"),
        ("KAFKA_OUTSIDE", KAFKA, "tide.example:19094"),
    ]
    assert grpc_listeners(config.listeners) == [config.listeners[0]]
    assert kafka_listeners(config.listeners) == list(config.listeners[1:])


def test_the_only_listener_of_grpc_is_internal_without_being_named() -> None:
    config = parse('"KAFKA://10.0.0.1:9092,GRPC://10.0.0.1:9093"')
    assert [one.services for one in config.listeners] == [CLIENTS, BOTH]
    assert config.address == "10.0.0.1:9093"
    named = parse('"KAFKA://10.0.0.1:9092,GRPC://10.0.0.1:9093"', NAMED.replace("INTERNAL", "GRPC"))
    assert named.listeners == config.listeners


def test_an_address_beside_named_ones_keeps_the_name_it_has_alone() -> None:
    config = parse('"10.0.0.1:9093, KAFKA://10.0.0.1:9092"')
    assert config.listeners[0] == one_listener("10.0.0.1:9093")[0]


def test_nodes_call_each_other_over_grpc_alone() -> None:
    message = refused('"KAFKA://10.0.0.1:9093"')
    assert "listeners needs one that speaks gRPC, such as GRPC://host:port" in message
    kafka = '"GRPC://10.0.0.1:9093,KAFKA://10.0.0.1:9092"'
    message = refused(kafka, NAMED.replace("INTERNAL", "KAFKA"))
    assert "inter.broker.listener.name must be one of GRPC" in message


@pytest.mark.parametrize(
    "listeners",
    [
        *("7", '""', "[]", '"h"', '"h:0"', '"client://h:1"', '"A://h"', '["h:1", "h:2"]'),
        *('"A://h:1,A://h:2"', '"A://h:1,B://h:1"', f'"{"A" * 33}://h:1"'),
        str([f"L{number}://h:{number}" for number in range(1, LISTENERS_MAX + 2)]),
    ],
)
def test_a_list_that_is_none_is_refused_with_the_rule(listeners: str) -> None:
    assert "must be host:port, or a list of at most 16 such as" in refused(listeners)


def test_an_ipv6_address_keeps_its_brackets_only_where_a_port_follows() -> None:
    (listener,) = one_listener("[::1]:9092")
    assert (listener.host, listener.port) == ("::1", 9092)
