"""Requests of members of the classic group and their answers, in frames, for the group's checks.

What is judged is what the frame says: whom it names, and what it is answered.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from tidelog.broker.coordinator.classic_messages import LeaveRequest, LeavingMember
from tidelog.broker.coordinator.offsets import CommittedOffset, OffsetResult, TopicPartition
from tidelog.broker.kafka.connection import Request
from tidelog.chaos.invariants.invariant import Report
from tidelog.kafka.apis import request_class, response_class
from tidelog.kafka.message import Message
from tidelog.kafka.messages.heartbeat_request import HeartbeatRequest
from tidelog.kafka.messages.heartbeat_response import HeartbeatResponse
from tidelog.kafka.messages.leave_group_request import LeaveGroupRequest
from tidelog.kafka.messages.offset_commit_request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
)
from tidelog.kafka.messages.offset_commit_response import OffsetCommitResponse
from tidelog.kafka.messages.offset_fetch_request import OffsetFetchRequest
from tidelog.kafka.messages.offset_fetch_response import OffsetFetchResponse
from tidelog.kafka.messages.sync_group_request import SyncGroupRequest
from tidelog.kafka.messages.sync_group_response import SyncGroupResponse
from tidelog.net.byte_streams import Buffer
from tidelog.simulation.cluster.cluster import Machine
from tidelog.simulation.groups.classic_checks import I25, Acknowledged, Arrival, ClassicChecks
from tidelog.simulation.groups.coordinator_checks import coordinator_of
from tidelog.simulation.groups.simulation_config import CLASSIC_GROUP
from tidelog.simulation.wire import group_frames as frames
from tidelog.v1 import common_pb2

JUDGED = frozenset(
    {
        frames.OFFSET_COMMIT,
        frames.OFFSET_FETCH,
        frames.HEARTBEAT,
        frames.LEAVE_GROUP,
        frames.SYNC_GROUP,
    }
)
CommitPlace = tuple[str, int, int]
"""Member, generation, partition: commits have an order there, where one connection carries them."""
Serve = Callable[[], Awaitable[Sequence[Buffer] | None]]


class GroupTap:
    """Calls the checks before and after each request is served."""

    def __init__(
        self,
        checks: ClassicChecks,
        report: Report,
        *,
        topic: str,
        topic_id: Callable[[], bytes],
    ) -> None:
        self._checks = checks
        self._report = report
        self._topic = topic
        self._topic_id = topic_id
        self._came: dict[CommitPlace, int] = {}
        """Highest offset that came from a member in a generation, by partition."""
        self._taken: dict[CommitPlace, int] = {}
        """The same of those that were taken."""
        self._disordered: set[CommitPlace] = set()
        """Those of which one overtook another on another connection; only asked."""
        self._sent: set[tuple[int, int]] = set()
        """Offsets that members sent, by partition; only asked."""

    async def serve(
        self, machine: Machine, request: Request, serve: Serve
    ) -> Sequence[Buffer] | None:
        """Have a request served, and judge its answer."""
        key, version = request.header.api_key, request.header.api_version
        asked, _ = request_class(key).decode_prefix(bytes(request.body), version)
        if isinstance(asked, OffsetCommitRequest) and asked.group_id != CLASSIC_GROUP:
            return await serve()
        if isinstance(asked, LeaveGroupRequest):
            self._checks.on_leave(_leaving(asked, version))
        arrival = self._arrival(machine, asked)
        acknowledged = self._checks.acknowledged_now()
        if isinstance(asked, OffsetCommitRequest):
            self.note_commit(asked)
        buffers = await serve()
        if buffers is not None:
            answer = response_class(key).decode(b"".join(buffers), version)
            self._judge(asked, answer, arrival, acknowledged)
        return buffers

    def _arrival(self, machine: Machine, asked: Message) -> Arrival | None:
        coordinator = coordinator_of(machine)
        if coordinator is None:
            return None
        if isinstance(asked, OffsetCommitRequest | HeartbeatRequest | SyncGroupRequest):
            return self._checks.arrival_at(
                coordinator, machine, asked.member_id, asked.group_instance_id
            )
        return None

    def note_commit(self, asked: OffsetCommitRequest) -> None:
        """Note that a commit came."""
        for topic in asked.topics:
            for one in topic.partitions:
                self._note_order(self._came, _place(asked, one), one.committed_offset)
                self._sent.add((one.partition_index, one.committed_offset))

    def take_commit(
        self,
        asked: OffsetCommitRequest,
        one: OffsetCommitRequestPartition,
        arrival: Arrival,
    ) -> None:
        """Note that a commit was taken.

        Where commits of a member came in another order than it sent them, the lowest may be the one
        that stays.
        """
        place, partition = _place(asked, one), (self._topic_id(), one.partition_index)
        self._note_order(self._taken, place, one.committed_offset)
        offset = one.committed_offset
        if place in self._disordered:
            offset = min(offset, self._checks.acknowledged_now().get(partition, offset))
            self._checks.forget_one(partition)
        generation = asked.generation_id_or_member_epoch
        self._checks.on_committed(generation, arrival, partition, offset)

    def _note_order(self, newest: dict[CommitPlace, int], place: CommitPlace, offset: int) -> None:
        before = newest.get(place, offset)
        if offset < before:
            self._disordered.add(place)
        newest[place] = max(before, offset)

    def _judge(
        self,
        asked: Message,
        answer: Message,
        arrival: Arrival | None,
        acknowledged: Acknowledged,
    ) -> None:
        checks = self._checks
        match asked, answer:
            case SyncGroupRequest(), SyncGroupResponse(error_code=0) if arrival is not None:
                checks.on_synced(asked.generation_id, arrival)
            case HeartbeatRequest(), HeartbeatResponse(error_code=0) if arrival is not None:
                checks.on_heartbeat(asked.generation_id, arrival)
            case OffsetCommitRequest(), OffsetCommitResponse() if arrival is not None:
                self._judge_commit(asked, answer, arrival)
            case OffsetFetchRequest(), OffsetFetchResponse():
                results = self._results(answer)
                checks.on_fetched(results, acknowledged)
                self.check_sent(results)

    def _judge_commit(
        self, asked: OffsetCommitRequest, answer: OffsetCommitResponse, arrival: Arrival
    ) -> None:
        codes = frames.committed_codes(answer)
        for topic in asked.topics:
            for one in topic.partitions:
                if codes.get(one.partition_index) == common_pb2.NONE:
                    self.take_commit(asked, one, arrival)

    def check_sent(self, results: Sequence[OffsetResult]) -> None:
        """Check that somebody sent what was found, and for that partition."""
        for one in results:
            found = one.partition.partition, one.committed.offset
            if one.committed.offset >= 0 and found not in self._sent:
                what = f"{self._topic}-{found[0]}: {found[1]} was found"
                self._report(I25, f"{what}, which nobody has committed there")

    def _results(self, answer: OffsetFetchResponse) -> list[OffsetResult]:
        parts: list[frames.Fetched] = [one for topic in answer.topics for one in topic.partitions]
        for group in answer.groups:
            parts += [one for topic in group.topics for one in topic.partitions]
        return [
            OffsetResult(
                TopicPartition(self._topic, self._topic_id(), one.partition_index),
                CommittedOffset(one.committed_offset),
            )
            for one in parts
            if one.error_code == common_pb2.NONE
        ]


def _place(asked: OffsetCommitRequest, one: OffsetCommitRequestPartition) -> CommitPlace:
    return asked.member_id, asked.generation_id_or_member_epoch, one.partition_index


def _leaving(asked: LeaveGroupRequest, version: int) -> LeaveRequest:
    if version < frames.SEVERAL_LEAVE_FROM:
        return LeaveRequest((LeavingMember(asked.member_id),))
    return LeaveRequest(
        tuple(LeavingMember(one.member_id, one.group_instance_id) for one in asked.members)
    )
