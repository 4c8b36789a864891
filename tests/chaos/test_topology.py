"""Who calls whom, and over which proxy."""

from __future__ import annotations

from itertools import permutations

import pytest

from tidelog.chaos.sockets.node_setup import NodeSetup
from tidelog.chaos.sockets.wiring import Wiring
from tidelog.chaos.topology import CLIENTS, COMBINED, Link, Topology, node_name

SEPARATE = Topology()
GROUPS = Topology(client_groups=("near", "far"))


def wiring_of(topology: Topology) -> Wiring:
    return Wiring(topology, "host", range(1, Wiring.ports_needed(topology) + 1))


@pytest.mark.parametrize("topology", [SEPARATE, COMBINED, GROUPS])
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


@pytest.mark.parametrize("topology", [SEPARATE, COMBINED, GROUPS])
def test_every_listener_has_an_address_of_its_own(topology: Topology) -> None:
    wiring = wiring_of(topology)
    nodes = [wiring.address(node_id) for node_id in topology.node_ids]
    everybody = [*nodes, *wiring.proxies().values()]
    assert len(set(everybody)) == len(everybody) == Wiring.ports_needed(topology)


@pytest.mark.parametrize("topology", [SEPARATE, COMBINED, GROUPS])
def test_every_proxy_is_the_way_of_one_source_alone(topology: Topology) -> None:
    wiring = wiring_of(topology)
    sources = [*map(node_name, topology.node_ids), *topology.client_groups]
    taken = [proxy for source in sources for proxy in wiring.routes(source).values()]
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
