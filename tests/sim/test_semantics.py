"""One list of cases, by gRPC and by Kafka's protocol: two protocols, one semantics."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest
from tests.doc_blocks import ROOT
from tests.sim.both_protocols import Calls, until
from tests.sim.kafka_groups import configured
from tests.sim.kafka_wire import listeners
from tests.sim.protocol_grpc import GrpcCalls
from tests.sim.protocol_kafka import KafkaCalls
from tests.sim.semantics_admin import ADMIN
from tests.sim.semantics_data import DATA
from tests.sim.semantics_groups import GROUPS

from tidelog.simulation.cluster.cluster import SimCluster, SimClusterConfig

pytestmark = pytest.mark.sim

Case = Callable[[Calls, str], Coroutine[Any, Any, None]]
CASES: tuple[Case, ...] = (*DATA, *GROUPS, *ADMIN)
PROTOCOLS: tuple[type[Calls], ...] = (GrpcCalls, KafkaCalls)
ALONE = {
    "members of the classic protocol": (
        "kafka",
        "our own clients speak the consumer protocol",
        "tests/sim/test_sim_kafka_classic.py",
    ),
    "acks 0 without an answer": (
        "kafka",
        "a call of gRPC has an answer always",
        "tests/sim/test_sim_kafka_data.py",
    ),
    "a version for each API": (
        "kafka",
        "gRPC's messages grow by fields",
        "tests/sim/test_sim_kafka_*.py",
    ),
    "a produce that creates its topic": (
        "grpc",
        "Kafka's clients ask for metadata first, which creates it",
        "tests/node/test_http_produce.py",
    ),
    "a page of committed offsets or groups": (
        "grpc",
        "Kafka's answers are of one piece",
        "tests/node/test_group_coordinator.py",
    ),
    "a stream of produces, of fetches, of heartbeats": (
        "grpc",
        "frames of a connection are one already",
        "tests/client/test_*_stream.py",
    ),
    "a command sent again by its id": (
        "grpc",
        "Kafka's commands have none",
        "tests/metadata/test_quorum_plans.py",
    ),
}
"""What only one protocol has: which, why, and where it is tested."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[SimCluster]:
    """Three nodes with listeners of both protocols: each case has names of its own."""
    cluster = SimCluster(seed=3, config=SimClusterConfig(listeners=listeners, configure=configured))

    try:
        cluster.run(until(GrpcCalls(cluster).is_up))
        yield cluster
    finally:
        cluster.close()


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda kind: kind.name)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_both_protocols_mean_the_same(
    cluster: SimCluster, protocol: type[Calls], case: Case
) -> None:
    name = f"{case.__name__}-{protocol.name}".replace("_", "-")

    async def main() -> None:
        async with asyncio.timeout(600):
            await case(protocol(cluster), name)

    cluster.scheduler.run(cluster.client_host.loop, main())


@pytest.mark.parametrize("what", ALONE)
def test_what_one_protocol_has_alone_is_tested_where_the_table_says(what: str) -> None:
    protocol, why, place = ALONE[what]
    assert protocol in {one.name for one in PROTOCOLS}
    assert why
    assert list(ROOT.glob(place))
