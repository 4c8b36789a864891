"""`ClientPorts.of`: the caller's ports before those of the context, and those before real ones."""

from __future__ import annotations

from contextvars import copy_context
from typing import cast

from tidelog.client.observer import ClientObserver
from tidelog.client.ports import ClientPorts, OutsidePorts, give_clients
from tidelog.core.chance import SeededRandom
from tidelog.simulation.cluster.cluster import SimCluster


def test_the_contexts_ports_stand_in_for_what_the_caller_leaves_out() -> None:
    cluster = SimCluster(seed=1)
    ports = cluster.client
    given = OutsidePorts(ports.transport, ports.clock, ports.random, cast(ClientObserver, object()))
    own = SeededRandom(7)

    other = SimCluster(seed=2).client

    def inside() -> tuple[ClientPorts, ClientPorts, ClientPorts]:
        give_clients(lambda: given)
        bare = ClientPorts.of(transport=None, clock=None, random=None)
        with_own = ClientPorts.of(transport=None, clock=None, random=own)
        return bare, with_own, ClientPorts.of(transport=other.transport, clock=None, random=None)

    bare, with_own, named = copy_context().run(inside)
    assert (bare.transport, bare.clock, bare.random, bare.observer) == tuple(given)
    assert (with_own.transport, with_own.clock, with_own.random) == (*given[:2], own)
    assert named.transport == other.transport
    assert named.observer is given.observer
    assert ClientPorts.of(transport=other.transport, clock=None, random=None).observer is None
