"""Forger of Raft messages to real voters in another voter's name.

Owns its connections; a voter that refuses a message, or is down, is an answer, too.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from typing import Any

import grpc
import grpc.aio

from tidelog.chaos.sockets.cluster import SocketCluster
from tidelog.chaos.workloads.forged_raft import Aim, Random, forge, leap
from tidelog.raft.config import RaftConfig
from tidelog.raft.hello import hello_of
from tidelog.v1.controller_pb2 import DescribeQuorumRequest, DescribeQuorumResponse
from tidelog.v1.methods import DESCRIBE_QUORUM, RAFT_EXCHANGE
from tidelog.v1.raft_pb2 import RaftMessage

CALL_S_MAX = 3.0


class Forger:
    """Forger against one cluster. `random` decides target, sender and message."""

    def __init__(self, cluster: SocketCluster, random: Random) -> None:
        self._cluster = cluster
        self._random = random
        self._config = RaftConfig(cluster_id=cluster.cluster_id)

    async def send(self, *, is_leap: bool) -> bool:
        """Send one message on a stream of its own; whether the voter took it."""
        voters = list(self._cluster.topology.controller_ids)
        receiver_id = voters.pop(self._random.randrange(0, len(voters)))
        sender_id = voters[self._random.randrange(0, len(voters))]
        async with grpc.aio.insecure_channel(self._cluster.address(receiver_id)) as channel:
            try:
                aim = await self._aim(channel, sender_id, receiver_id)
                message = (leap if is_leap else forge)(aim, self._random)
                await self._exchange(channel, message)
            except grpc.aio.AioRpcError:
                return False
        return True

    async def _aim(self, channel: grpc.aio.Channel, sender_id: int, receiver_id: int) -> Aim:
        ask = channel.unary_unary(
            DESCRIBE_QUORUM.path,
            request_serializer=DescribeQuorumRequest.SerializeToString,
            response_deserializer=DescribeQuorumResponse.FromString,
        )
        quorum = await ask(DescribeQuorumRequest(), timeout=CALL_S_MAX, wait_for_ready=True)
        return Aim(
            cluster_id=self._cluster.cluster_id,
            sender_id=sender_id,
            receiver_id=receiver_id,
            term=quorum.term,
            last_index=quorum.last_index,
            last_term=quorum.term,
            incarnation=time.time_ns() // 1_000_000,
        )

    async def _exchange(self, channel: grpc.aio.Channel, message: RaftMessage) -> None:
        """Errors: `AioRpcError` when it is refused."""
        sender_id, receiver_id = message.sender_id, message.receiver_id
        hello = hello_of(sender_id, receiver_id=receiver_id, config=self._config)

        async def both() -> AsyncIterator[bytes]:
            for one in (hello, message):
                yield one.SerializeToString()

        call: Any = channel.stream_unary(RAFT_EXCHANGE.path)  # generic in nothing here
        await call(both(), timeout=CALL_S_MAX)
