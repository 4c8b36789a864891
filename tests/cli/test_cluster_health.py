"""What makes a cluster unhealthy, and how the command line names the cluster to ask."""

from __future__ import annotations

import pytest
from tests.cli.commands import CommandCluster, Run

from tidelog.cli.cluster_health import NAMES_SHOWN_MAX, State, reasons_of
from tidelog.cli.partition_states import is_under_min_isr
from tidelog.client import PartitionDescription, TopicDescription
from tidelog.client.admin.descriptions import BrokerDescription, ClusterDescription
from tidelog.client.admin.quorum import QuorumDescription, VoterDescription


def partition(
    number: int = 0,
    *,
    leader: int | None = 1,
    isr: tuple[int, ...] = (1, 2, 3),
    replicas: tuple[int, ...] = (1, 2, 3),
    damaged: tuple[int, ...] = (),
    offline: tuple[int, ...] = (),
) -> PartitionDescription:
    return PartitionDescription(
        *(number, leader, 0, 0, replicas, isr, 0, 0, 0), damaged=damaged, offline=offline
    )


def state(
    *partitions: PartitionDescription,
    leader_id: int | None = 1,
    is_fenced: bool = False,
    voters: tuple[VoterDescription, ...] = (),
    obstacles: tuple[str, ...] = (),
) -> State:
    broker = BrokerDescription(7, "h:1", 1, is_fenced, "")
    cluster = ClusterDescription("c", 1, 1, (broker,), {}, 1, obstacles)
    topic = TopicDescription("t", b"", {}, partitions)
    return State(cluster, QuorumDescription(1, leader_id, voters), [topic], {"t": 2})


@pytest.mark.parametrize(
    ("found", "reasons"),
    [
        (state(partition()), []),
        (state(leader_id=None), ["no controller leads"]),
        (state(is_fenced=True), ["broker 7 is fenced"]),
        (state(obstacles=("groups wait",)), ["groups wait"]),
        (
            state(voters=(VoterDescription(3, "h:3", None),)),
            ["controller 3 does not answer at h:3"],
        ),
        (state(partition(leader=None)), ["1 partition without a leader: t-0"]),
        (state(partition(isr=(1, 2))), ["1 partition under-replicated: t-0"]),
        (
            state(partition(isr=(1,)), partition(1, isr=(1,))),
            [
                "2 partitions below min.insync.replicas: t-0, t-1",
                "2 partitions under-replicated: t-0, t-1",
            ],
        ),
        (state(partition(damaged=(2,))), ["1 partition with a damaged log: t-0"]),
        (state(partition(offline=(2,))), ["1 partition with a replica on a failed disk: t-0"]),
    ],
)
def test_each_fault_is_a_reason(found: State, reasons: list[str]) -> None:
    assert list(reasons_of(found)) == reasons


def test_a_reason_names_a_few_partitions() -> None:
    many = [partition(number, isr=(1, 2)) for number in range(NAMES_SHOWN_MAX + 2)]
    (reason,) = reasons_of(state(*many))
    assert reason == "7 partitions under-replicated: t-0, t-1, t-2, t-3, t-4 and 2 more"


def test_a_topic_with_fewer_replicas_than_required_needs_all_of_them() -> None:
    assert not is_under_min_isr(partition(isr=(1,), replicas=(1,)), 2)
    assert is_under_min_isr(partition(isr=(), replicas=(1,)), 2)


def test_addresses_after_the_command_come_before_those_before_it_and_the_variable(
    cluster: CommandCluster, run: Run
) -> None:
    cluster.create("t")
    before = run("-b", "node3:9192", "topics", "list", "--names")
    assert (before.code, before.stdout) == (0, b"t\n")
    assert {address for address, _, _ in cluster.nodes.calls} == {"node3:9192"}
    cluster.nodes.calls.clear()
    for name in ("-b", "--brokers", "--bootstrap-server", "--bootstrap"):
        assert run("-b", "node3:9192", "topics", "list", "--names", name, "node2:9192").code == 0
    assert {address for address, _, _ in cluster.nodes.calls} == {"node2:9192"}
