"""Every RPC for clients is a method of the admin client, or what producers and consumers do."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest
from tests.client.fake_cluster import ADDRESSES, BOOTSTRAP, FakeCluster

from tidelog.client import Admin, errors
from tidelog.client.admin.descriptions import NodeDescription
from tidelog.v1 import common_pb2, methods
from tidelog.v1.admin_pb2 import NodeStatusResponse, PrepareStopResponse
from tidelog.v1.common_pb2 import Error
from tidelog.v1.methods import Method, Request, Response

NODE = NodeStatusResponse(
    node_id=1,
    pid=7,
    cluster_id="fake",
    roles=["broker", "controller"],
    address=ADDRESSES[1],
    ready=True,
    metadata_offset=42,
    version="0.1.0",
    incarnation_id=b"i" * 16,
)
NODE_1 = ADDRESSES[1]
CALLS: dict[str, Callable[[Admin], Awaitable[object]]] = {
    "Broker/ListOffsets": lambda a: a.list_offsets([("t", 0)], at="latest"),
    "Broker/DeleteRecords": lambda a: a.delete_records({("t", 0): -1}),
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


class Watched(FakeCluster):
    """Sees each call, and answers for a node; with `refusal` no stop is prepared."""

    def __init__(self) -> None:
        super().__init__()
        self.paths: list[str] = []
        self.refusal = Error()
        self.holds_ms: list[int] = []

    async def call(
        self,
        address: str,
        method: Method[Request, Response],
        request: Request,
        *,
        timeout_ms: int,
    ) -> Response:
        self.paths.append(method.path)
        answers = {
            methods.NODE_STATUS.path: NODE,
            methods.PREPARE_STOP.path: PrepareStopResponse(error=self.refusal),
        }
        if method.path in answers:
            self.holds_ms.append(getattr(request, "hold_ms", 0))
            return method.response_type.FromString(answers[method.path].SerializeToString())
        try:
            return await super().call(address, method, request, timeout_ms=timeout_ms)
        except KeyError as unknown:
            raise errors.CallFailedError("the fake has no such call") from unknown


@pytest.mark.parametrize("rpc", CALLS)
async def test_admin_makes_the_call(rpc: str) -> None:
    cluster = Watched()
    if rpc != "Admin/CreateTopics":
        cluster.create("t")
    async with Admin(BOOTSTRAP, transport=cluster, api_timeout_ms=30) as admin:
        with suppress(errors.TidelogError):  # what it answers is told elsewhere
            await CALLS[rpc](admin)
    assert f"/tidelog.v1.{rpc}" in cluster.paths


def test_no_call_for_clients_is_left_out() -> None:
    listed = [value for value in vars(methods).values() if isinstance(value, Method)]
    for method in listed:
        service = method.service.rpartition(".")[2]
        if service in {"Broker", "Admin", "Node"}:
            is_called = f"{service}/{method.name}" in CALLS
            assert is_called or method.name in OF_PRODUCERS_AND_CONSUMERS, method.path


async def test_node_describes_itself() -> None:
    async with Admin(BOOTSTRAP, transport=Watched()) as admin:
        assert await admin.describe_node(NODE_1) == NodeDescription(
            node_id=1,
            pid=7,
            cluster_id="fake",
            roles=("broker", "controller"),
            address=NODE_1,
            is_ready=True,
            controller_id=None,
            metadata_offset=42,
            version="0.1.0",
            incarnation_id=b"i" * 16,
        )


async def test_stop_is_prepared_for_the_time_asked_or_refused() -> None:
    cluster = Watched()
    async with Admin(BOOTSTRAP, transport=cluster) as admin:
        await admin.prepare_stop(NODE_1, hold_ms=500)
        assert cluster.holds_ms == [500]
        for hold_ms in (0, 60_001):
            with pytest.raises(ValueError, match="hold_ms"):
                await admin.prepare_stop(NODE_1, hold_ms=hold_ms)
        cluster.refusal = Error(code=common_pb2.INVALID_REQUEST, message="no")
        with pytest.raises(errors.KafkaError, match="no"):
            await admin.prepare_stop(NODE_1)
