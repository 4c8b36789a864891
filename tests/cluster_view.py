"""States of a simulated cluster to wait for, asked through its public calls. Decides nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from tidelog.core.errors import TidelogError
from tidelog.simulation.cluster.cluster import SimCluster
from tidelog.v1 import common_pb2
from tidelog.v1.admin_pb2 import (
    CreateTopicsRequest,
    DescribeClusterRequest,
    DescribeClusterResponse,
    DescribeTopicsRequest,
    DescribeTopicsResponse,
    NewTopic,
)
from tidelog.v1.methods import (
    CREATE_TOPICS,
    DESCRIBE_CLUSTER,
    DESCRIBE_TOPICS,
    Method,
    Request,
    Response,
)

PartitionState = DescribeTopicsResponse.Partition
POLL_INTERVAL_S = 0.1
CALL_TIMEOUT_MS = 2000
# The longest any wait of a scenario may take: several sessions and elections.
WAIT_S_MAX = 60.0


class ClusterView:
    """Nodes, asked one after the other until the answer is the awaited one.

    Errors: `TimeoutError` once a wait took `WAIT_S_MAX`.
    """

    def __init__(self, cluster: SimCluster) -> None:
        self._cluster = cluster

    async def until_ready(self) -> None:
        """All brokers are unfenced and a controller leads, as every node knows."""

        def is_ready(answer: DescribeClusterResponse) -> bool:
            unfenced = [broker for broker in answer.brokers if not broker.fenced]
            return answer.HasField("controller_id") and len(unfenced) == len(self._cluster.node_ids)

        for node_id in self._cluster.node_ids:
            await self._until(DESCRIBE_CLUSTER, DescribeClusterRequest(), is_ready, [node_id])

    async def create_topic(self, name: str, *, partitions: int, min_insync_replicas: int) -> None:
        """With a replica on every node; returns when every partition is led and in sync."""
        topic = NewTopic(
            name=name,
            partitions=partitions,
            replication_factor=len(self._cluster.node_ids),
            configs={"min.insync.replicas": str(min_insync_replicas)},
        )
        settled = (common_pb2.NONE, common_pb2.TOPIC_ALREADY_EXISTS)
        await self._until(
            CREATE_TOPICS,
            CreateTopicsRequest(topics=[topic], timeout_ms=CALL_TIMEOUT_MS),
            lambda answer: any(topic.error.code in settled for topic in answer.topics),
        )
        await self.until_in_sync(name)

    async def until_in_sync(self, topic: str) -> None:
        """Every partition has a leader and all its replicas in the ISR, as every node knows."""
        for node_id in self._cluster.node_ids:
            await self._describe(topic, _is_in_sync, [node_id])

    async def leader(self, topic: str, partition: int) -> int:
        """Who leads a partition."""
        states = await self._describe(topic, lambda state: state.HasField("leader_id"))
        return states[partition].leader_id

    async def controller(self) -> int:
        """Who leads the quorum."""
        answer = await self._until(
            DESCRIBE_CLUSTER,
            DescribeClusterRequest(),
            lambda answer: answer.HasField("controller_id"),
        )
        return answer.controller_id

    async def end_offsets(self, topic: str) -> dict[int, int]:
        """Where each partition ends, once all of it is below the high watermark."""
        states = await self._describe(
            topic,
            lambda state: (
                state.HasField("high_watermark") and state.high_watermark == state.log_end_offset
            ),
        )
        return {state.partition: state.high_watermark for state in states}

    async def _describe(
        self,
        topic: str,
        is_awaited: Callable[[PartitionState], bool],
        node_ids: Sequence[int] = (),
    ) -> Sequence[PartitionState]:
        """The partitions of a topic, once each of them is as awaited."""

        def is_complete(answer: DescribeTopicsResponse) -> bool:
            partitions = answer.topics[0].partitions
            return len(partitions) > 0 and all(map(is_awaited, partitions))

        request = DescribeTopicsRequest(names=[topic])
        answer = await self._until(DESCRIBE_TOPICS, request, is_complete, node_ids)
        return answer.topics[0].partitions

    async def _until(
        self,
        method: Method[Request, Response],
        request: Request,
        is_awaited: Callable[[Response], bool],
        node_ids: Sequence[int] = (),
    ) -> Response:
        """The first awaited answer of any of the nodes (of all of them unless named)."""
        answer: Response | None = None
        deadline_ms = self._cluster.client.clock.monotonic_ms() + int(WAIT_S_MAX * 1000)
        while self._cluster.client.clock.monotonic_ms() < deadline_ms:
            for node_id in node_ids or self._cluster.node_ids:
                answer = await self._ask(node_id, method, request)
                if answer is not None and is_awaited(answer):
                    return answer
            await asyncio.sleep(POLL_INTERVAL_S)
        raise TimeoutError(f"waited for another answer to {method.path} than {answer}")

    async def _ask(
        self, node_id: int, method: Method[Request, Response], request: Request
    ) -> Response | None:
        try:
            return await self._cluster.client.transport.call(
                self._cluster.address(node_id), method, request, timeout_ms=CALL_TIMEOUT_MS
            )
        except TidelogError:
            return None


def _is_in_sync(state: PartitionState) -> bool:
    return state.HasField("leader_id") and len(state.isr) == len(state.replicas)
