"""Where clients of a run work: whose links they use, what is written down of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest
from msgspec.structs import replace
from tests.chaos.chaos_sends import send

from tidelog.chaos.scenarios.catalogue import SCENARIOS
from tidelog.chaos.sockets.clients import SocketClients
from tidelog.chaos.sockets.cluster import SocketCluster
from tidelog.chaos.sockets.work_plan import work_of
from tidelog.chaos.topology import Topology
from tidelog.chaos.workloads.plans import CHURNED
from tidelog.chaos.workloads.workload import Workload
from tidelog.core.chance import SeededRandom
from tidelog.history.history_file import HistoryWriter, read_history
from tidelog.v1 import common_pb2
from tidelog.v1.data_pb2 import PartitionProduceResult, ProduceRequest, ProduceResponse


class FakeCluster:
    """Knows addresses and the time; every transport is the name of its group."""

    topology = Topology(client_groups=("clients", "slow"))
    now_s = 7.0

    def address(self, node_id: int) -> str:
        return f"10.0.0.{node_id}:1"

    def client_transport(self, group: str, *, tap: Any) -> Any:
        self.tap = tap
        return group


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "history.jsonl"


@pytest.fixture
def clients(path: Path) -> SocketClients:
    return SocketClients(
        cluster=cast("SocketCluster", FakeCluster()),
        work=work_of(SCENARIOS["F62"]),
        random=SeededRandom(1),
        on_note=lambda _: None,
        writer=HistoryWriter(path),
    )


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_story_may_last_for_ten_minutes_before_a_node_has_four_thousand_files_open(
    scenario: str,
) -> None:
    stored_a_second = 24 << 10  # by all producers of a topic together
    for topic in work_of(SCENARIOS[scenario]).topics:
        assert topic.segment_bytes * 4_000 / 3 / stored_a_second > 600


def test_each_group_of_clients_reads_along_on_links_of_its_own(clients: SocketClients) -> None:
    assert list(clients.readers) == ["reader-of-clients", "reader-of-slow"]
    assert clients.client_ports("reader-of-slow-steady")["transport"] == "slow"
    assert clients.client_ports("reader-of-clients-steady")["transport"] == "clients"
    assert clients.client_ports("producer-1")["transport"] == "clients"


def test_a_client_keeps_its_connections(clients: SocketClients) -> None:
    cluster = cast("FakeCluster", clients.cluster)
    clients.client_ports("producer-1")
    first = cluster.tap
    clients.client_ports("producer-1")
    assert cluster.tap is first


def test_a_brokers_answer_to_a_producer_is_one_for_each_partition(clients: SocketClients) -> None:
    clients.client_ports("producer-1")
    result = PartitionProduceResult(topic="steady", partition=0)
    result.error.code = common_pb2.NOT_ENOUGH_REPLICAS
    request, response = ProduceRequest(acks=1), ProduceResponse(partitions=[result])
    tap = cast("FakeCluster", clients.cluster).tap
    tap("10.0.0.5:1", request, None)
    assert not clients.answers
    tap("10.0.0.5:1", request, response)
    (answer,) = clients.answers
    assert (answer.node_id, answer.acks, answer.at_s) == (5, 1, 7.0)
    assert answer.code == common_pb2.NOT_ENOUGH_REPLICAS


def test_what_churns_is_another_topic_with_a_producer_of_its_own(clients: SocketClients) -> None:
    assert [topic.name for topic in clients.topics] == ["steady", CHURNED]
    assert [one.topic for one in clients.producers].count(CHURNED) == 1
    assert [topic.name for topic in work_of(SCENARIOS["F01"]).topics] == ["steady"]


def test_what_never_ended_is_unknown_in_the_history_and_its_file(
    clients: SocketClients, path: Path
) -> None:
    workload = Workload(clients, SeededRandom(2))
    begun = send(1, outcome="unknown", ended_s=None)
    number = workload.invoke(lambda: begun)
    workload.write_pending()
    workload.end(number, replace(begun, outcome="ok", ended_s=9.0, offset=3))
    assert [one.outcome for one in clients.history.sends] == ["unknown"]
    clients.writer.close()
    assert [one.outcome for one in read_history(path).sends] == ["unknown"]
