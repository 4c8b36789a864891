"""Who calls whom, and over which proxy."""

from __future__ import annotations

from itertools import permutations

import pytest

from tidelog.chaos.sockets.node_setup import NodeSetup
from tidelog.chaos.sockets.wiring import Wiring
from tidelog.chaos.topology import CLIENTS, COMBINED, Link, Topology, node_name

SEPARATE = Topology()
GROUPS = Topology(client_groups=("near", "far"))
KAFKA = Topology(client_groups=("near", "far"), has_kafka=True)


def wiring_of(topology: Topology) -> Wiring:
    return Wiring(topology, "host", range(1, Wiring.ports_needed(topology) + 1))


@pytest.mark.parametrize("topology", [SEPARATE, COMBINED, GROUPS, KAFKA])
def test_every_pair_that_may_talk_has_a_link_of_its_own(topology: Topology) -> None:
    links = topology.links()
    assert len(set(links)) == len({link.name for link in links}) == len(links)
    for source, target in permutations(topology.node_ids, 2):
        name = node_name(source)
        is_voter, is_pair = target in topology.controller_ids, source in topology.controller_ids
        assert (Link(name, target, "broker") in links) == (target in topology.broker_ids)
        assert (Link(name, target, "controller") in links) == is_voter
        assert (Link(name, target, "raft") in links) == (is_voter and is_pair)
    for group in topology.client_groups:
        reached = {link.target for link in links if link.source == group}
        assert reached == set(topology.broker_ids)


@pytest.mark.parametrize("topology", [SEPARATE, COMBINED])
def test_nobody_has_a_link_to_itself(topology: Topology) -> None:
    assert not [link for link in topology.links() if link.source == node_name(link.target)]


@pytest.mark.parametrize("topology", [SEPARATE, COMBINED, GROUPS, KAFKA])
def test_every_listener_has_an_address_of_its_own(topology: Topology) -> None:
    wiring = wiring_of(topology)
    nodes = [wiring.address(node_id) for node_id in topology.node_ids]
    dialled = {at for _, _, at in wiring.iterate_proxies()} - set(nodes)
    everybody = [*nodes, *dialled, *wiring.proxies().values()]
    assert len(dialled) == len(topology.kafka_links())
    assert len(set(everybody)) == len(everybody) == Wiring.ports_needed(topology)


@pytest.mark.parametrize("topology", [SEPARATE, COMBINED, GROUPS, KAFKA])
def test_every_proxy_is_the_way_of_one_source_alone(topology: Topology) -> None:
    wiring = wiring_of(topology)
    sources = [*map(node_name, topology.node_ids), *topology.client_groups]
    taken = [proxy for source in sources for proxy in wiring.routes(source).values()]
    taken += [proxy for group in topology.client_groups for proxy in wiring.kafka_bootstrap(group)]
    assert sorted(taken) == sorted(wiring.proxies().values())


def test_a_route_leads_to_the_proxy_that_dials_the_address() -> None:
    wiring = wiring_of(COMBINED)
    dialled = {proxy: upstream for _, proxy, upstream in wiring.iterate_proxies()}
    for (address, _), proxy in wiring.routes("node-2").items():
        assert dialled[proxy] == address


def test_a_voter_reaches_itself_directly_and_the_others_by_raft_proxies() -> None:
    wiring = wiring_of(SEPARATE)
    proxies = wiring.proxies()
    assert wiring.raft_voters(2) == {
        1: proxies[Link("node-2", 1, "raft")],
        2: wiring.address(2),
        3: proxies[Link("node-2", 3, "raft")],
    }


def test_a_broker_alone_knows_no_way_between_voters() -> None:
    assert wiring_of(SEPARATE).raft_voters(4) == {}


def test_a_nodes_setup_survives_its_file() -> None:
    wiring = wiring_of(SEPARATE)
    setup = NodeSetup(
        routes=wiring.routes("node-1"),
        raft_voters=wiring.raft_voters(1),
        socket="s",
        sync_latency="l",
        mutant="m",
    )
    assert NodeSetup.from_json(setup.to_json()) == setup


def test_clients_have_ways_to_brokers_only() -> None:
    assert {role for _, role in wiring_of(SEPARATE).routes(CLIENTS)} == {"broker"}


def test_a_listener_of_kafkas_protocol_advertises_the_proxy_that_dials_it() -> None:
    wiring = wiring_of(KAFKA)
    dialled = {proxy: at for _, proxy, at in wiring.iterate_proxies()}
    for node_id in KAFKA.broker_ids:
        said = wiring.listeners(node_id)
        grpc, *bound = said["listeners"].split(",")
        assert grpc == wiring.address(node_id)
        advertised = said["advertised.listeners"].split(",")
        assert [one.partition("://")[0] for one in bound] == ["KAFKA_FAR", "KAFKA_NEAR"]
        for at, proxy in zip(bound, advertised, strict=True):
            name, _, address = proxy.partition("://")
            assert at == f"{name}://{dialled[address]}"
            assert address in wiring.kafka_bootstrap(name.removeprefix("KAFKA_").lower())


def test_controllers_and_clusters_of_grpc_have_one_listener() -> None:
    for topology, node_id in ((KAFKA, 1), (GROUPS, 4)):
        wiring = wiring_of(topology)
        assert wiring.listeners(node_id) == {"listeners": wiring.address(node_id)}
