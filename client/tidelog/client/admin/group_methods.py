"""Methods of the admin client about consumer groups and their committed offsets."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from tidelog.client.backoff import Backoff
from tidelog.client.errors import (
    NonEmptyGroupError,
    TidelogError,
    UnknownMemberIdError,
    error_from_wire,
    raise_for,
)
from tidelog.client.groups.coordinator_calls import RETRIED, CoordinatorCalls
from tidelog.client.groups.group_state import (
    GroupDescription,
    GroupListing,
    GroupOffset,
    describe,
)
from tidelog.client.groups.listener import OffsetAndMetadata
from tidelog.client.partition_arguments import Partitions, partitions_of
from tidelog.client.records import TopicPartition
from tidelog.client.routing import Routing
from tidelog.v1 import common_pb2
from tidelog.v1.coordinator_pb2 import (
    DeleteGroupsRequest,
    DescribeGroupsRequest,
    FindCoordinatorRequest,
    ListGroupsRequest,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
)
from tidelog.v1.data_pb2 import MetadataRequest
from tidelog.v1.methods import (
    DELETE_GROUPS,
    DESCRIBE_GROUPS,
    FIND_COORDINATOR,
    LIST_GROUPS,
    METADATA,
    OFFSET_COMMIT,
    OFFSET_DELETE,
    OFFSET_FETCH,
    Method,
)

NOBODY_EPOCH = -1
PARTITIONS_MAX = 5_000
"""Partitions of one request; more are asked for in several."""
Outcomes: TypeAlias = dict[TopicPartition, TidelogError | None]


class GroupMethods(ABC):
    """Part of `Admin`."""

    _routing: Routing
    _request_timeout_ms: int
    _api_timeout_ms: int
    _backoff = Backoff()

    @abstractmethod
    async def __aenter__(self) -> object: ...

    @abstractmethod
    async def __aexit__(self, *exc_info: object) -> None: ...

    @abstractmethod
    async def close(self) -> None:
        """See `Admin.close`."""

    async def list_groups(self) -> list[GroupListing]:
        """List the groups of all brokers, by id. Raises the first broker's error."""
        request = MetadataRequest(topics=[""])  # no topic, and not all of them
        metadata = await self._routing.call_any(
            METADATA, request, timeout_ms=self._request_timeout_ms
        )
        listings = await asyncio.gather(
            *(self._list(one.node_id, one.address) for one in metadata.brokers)
        )
        return sorted(one for listing in listings for one in listing)

    async def _list(self, broker_id: int, address: str) -> list[GroupListing]:
        found: list[GroupListing] = []
        request = ListGroupsRequest()
        deadline_ms = self._routing.clock.monotonic_ms() + self._api_timeout_ms
        failures = 0
        while True:
            response = await self._routing.transport.call(
                address, LIST_GROUPS, request, timeout_ms=self._request_timeout_ms
            )
            if response.error.code != common_pb2.NONE:
                failures += 1
                await self._pause(error_from_wire(response.error), failures, deadline_ms)
                continue
            found += [
                GroupListing(one.group_id, one.type, one.state, one.members, broker_id)
                for one in response.groups
            ]
            if not response.has_more:
                return found
            request.after_group_id = found[-1].group_id

    async def _pause(self, error: TidelogError, failures: int, deadline_ms: int) -> None:
        delay_ms = self._backoff.delay_ms(failures, self._routing.random)
        is_late = self._routing.clock.monotonic_ms() + delay_ms >= deadline_ms
        if is_late or error.code not in RETRIED:
            raise error
        await asyncio.sleep(delay_ms / 1000)

    async def describe_groups(
        self, group_ids: Iterable[str]
    ) -> dict[str, GroupDescription | TidelogError]:
        """Describe groups: state, members, last rebalances; or why not, as GroupIdNotFoundError."""

        async def one(group_id: str) -> GroupDescription:
            request = DescribeGroupsRequest(group_ids=[group_id])
            group = await self._ask_group(group_id, DESCRIBE_GROUPS, request)
            return describe(group, await self._coordinator_of(group_id))

        return {name: await _outcome(one, name) for name in dict.fromkeys(group_ids)}

    async def delete_groups(self, group_ids: Iterable[str]) -> dict[str, TidelogError | None]:
        """Delete groups without members, and their offsets; None, or why one was not deleted."""

        async def one(group_id: str) -> None:
            request = DeleteGroupsRequest(group_ids=[group_id])
            await self._ask_group(group_id, DELETE_GROUPS, request)

        return {name: await _outcome(one, name) for name in dict.fromkeys(group_ids)}

    async def list_group_offsets(self, group_id: str) -> dict[TopicPartition, GroupOffset]:
        """List a group's committed offsets, by topic and partition. Raises KafkaError."""
        found: dict[TopicPartition, GroupOffset] = {}
        request = OffsetFetchRequest(group_id=group_id, member_epoch=NOBODY_EPOCH)
        while True:
            response = await self._ask_coordinator(group_id, OFFSET_FETCH, lambda: request)
            raise_for(response.error)
            for topic in response.topics:
                for one in topic.partitions:
                    epoch = one.leader_epoch if one.HasField("leader_epoch") else None
                    found[TopicPartition(topic.topic, one.partition)] = GroupOffset(
                        one.offset, one.metadata, epoch, one.committed_ms
                    )
            if not response.has_more:
                return dict(sorted(found.items()))
            request.after_topic, request.after_partition = max(found)

    async def alter_group_offsets(
        self, group_id: str, offsets: Mapping[tuple[str, int], OffsetAndMetadata | int]
    ) -> Outcomes:
        """Commit offsets for a group without members; by partition None, or why not.

        Raises NonEmptyGroupError, InvalidGroupIdError.
        """
        outcomes: Outcomes = {}
        listed = list(offsets.items())
        for first in range(0, len(listed), PARTITIONS_MAX):
            request = OffsetCommitRequest(group_id=group_id, member_epoch=NOBODY_EPOCH)
            topics: dict[str, OffsetCommitRequest.Topic] = {}
            for (topic, partition), given in listed[first : first + PARTITIONS_MAX]:
                one = given if isinstance(given, OffsetAndMetadata) else OffsetAndMetadata(given)
                if topic not in topics:
                    topics[topic] = request.topics.add(topic=topic)
                topics[topic].partitions.add(
                    partition=partition,
                    offset=one.offset,
                    leader_epoch=one.leader_epoch,
                    metadata=one.metadata,
                )
            outcomes |= await self._change_offsets(group_id, OFFSET_COMMIT, request)
        return outcomes

    async def delete_group_offsets(self, group_id: str, partitions: Partitions) -> Outcomes:
        """Delete committed offsets of topics without subscribers; by partition None, or why not.

        Raises GroupIdNotFoundError, InvalidGroupIdError.
        """
        request = OffsetDeleteRequest(group_id=group_id)
        numbers: dict[str, list[int]] = {}
        for topic, partition in partitions_of(partitions, method="delete_group_offsets"):
            numbers.setdefault(topic, []).append(partition)
        for topic, of_topic in numbers.items():
            request.topics.add(topic=topic, partitions=of_topic)
        return await self._change_offsets(group_id, OFFSET_DELETE, request)

    async def _change_offsets(
        self, group_id: str, method: Method[Any, Any], request: Any
    ) -> Outcomes:
        response = await self._ask_coordinator(group_id, method, lambda: request)
        try:
            raise_for(response.error)
        except UnknownMemberIdError as error:
            raise NonEmptyGroupError(f"group {group_id!r} has members: stop them first") from error
        return {
            TopicPartition(topic.topic, one.partition): (
                error_from_wire(one.error) if one.error.code != common_pb2.NONE else None
            )
            for topic in response.topics
            for one in topic.partitions
        }

    # Coordinators

    def _calls(self, group_id: str) -> CoordinatorCalls:
        return CoordinatorCalls(
            self._routing,
            group_id,
            backoff=self._backoff,
            request_timeout_ms=self._request_timeout_ms,
        )

    async def _ask_coordinator(
        self, group_id: str, method: Method[Any, Any], make: Callable[[], Any]
    ) -> Any:  # any answer of a coordinator
        calls = self._calls(group_id)
        return await calls.call(method, make, timeout_ms=self._api_timeout_ms)

    async def _ask_group(
        self, group_id: str, method: Method[Any, Any], request: Any
    ) -> Any:  # the group's part of either answer
        """Ask about one group by a request that may name several. Raises the group's error."""
        calls = self._calls(group_id)
        deadline_ms = self._routing.clock.monotonic_ms() + self._api_timeout_ms
        failures = 0
        while True:
            response = await calls.call(method, lambda: request, timeout_ms=self._api_timeout_ms)
            (group,) = response.groups
            if group.error.code not in RETRIED:
                raise_for(group.error)
                return group
            failures += 1
            await calls.pause(calls.refused(group), failures, deadline_ms)

    async def _coordinator_of(self, group_id: str) -> int:
        request = FindCoordinatorRequest(group_ids=[group_id])
        found = await self._routing.call_any(
            FIND_COORDINATOR, request, timeout_ms=self._request_timeout_ms
        )
        broker_id: int = found.coordinators[0].broker.node_id
        return broker_id


async def _outcome(ask: Callable[[str], Any], group_id: str) -> Any:  # of either kind
    try:
        return await ask(group_id)
    except TidelogError as error:
        return error
