"""`ClientPorts.of`: the caller's ports before those of the context, and those before real ones."""

from __future__ import annotations

from contextvars import copy_context

from tidelog.client.ports import ClientPorts, OutsidePorts, give_clients
from tidelog.core.chance import SeededRandom
from tidelog.simulation.cluster.cluster import SimCluster


def test_the_contexts_ports_stand_in_for_what_the_caller_leaves_out() -> None:
    cluster = SimCluster(seed=1)
    ports = cluster.client
    given = OutsidePorts(ports.transport, ports.clock, ports.random)
    own = SeededRandom(7)

    def inside() -> tuple[ClientPorts, ClientPorts]:
        give_clients(lambda: given)
        bare = ClientPorts.of(transport=None, clock=None, random=None)
        return bare, ClientPorts.of(transport=None, clock=None, random=own)

    bare, with_own = copy_context().run(inside)
    assert (bare.transport, bare.clock, bare.random) == tuple(given)
    assert (with_own.transport, with_own.clock, with_own.random) == (*given[:2], own)
    other = SimCluster(seed=2).client
    named = ClientPorts.of(transport=other.transport, clock=other.clock, random=other.random)
    assert (named.transport, named.clock) == (other.transport, other.clock)
