"""Calls of a member of the classic protocol as frames: see `MemberCalls`.

One connection to the coordinator, apart from those that records are fetched on. It is found by
FindCoordinator, at any broker, and again whenever it says that it is not, or does not answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from tidelog.broker.coordinator.classic_messages import (
    HeartbeatRequest,
    JoinAnswer,
    JoinRequest,
    LeaveRequest,
    SyncAnswer,
    SyncRequest,
)
from tidelog.broker.coordinator.committer import Committer
from tidelog.broker.coordinator.offsets import CommittedOffset
from tidelog.core.errors import CallFailedError, CoordinatorNotAvailableError, KafkaError
from tidelog.kafka.message import Message
from tidelog.kafka.messages.find_coordinator_response import FindCoordinatorResponse
from tidelog.kafka.messages.heartbeat_response import HeartbeatResponse
from tidelog.kafka.messages.join_group_response import JoinGroupResponse
from tidelog.kafka.messages.leave_group_response import LeaveGroupResponse
from tidelog.kafka.messages.offset_commit_response import OffsetCommitResponse
from tidelog.kafka.messages.offset_fetch_response import OffsetFetchResponse
from tidelog.kafka.messages.sync_group_response import SyncGroupResponse
from tidelog.simulation.wire import group_frames as frames
from tidelog.simulation.wire.group_frames import GroupTopic, UnknownAnswerError
from tidelog.simulation.wire.tool_commits import ToolCommits
from tidelog.simulation.wire.wire_client import WireClient
from tidelog.simulation.wire.wire_producer import UNEXPECTED

M = TypeVar("M", bound=Message)


class FrameCalls:
    """See the module."""

    def __init__(self, client: WireClient, group_id: str, tool: ToolCommits | None = None) -> None:
        """Begin; `tool` commits what the member commits."""
        self._tool = tool
        self._client = client
        self._group_id = group_id
        self._versions = client.versions.of_groups
        self._address: str | None = None

    def forget_coordinator(self) -> None:
        """See `MemberCalls.forget_coordinator`."""
        self._address = None

    async def join(self, request: JoinRequest, *, timeout_s: float) -> JoinAnswer:
        """See `MemberCalls.join`."""
        message = frames.join_request(self._group_id, request)
        answer = await self._call(message, JoinGroupResponse, timeout_s)
        with self._judged():
            return frames.joined(request, answer)

    async def sync(self, request: SyncRequest, *, timeout_s: float) -> SyncAnswer:
        """See `MemberCalls.sync`."""
        message = frames.sync_request(self._group_id, request)
        answer = await self._call(message, SyncGroupResponse, timeout_s)
        with self._judged():
            return frames.synced(request, answer)

    async def heartbeat(self, request: HeartbeatRequest, *, timeout_s: float) -> None:
        """See `MemberCalls.heartbeat`."""
        message = frames.heartbeat_message(self._group_id, request)
        answer = await self._call(message, HeartbeatResponse, timeout_s)
        with self._judged():
            frames.check(frames.HEARTBEAT, answer.error_code)

    async def commit(
        self, by: Committer, partition: int, committed: CommittedOffset, *, timeout_s: float
    ) -> None:
        """See `MemberCalls.commit`."""
        of = await self._topic()
        version = self._versions[frames.OFFSET_COMMIT]
        message = frames.commit_request(of, by, partition, committed, version)
        answer = await self._call(message, OffsetCommitResponse, timeout_s)
        with self._judged():
            codes = frames.committed_codes(answer)
            if codes.keys() != {partition}:
                raise UnknownAnswerError(f"commit of partition {partition}: {codes}")
            frames.check(frames.OFFSET_COMMIT, codes[partition])
        if self._tool is not None:
            self._tool.commit(of, partition, committed)

    async def fetch(
        self, partitions: Sequence[int], *, timeout_s: float
    ) -> Sequence[CommittedOffset]:
        """See `MemberCalls.fetch`."""
        if not partitions:
            return []
        of = await self._topic()
        version = self._versions[frames.OFFSET_FETCH]
        message = frames.fetch_request(of, partitions, version)
        answer = await self._call(message, OffsetFetchResponse, timeout_s)
        with self._judged():
            found = frames.fetched(answer, version)
            if found.keys() != set(partitions):
                raise UnknownAnswerError(f"look-up of {partitions}: {sorted(found)}")
            for one in found.values():
                frames.check(frames.OFFSET_FETCH, one.error_code)
        return [
            CommittedOffset(found[one].committed_offset, found[one].committed_leader_epoch)
            for one in partitions
        ]

    async def leave(self, request: LeaveRequest, *, timeout_s: float) -> None:
        """See `MemberCalls.leave`."""
        version = self._versions[frames.LEAVE_GROUP]
        message = frames.leave_message(self._group_id, request, version)
        answer = await self._call(message, LeaveGroupResponse, timeout_s)
        with self._judged():
            frames.check_left(answer)

    async def _call(self, request: Message, kind: type[M], timeout_s: float) -> M:
        if self._address is None:
            self._address = await self._find()
        link = await self._client.link_to(self._address)
        version = self._versions[request.API_KEY]
        return await link.call(request, version, kind, timeout_s=timeout_s)

    async def _find(self) -> str:
        version = self._versions[frames.FIND_COORDINATOR]
        request = frames.find_request(self._group_id, version)
        answer = await self._client.any_call(request, version, FindCoordinatorResponse)
        with self._judged():
            return frames.found(answer, version)

    @contextmanager
    def _judged(self) -> Iterator[None]:
        """Report an answer that no client knows; look a coordinator that is gone up again."""
        try:
            yield
        except UnknownAnswerError as error:
            self._client.checks.report(UNEXPECTED, f"{self._client.name}: {error}")
            raise CallFailedError(str(error)) from error
        except KafkaError as error:
            self._client.checks.count(f"error_{error.code}")
            if isinstance(error, CoordinatorNotAvailableError):
                self.forget_coordinator()
            raise

    async def _topic(self) -> GroupTopic:
        """Name and id of the topic. Raises `CallFailedError` if nobody tells the id."""
        name = self._client.topic
        if name not in self._client.map.topics:
            await self._client.refresh()
        known = self._client.map.topics.get(name)
        if known is None:
            raise CallFailedError(f"nobody tells the id of {name}")
        return GroupTopic(self._group_id, name, known.topic_id)
