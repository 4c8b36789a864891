"""Every RPC for clients is a method of the admin client, or what producers and consumers do."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest
from tests.client.meddler import Mishap
from tests.client.real_cluster import (
    ADDRESSES,
    BOOTSTRAP,
    CLUSTER_ID,
    CONTROLLER_ID,
    RealCluster,
    start_all,
    started,
)

from tidelog.client import Admin, errors, require_all
from tidelog.client.admin.descriptions import NodeDescription
from tidelog.node.server import VERSION
from tidelog.v1 import common_pb2, methods
from tidelog.v1.methods import Method, Request, Response

NODE_1 = ADDRESSES[1]
CALLS: dict[str, Callable[[Admin], Awaitable[object]]] = {
    "Broker/ListOffsets": lambda a: a.list_offsets([("t", 0)], at="latest"),
    "Broker/DeleteRecords": lambda a: a.delete_records({("t", 0): -1}),
    "Broker/DescribeLogDirs": lambda a: a.describe_log_dirs(),
    "Broker/DescribeProducers": lambda a: a.describe_producers([("t", 0)]),
    "Broker/Metadata": lambda a: a.list_topics(),
    "Admin/CreateTopics": lambda a: a.create_topic("t"),
    "Admin/DeleteTopics": lambda a: a.delete_topic("t"),
    "Admin/DescribeTopics": lambda a: a.describe_topics(),
    "Admin/DescribeCluster": lambda a: a.describe_cluster(),
    "Admin/DescribeConfigs": lambda a: a.describe_configs("t"),
    "Admin/AlterConfigs": lambda a: a.alter_configs("t", {}),
    "Admin/ElectLeaders": lambda a: a.elect_leaders(["t"]),
    "Admin/CreatePartitions": lambda a: a.create_partitions("t", 2),
    "Node/Status": lambda a: a.describe_node(NODE_1),
    "Node/PrepareStop": lambda a: a.prepare_stop(NODE_1),
    "Node/ListEvents": lambda a: a.list_events(),
    "Controller/DescribeQuorum": lambda a: a.describe_quorum(),
}
OF_PRODUCERS_AND_CONSUMERS = {
    *("Produce", "ProduceStream", "Fetch", "FetchStream"),
    *("OffsetForLeaderEpoch", "InitProducerId"),
}
OF_TRANSACTIONS = {
    *("WriteTransactionMarkers", "AbortHangingTransaction"),
}


class Watched(RealCluster):
    """Sees each call."""

    def __init__(self) -> None:
        super().__init__()
        self.paths: list[str] = []

    async def call(
        self, address: str, method: Method[Request, Response], request: Request, *, timeout_ms: int
    ) -> Response:
        self.paths.append(method.path)
        return await super().call(address, method, request, timeout_ms=timeout_ms)


@pytest.mark.parametrize("rpc", CALLS)
async def test_admin_makes_the_call(rpc: str) -> None:
    cluster = await start_all(Watched())
    if rpc != "Admin/CreateTopics":
        await cluster.create("t")
    async with Admin(BOOTSTRAP, transport=cluster) as admin:
        await CALLS[rpc](admin)
    assert f"/tidelog.v1.{rpc}" in cluster.paths


def test_no_call_for_clients_is_left_out() -> None:
    listed = [value for value in vars(methods).values() if isinstance(value, Method)]
    for method in listed:
        service = method.service.rpartition(".")[2]
        if service in {"Broker", "Admin", "Node"}:
            is_called = f"{service}/{method.name}" in CALLS
            assert is_called or method.name in OF_PRODUCERS_AND_CONSUMERS | OF_TRANSACTIONS


async def test_node_describes_itself() -> None:
    cluster = await started()
    async with Admin(BOOTSTRAP, transport=cluster) as admin:
        assert await admin.describe_node(NODE_1) == NodeDescription(
            node_id=1,
            pid=cluster.machines[1].node._ports.process_id,
            cluster_id=CLUSTER_ID,
            roles=("broker",),
            address=NODE_1,
            is_ready=True,
            controller_id=CONTROLLER_ID,
            metadata_offset=cluster.image.offset,
            version=VERSION,
            incarnation_id=cluster.image.brokers[1].incarnation_id,
        )


async def test_stop_is_prepared_for_the_time_asked_or_refused() -> None:
    cluster = await started()
    async with Admin(BOOTSTRAP, transport=cluster) as admin:
        await admin.prepare_stop(NODE_1, hold_ms=500)
        assert [one.hold_ms for one in cluster.requests("PrepareStop")] == [500]
        for hold_ms in (0, 60_001):
            with pytest.raises(ValueError, match="hold_ms"):
                await admin.prepare_stop(NODE_1, hold_ms=hold_ms)
        cluster.mishaps.append(Mishap("PrepareStop", code=common_pb2.INVALID_REQUEST))
        with pytest.raises(errors.KafkaError, match="a mishap"):
            await admin.prepare_stop(NODE_1)


async def list_offset(admin: Admin) -> None:
    require_all(await admin.list_offsets([("t", 0)], at="latest"))


RETRIED: dict[str, tuple[Callable[[Admin], Awaitable[object]], common_pb2.ErrorCode]] = {
    "CreateTopics": (lambda a: a.create_topic("new"), common_pb2.NOT_CONTROLLER),
    "ElectLeaders": (lambda a: a.elect_leaders(["t"]), common_pb2.NOT_CONTROLLER),
    "ListOffsets": (list_offset, common_pb2.NOT_LEADER_OR_FOLLOWER),
}
"""A call of each part of the admin client that retries, by its method, and a retriable error."""


@pytest.mark.parametrize("retries", [0, 1, 3])
@pytest.mark.parametrize("method", RETRIED)
async def test_a_call_is_retried_so_often_and_then_fails_with_the_last_error(
    method: str, retries: int
) -> None:
    call, code = RETRIED[method]
    cluster = await started()
    await cluster.create("t")
    before = len(cluster.requests(method))
    cluster.mishaps.append(Mishap(method, code=code, times=1_000))
    async with Admin(BOOTSTRAP, transport=cluster, retries=retries) as admin:
        with pytest.raises(errors.KafkaError) as raised:
            await call(admin)
    assert raised.value.code == code
    assert len(cluster.requests(method)) - before == retries + 1


@pytest.mark.parametrize("method", RETRIED)
async def test_a_call_within_its_retries_succeeds(method: str) -> None:
    call, code = RETRIED[method]
    cluster = await started()
    await cluster.create("t")
    before = len(cluster.requests(method))
    cluster.mishaps.append(Mishap(method, code=code, times=3))
    async with Admin(BOOTSTRAP, transport=cluster, retries=3) as admin:
        await call(admin)
    assert len(cluster.requests(method)) - before == 4
