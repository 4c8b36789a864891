"""Commits of a group's offsets, one after the other, and look-ups of committed ones."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from tidelog.client.errors import (
    CommitFailedError,
    TidelogError,
    UnstableOffsetCommitError,
    error_from_wire,
)
from tidelog.client.groups.coordinator_calls import CoordinatorCalls
from tidelog.client.groups.listener import OffsetAndMetadata
from tidelog.client.groups.membership import Membership, PartitionId
from tidelog.client.records import TopicPartition
from tidelog.v1 import common_pb2
from tidelog.v1.coordinator_pb2 import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
)
from tidelog.v1.methods import OFFSET_COMMIT, OFFSET_FETCH

PARTITIONS_MAX = 5_000
"""Partitions of one request; more are asked for in several."""
EPOCH_POLL_S = 0.02
"""Interval of looks for a newer epoch, when a commit came with an old one."""
_FENCED = frozenset(
    {
        common_pb2.UNKNOWN_MEMBER_ID,
        common_pb2.FENCED_MEMBER_EPOCH,
        common_pb2.FENCED_INSTANCE_ID,
        common_pb2.ILLEGAL_GENERATION,
    }
)
_NOBODY_EPOCH = -1


class Found(NamedTuple):
    """A partition that was looked up."""

    tp: TopicPartition
    topic_id: bytes
    committed: OffsetAndMetadata | None
    """None: nothing is committed."""


class Turn:
    """Place of a commit among those of one consumer."""

    def __init__(
        self, before: asyncio.Future[None] | None, incarnation: int, releases: int
    ) -> None:
        self.incarnation = incarnation
        """Incarnation of the membership at the call; a later one has lost the partitions."""
        self.releases = releases
        """Number of times that partitions had been let go of."""
        self._before = before
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def __aenter__(self) -> None:
        if self._before is not None:
            try:
                await asyncio.shield(self._before)
            except asyncio.CancelledError:
                self.end()
                raise

    async def __aexit__(self, *exc_info: object) -> None:
        self.end()

    def end(self) -> None:
        """Let the next one begin, once all before have ended."""
        if self._before is not None and not self._before.done():
            self._before.add_done_callback(lambda _: self.end())
        elif not self.ended.done():
            self.ended.set_result(None)


class CommittedOffsets:
    """Offsets of one group at its coordinator.

    `is_subscribed`: the consumer is a member, or about to be: it does not commit as nobody.
    """

    def __init__(
        self,
        calls: CoordinatorCalls,
        membership: Membership,
        *,
        is_subscribed: Callable[[], bool],
        start_timeout_ms: int,
    ) -> None:
        self._start_timeout_ms = start_timeout_ms
        self._calls = calls
        self._membership = membership
        self._is_subscribed = is_subscribed
        self._last: asyncio.Future[None] | None = None
        self._releases = 0
        self._released_at: dict[TopicPartition, int] = {}

    def take_turn(self) -> Turn:
        """Take the place after all commits that were called for before; `commit` gives it back."""
        turn = Turn(self._last, self._membership.incarnation, self._releases)
        self._last = turn.ended
        return turn

    def note_released(self, partitions: Iterable[TopicPartition]) -> None:
        """Note partitions that were let go of: no commit that was called for before goes on."""
        self._releases += 1
        self._released_at.update(dict.fromkeys(partitions, self._releases))

    async def commit(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        topic_ids: Mapping[TopicPartition, bytes],
        *,
        turn: Turn,
        timeout_ms: int,
    ) -> None:
        """Commit offsets, when it is their turn.

        `topic_ids`: incarnations of topics, where they are known. Raises `CommitFailedError` when
        the partitions are another member's by now; the error of the first partition that was
        refused; and the last error after `timeout_ms`. Their `is_outcome_unknown` tells whether an
        attempt may have been carried out all the same.
        """
        async with turn:
            listed = list(offsets.items())
            for first in range(0, len(listed), PARTITIONS_MAX):
                part = dict(listed[first : first + PARTITIONS_MAX])
                unsure: list[TidelogError] = []
                try:
                    await self._commit(part, topic_ids, turn, unsure, timeout_ms)
                except TidelogError as error:
                    error.is_outcome_unknown = error.is_outcome_unknown or bool(unsure)
                    raise

    async def _commit(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        topic_ids: Mapping[TopicPartition, bytes],
        turn: Turn,
        unsure: list[TidelogError],
        timeout_ms: int,
    ) -> None:
        """Commit a part; put the error of an attempt with an unknown outcome into `unsure`."""
        clock, membership = self._calls.routing.clock, self._membership
        deadline_ms = clock.monotonic_ms() + timeout_ms
        while True:
            request = self._request(offsets, topic_ids)
            left_ms = max(1, deadline_ms - clock.monotonic_ms())

            def make(request: OffsetCommitRequest = request) -> OffsetCommitRequest:
                # Before each attempt: the member may have its old epoch again, or the partition.
                self._check_owned(offsets, turn)
                request.sequence = membership.next_number()
                return request

            def note(error: TidelogError) -> None:
                if error.is_outcome_unknown and not unsure:
                    unsure.append(error)

            response = await self._calls.call(
                OFFSET_COMMIT, make, timeout_ms=left_ms, on_retry=note
            )
            if response.error.code == common_pb2.STALE_MEMBER_EPOCH and left_ms > 1:
                await self._newer_epoch(request.member_epoch, deadline_ms)
                continue
            _raise_for(response)
            return

    def _check_owned(self, offsets: Iterable[TopicPartition], turn: Turn) -> None:
        """Raise `CommitFailedError` when something was lost or let go of since the call."""
        if self._membership.incarnation != turn.incarnation:
            raise CommitFailedError("the member was fenced: its partitions are not its own now")
        for tp in offsets:
            if self._released_at.get(tp, 0) > turn.releases:
                raise CommitFailedError(f"{tp.topic}-{tp.partition} was let go of meanwhile")

    def _request(
        self,
        offsets: Mapping[TopicPartition, OffsetAndMetadata],
        topic_ids: Mapping[TopicPartition, bytes],
    ) -> OffsetCommitRequest:
        membership = self._membership
        request = OffsetCommitRequest(group_id=membership.group_id, member_epoch=_NOBODY_EPOCH)
        if self._is_subscribed() and not membership.is_member:
            raise CommitFailedError("the consumer is no member of the group now: it joins again")
        if membership.is_member:
            request.member_id, request.member_epoch = membership.member_id, membership.epoch
            if membership.instance_id is not None:
                request.instance_id = membership.instance_id
        topics: dict[str, OffsetCommitRequest.Topic] = {}
        for tp, committed in offsets.items():
            topic = topics.get(tp.topic)
            if topic is None:
                topic = topics[tp.topic] = request.topics.add(
                    topic=tp.topic, topic_id=topic_ids.get(tp, b"")
                )
            topic.partitions.add(
                partition=tp.partition,
                offset=committed.offset,
                leader_epoch=committed.leader_epoch,
                metadata=committed.metadata,
            )
        return request

    async def _newer_epoch(self, epoch: int, deadline_ms: int) -> None:
        """Wait until the member knows a newer epoch than its commit had."""
        clock = self._calls.routing.clock
        while self._membership.epoch == epoch:
            if clock.monotonic_ms() >= deadline_ms:
                raise CommitFailedError(f"the member's epoch {epoch} is old, and no newer one came")
            await asyncio.sleep(EPOCH_POLL_S)

    # Look-ups

    async def fetch(
        self, partitions: Iterable[TopicPartition], *, timeout_ms: int
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """Look up committed offsets; None where nothing is committed. Raises the first error."""
        wanted = list(dict.fromkeys(partitions))
        found: dict[TopicPartition, OffsetAndMetadata | None] = {}
        for first in range(0, len(wanted), PARTITIONS_MAX):
            request = OffsetFetchRequest(
                group_id=self._membership.group_id, member_epoch=_NOBODY_EPOCH
            )
            numbers: dict[str, list[int]] = {}
            for tp in wanted[first : first + PARTITIONS_MAX]:
                numbers.setdefault(tp.topic, []).append(tp.partition)
            for topic, of_topic in numbers.items():
                request.topics.add(topic=topic, partitions=of_topic)
            for one in await self._fetch(request, timeout_ms=timeout_ms):
                if isinstance(one, TidelogError):
                    raise one
                found[one.tp] = one.committed
        return {tp: found[tp] for tp in wanted}

    async def find_start(self, tp: TopicPartition) -> tuple[int, bytes] | None:
        """Look up one committed offset, and the incarnation of the topic; None: there is none.

        Raises as `fetch`.
        """
        request = OffsetFetchRequest(group_id=self._membership.group_id, member_epoch=_NOBODY_EPOCH)
        request.topics.add(topic=tp.topic, partitions=[tp.partition])
        (found,) = await self._fetch(request, timeout_ms=self._start_timeout_ms)
        if isinstance(found, TidelogError):
            raise found
        return None if found.committed is None else (found.committed.offset, found.topic_id)

    async def fetch_assigned(
        self, partitions: Sequence[PartitionId], *, timeout_ms: int
    ) -> list[Found]:
        """Look up partitions by topic id, and their names; those of deleted topics are left out."""
        request = OffsetFetchRequest(group_id=self._membership.group_id, member_epoch=_NOBODY_EPOCH)
        by_topic: dict[bytes, list[int]] = {}
        for topic_id, number in sorted(partitions):
            by_topic.setdefault(topic_id, []).append(number)
        for topic_id, numbers in by_topic.items():
            request.topics.add(topic_id=topic_id, partitions=numbers)
        results = await self._fetch(request, timeout_ms=timeout_ms)
        return [one for one in results if isinstance(one, Found)]

    async def _fetch(
        self, request: OffsetFetchRequest, *, timeout_ms: int
    ) -> list[Found | TidelogError]:
        """Ask for offsets that no open transaction may change; wait for the end of those (KIP-447).

        Who began to read below a transaction's offsets would read twice what it has processed.
        """
        request.require_stable = True
        clock, failures = self._calls.routing.clock, 0
        deadline_ms = clock.monotonic_ms() + timeout_ms
        while True:
            left_ms = max(1, deadline_ms - clock.monotonic_ms())
            response = await self._calls.call(OFFSET_FETCH, lambda: request, timeout_ms=left_ms)
            if response.error.code != common_pb2.NONE:
                raise error_from_wire(response.error)
            found = [_found(topic, one) for topic in response.topics for one in topic.partitions]
            unstable = next(
                (one for one in found if isinstance(one, UnstableOffsetCommitError)), None
            )
            if unstable is None:
                return found
            failures += 1
            await self._calls.pause(unstable, failures, deadline_ms)


def _found(
    topic: OffsetFetchResponse.Topic, one: OffsetFetchResponse.Partition
) -> Found | TidelogError:
    if one.error.code != common_pb2.NONE:
        return error_from_wire(one.error)
    committed = None
    if one.offset >= 0:
        epoch = one.leader_epoch if one.HasField("leader_epoch") else None
        committed = OffsetAndMetadata(one.offset, one.metadata, epoch)
    return Found(TopicPartition(topic.topic, one.partition), topic.topic_id, committed)


def _raise_for(response: OffsetCommitResponse) -> None:
    code = response.error.code
    if code in _FENCED or code == common_pb2.STALE_MEMBER_EPOCH:
        raise CommitFailedError(f"the offsets were not committed: {response.error.message}")
    if code != common_pb2.NONE:
        raise error_from_wire(response.error)
    for topic in response.topics:
        for one in topic.partitions:
            if one.error.code == common_pb2.STALE_MEMBER_EPOCH:
                raise CommitFailedError(f"not committed: {one.error.message}")
            if one.error.code != common_pb2.NONE:
                raise error_from_wire(one.error)
