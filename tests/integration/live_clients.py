"""Clients of the run: writers through `Admin`, readers that ask controllers what must be true."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from typing import Any

from tests.integration.live_history import History, WatchedTransport
from tests.integration.live_nodes import CLUSTER_ID, LiveNode

from tidelog.client import Admin
from tidelog.core.errors import TidelogError
from tidelog.v1.admin_pb2 import CreateTopicsRequest
from tidelog.v1.controller_pb2 import BrokerHeartbeatRequest
from tidelog.v1.methods import (
    BROKER_HEARTBEAT,
    CREATE_TOPICS,
    Method,
    Request,
    Response,
)

CONFIG = "retention.ms"
TOPICS_PER_WRITER = 5
PAUSE_S = 0.02
NAMES_PER_READ = 20
REQUEST_TIMEOUT_MS = 2_000
API_TIMEOUT_MS = 20_000
RETENTION_MS = 10**9


class Writer:
    """Creates, alters and deletes topics of its own, one command after the other."""

    def __init__(self, number: int, *, bootstrap: Sequence[str], history: History) -> None:
        self._number = number
        self._history = history
        self._random = random.Random(number)
        self._transport = WatchedTransport(history)
        self._admin = Admin(
            bootstrap,
            request_timeout_ms=REQUEST_TIMEOUT_MS,
            api_timeout_ms=API_TIMEOUT_MS,
            transport=self._transport,
        )
        self._names = 0
        self._values = 0
        self._living: list[str] = []

    async def run(self, stopping: asyncio.Event) -> None:
        """Until told to stop; a command without an answer in time stays in doubt."""
        while not stopping.is_set():
            try:
                await self._command()
            except TidelogError:
                self._history.counts["commands_without_answer"] += 1
                await asyncio.sleep(5 * PAUSE_S)
            await asyncio.sleep(PAUSE_S)
        await self._admin.close()
        await self._transport.close()

    async def _command(self) -> None:
        if not self._living or self._random.random() < 0.2:
            await self._create()
        elif len(self._living) > TOPICS_PER_WRITER:
            await self._admin.delete_topic(self._living.pop(0))
        else:
            self._values += 1
            value = RETENTION_MS + 1000 * self._values + self._number
            await self._admin.alter_configs(self._random.choice(self._living), {CONFIG: str(value)})

    async def _create(self) -> None:
        self._names += 1
        name = f"writer-{self._number}-{self._names}"
        replicas = self._random.choice([0, 0, 2])
        try:
            await self._admin.create_topic(name, replication_factor=replicas)
        finally:
            # Told or not: one that was acknowledged and not awaited by all is used like others.
            if name in self._history.created:
                self._living.append(name)


class Reader:
    """Asks every controller in turn what it would decide, itself or through the leader."""

    def __init__(self, nodes: Sequence[LiveNode], history: History) -> None:
        self._nodes = nodes
        self._history = history
        self._random = random.Random(0)
        self._transport = WatchedTransport(history)

    async def run(self, stopping: asyncio.Event) -> None:
        """Until told to stop."""
        while not stopping.is_set():
            for node in self._nodes:
                await self.read(node, is_forwarded=self._random.random() < 0.5, timeout_ms=1_000)
                await asyncio.sleep(PAUSE_S)
        await self._transport.close()

    async def read(self, node: LiveNode, *, is_forwarded: bool, timeout_ms: int) -> str:
        """Ask which of the newest and of some other topics there are; the history judges.

        `is_forwarded`: the node must decide itself or say that it does not lead. Returns
        `decided`, `refused` or `no answer`.
        """
        request = CreateTopicsRequest(validate_only=True, from_broker=True, forwarded=is_forwarded)
        for name in self._some_names():
            request.topics.add(name=name, partitions=1, replication_factor=1)
        return await self._ask(node, CREATE_TOPICS, request, timeout_ms)

    async def heartbeat(self, node: LiveNode, *, timeout_ms: int) -> str:
        """A heartbeat of nobody, which the node must decide itself; returns as `read`."""
        request = BrokerHeartbeatRequest(broker_id=997, broker_epoch=1, forwarded=True)
        return await self._ask(node, BROKER_HEARTBEAT, request, timeout_ms)

    async def create(self, node: LiveNode, name: str, *, timeout_ms: int) -> str:
        """Ask the node itself to create a topic; returns as `read`."""
        request = CreateTopicsRequest(forwarded=True)
        request.topics.add(name=name, partitions=1, replication_factor=1)
        return await self._ask(node, CREATE_TOPICS, request, timeout_ms)

    async def close(self) -> None:
        """Close its connections."""
        await self._transport.close()

    async def _ask(
        self, node: LiveNode, method: Method[Request, Response], request: Any, timeout_ms: int
    ) -> str:
        request.cluster_id = CLUSTER_ID
        try:
            answer: Any = await self._transport.call(
                node.address, method, request, timeout_ms=timeout_ms
            )
        except TidelogError:
            return "no answer"
        if not answer.controller_epoch:
            return "refused"
        if request.forwarded:
            self._history.note_leader(
                answer.controller_epoch, node.node_id, source=f"its answer to {method.name}"
            )
        return "decided"

    def _some_names(self) -> list[str]:
        newest = NAMES_PER_READ // 2
        names = [*list(self._history.created)[-newest:], *list(self._history.deleted)[-newest:]]
        older = list(self._history.created)
        names += self._random.sample(older, min(newest, len(older)))
        return list(dict.fromkeys(names)) or ["nothing"]
