"""A member of the consumer protocol (KIP-848) by hand, over frames."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.sim.kafka_wire import WireClient

from tidelog.kafka.messages.consumer_group_heartbeat_request import (
    ConsumerGroupHeartbeatRequest,
    TopicPartitions,
)
from tidelog.kafka.messages.consumer_group_heartbeat_response import ConsumerGroupHeartbeatResponse


class Member:
    """A member by hand, over one connection at a time."""

    def __init__(self, client: WireClient, member_id: str, *, version: int = 1) -> None:
        self.client = client
        self.member_id = member_id
        self.version = version
        self.group_id = "g"
        self.epoch = 0
        self.owned: dict[bytes, list[int]] | None = None
        """As it was told."""

    async def ask(self, **fields: Any) -> ConsumerGroupHeartbeatResponse:
        """A heartbeat with these fields and no others."""
        values: dict[str, Any] = {"group_id": self.group_id, "member_id": self.member_id}
        values["member_epoch"] = self.epoch
        request = ConsumerGroupHeartbeatRequest(**(values | fields))
        answer = await self.client.call(request, self.version, ConsumerGroupHeartbeatResponse)
        if not answer.error_code:
            self.epoch, self.member_id = answer.member_epoch, answer.member_id or ""
            if answer.assignment is not None:
                self.owned = {
                    one.topic_id: one.partitions for one in answer.assignment.topic_partitions
                }
        return answer

    async def join(self, **fields: Any) -> ConsumerGroupHeartbeatResponse:
        self.epoch = 0
        values: dict[str, Any] = {
            "rebalance_timeout_ms": 60_000,
            "subscribed_topic_names": ["t"],
            "topic_partitions": [],
        }
        return await self.ask(**(values | fields))

    def all_owned(self) -> dict[str, Any]:
        """The field of what it owns."""
        owned = [TopicPartitions(*one) for one in (self.owned or {}).items()]
        return {"topic_partitions": owned}

    async def until(self, owned: dict[bytes, list[int]]) -> None:
        """Beat and acknowledge until it was told this."""
        for _ in range(100):
            if self.owned == owned:
                await self.ask(**self.all_owned())
                if self.owned == owned:
                    return
            answer = await self.ask(**self.all_owned())
            assert answer.error_code == 0, answer
            await asyncio.sleep(0.2)
        raise AssertionError(f"{self.owned} instead of {owned}")
