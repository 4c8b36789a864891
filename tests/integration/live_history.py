"""What clients were told, and whether it may be true: every answer of a deciding call passes here.

Decides which answers contradict earlier ones; never what to ask.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from tidelog.net.grpc_transport import GrpcTransport
from tidelog.net.transport import Stream
from tidelog.v1 import common_pb2
from tidelog.v1.admin_pb2 import AlterConfigsRequest, CreateTopicsRequest, DeleteTopicsRequest
from tidelog.v1.methods import (
    ALTER_CONFIGS,
    BROKER_HEARTBEAT,
    CREATE_TOPICS,
    DELETE_TOPICS,
    Method,
    Request,
    Response,
)

_DECIDING = frozenset(
    {
        method.path
        for method in (
            *(CREATE_TOPICS, DELETE_TOPICS, ALTER_CONFIGS),
            BROKER_HEARTBEAT,
        )
    }
)


@dataclass(frozen=True, slots=True)
class Asked:
    """What was known to all when a request left."""

    at_s: float
    epoch: int
    created: frozenset[str]
    deleted: frozenset[str]


@dataclass(slots=True)
class TopicConfig:
    """The values one client set for a key of its topic, one after the other."""

    tried: list[str] = field(default_factory=list)
    acknowledged: list[str] = field(default_factory=list)
    in_doubt: set[str] = field(default_factory=set)


class History:
    """Names are never used twice, so each has one life: created, perhaps deleted."""

    def __init__(self) -> None:
        self.violations: list[str] = []
        self.epoch = 0
        """The greatest controller epoch any answer had."""
        self.leaders: dict[int, int] = {}
        """Raft term to the node that was seen to lead in it."""
        self.created: dict[str, bytes] = {}
        """Acknowledged: name to topic id."""
        self.create_tried: set[str] = set()
        self.delete_tried: set[str] = set()
        self.deleted: set[str] = set()
        """Acknowledged."""
        self.configs: dict[str, TopicConfig] = {}
        self.counts: Counter[str] = Counter()
        self.newest_ack_asked_s = float("-inf")
        """When the newest acknowledged command was first sent."""

    def violation(self, text: str) -> None:
        """Something that must never be; said once."""
        if text not in self.violations:
            self.violations.append(text)

    def note_leader(self, term: int, node_id: int, *, source: str) -> None:
        """A node was seen to lead in this term."""
        known = self.leaders.setdefault(term, node_id)
        if known != node_id:
            self.violation(f"two leaders in term {term}: {known}, and {node_id} says {source}")

    def asked(self, request: Any) -> Asked:  # any request
        """A request is about to leave."""
        if isinstance(request, DeleteTopicsRequest):
            self.delete_tried.update(request.names)
        if isinstance(request, CreateTopicsRequest) and not request.validate_only:
            self.create_tried.update(topic.name for topic in request.topics)
        if isinstance(request, AlterConfigsRequest):
            for name, value in _values(request):
                config = self.configs.setdefault(name, TopicConfig())
                if value not in config.tried:
                    config.tried.append(value)
                    config.in_doubt.add(value)
        return Asked(
            time.monotonic(),
            self.epoch,
            frozenset(self.created.keys() - self.delete_tried),
            frozenset(self.deleted),
        )

    def answered(self, asked: Asked, address: str, request: Any, response: Any) -> None:
        """A deciding call was answered; an answer without an epoch decided nothing."""
        epoch = response.controller_epoch
        if epoch == 0:
            self.counts["answers_without_decision"] += 1
            return
        self.counts["decisions"] += 1
        if epoch < asked.epoch:
            self.violation(
                f"{type(request).__name__} at {address} was decided in term {epoch} after term "
                f"{asked.epoch} had been told to a client"
            )
        self.epoch = max(self.epoch, epoch)
        if response.error.code == common_pb2.NONE:
            self._take(asked, address, request, response)

    def _take(self, asked: Asked, address: str, request: Any, response: Any) -> None:
        if isinstance(request, CreateTopicsRequest):
            for topic in response.topics:
                if request.validate_only:
                    self._check_read(asked, address, topic.name, code=topic.error.code)
                elif topic.error.code == common_pb2.NONE:
                    self.created[topic.name] = topic.topic_id
                    self._acknowledged(asked, "creates")
        elif isinstance(request, DeleteTopicsRequest):
            for topic in response.topics:
                if topic.error.code == common_pb2.NONE:
                    self.deleted.add(topic.name)
                    self._acknowledged(asked, "deletes")
        elif isinstance(request, AlterConfigsRequest) and not response.resources[0].error.code:
            for name, value in _values(request):
                self.configs[name].acknowledged.append(value)
                self.configs[name].in_doubt.discard(value)
                self._acknowledged(asked, "alters")

    def _acknowledged(self, asked: Asked, kind: str) -> None:
        self.counts[kind] += 1
        self.newest_ack_asked_s = max(self.newest_ack_asked_s, asked.at_s)

    def _check_read(self, asked: Asked, address: str, name: str, *, code: int) -> None:
        """`validate_only` says whether a topic of this name could be created now."""
        self.counts["linearizable_reads"] += 1
        exists = code == common_pb2.TOPIC_ALREADY_EXISTS
        if name in asked.created and name not in self.delete_tried and not exists:
            self.violation(f"{address} does not know {name}, created before it was asked ({code})")
        if name in asked.deleted and exists:
            self.violation(f"{address} still knows {name}, deleted before it was asked")


def _values(request: AlterConfigsRequest) -> list[tuple[str, str]]:
    return [
        (resource.name, change.value)
        for resource in request.resources
        for change in resource.changes
    ]


class WatchedTransport:
    """The real transport, whose deciding calls the history sees."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._inner = GrpcTransport()

    async def call(
        self,
        address: str,
        method: Method[Request, Response],
        request: Request,
        *,
        timeout_ms: int,
    ) -> Response:
        """See `Transport.call`."""
        if method.path not in _DECIDING:
            return await self._inner.call(address, method, request, timeout_ms=timeout_ms)
        asked = self._history.asked(request)
        response = await self._inner.call(address, method, request, timeout_ms=timeout_ms)
        self._history.answered(asked, address, request, response)
        return response

    async def open_stream(
        self, address: str, method: Method[Request, Response]
    ) -> Stream[Request, Response]:
        """See `Transport.open_stream`: nothing is decided on one."""
        return await self._inner.open_stream(address, method)

    async def close(self) -> None:
        """Close all connections."""
        await self._inner.close()
