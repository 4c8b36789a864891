"""Looks at a group from outside, by clients without membership; and commits that come late.

Owns the newest description of the group. What is looked up of committed offsets is written down.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from tidelog.chaos.workloads.group_book import GroupBook
from tidelog.chaos.workloads.plans import GROUP, SHARED
from tidelog.chaos.workloads.workload_port import WorkloadPort
from tidelog.client import Consumer, TopicPartition
from tidelog.client.admin import Admin
from tidelog.client.errors import TidelogError, UnreachableError
from tidelog.client.groups.group_state import GroupDescription
from tidelog.client.unwinding import unwind
from tidelog.history.history import Commit, Committed, Outcome
from tidelog.net.transport import Transport
from tidelog.v1 import common_pb2
from tidelog.v1.coordinator_pb2 import OffsetCommitRequest, OffsetCommitResponse
from tidelog.v1.methods import OFFSET_COMMIT

LOOK_S, OFFSETS_S = 0.2, 0.5
"""Intervals of looks at the group, and of look-ups of its committed offsets."""
ASK_MS = 2_000


@dataclass(frozen=True, slots=True)
class GroupView:
    """A description of the group, and when it was asked for."""

    at_s: float
    group: GroupDescription

    def __str__(self) -> str:
        """For people."""
        group = self.group
        return f"epoch {group.epoch}, {group.state}, {len(group.members)} members"


@dataclass(frozen=True, slots=True)
class LateCommit:
    """A commit as a member might have sent it some time ago."""

    member: str
    """Member id; empty: without membership."""
    epoch: int
    """Member epoch; -1 without membership."""
    partition: int
    offset: int


class GroupLooks:
    """From `start` to `close`."""

    def __init__(self, port: WorkloadPort, book: GroupBook, *, partitions: int) -> None:
        self.view: GroupView | None = None
        self._port = port
        self._book = book
        self._all = [TopicPartition(SHARED, number) for number in range(partitions)]
        ports = port.client_ports("group-admin")
        self._transport: Transport = ports["transport"]
        self._admin = Admin(
            port.bootstrap, request_timeout_ms=ASK_MS, api_timeout_ms=ASK_MS, **ports
        )
        self._reader: Consumer[Any, Any] = Consumer(
            port.bootstrap,
            group_id=GROUP,
            request_timeout_ms=ASK_MS,
            api_timeout_ms=ASK_MS,
            **port.client_ports("group-reader"),
        )
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Look again and again."""
        self._tasks = [
            asyncio.create_task(self._look_forever(), name="group-looks"),
            asyncio.create_task(self._fetch_forever(), name="group-offsets"),
        ]

    async def stop(self) -> None:
        """Look no more."""
        tasks, self._tasks = self._tasks, []
        await unwind(tasks)

    async def close(self) -> None:
        """Release the clients."""
        await self.stop()
        await self._admin.close()
        await self._reader.close()

    async def _look_forever(self) -> None:
        while True:
            asked_s = self._port.now_s
            with contextlib.suppress(TidelogError):
                found = (await self._admin.describe_groups([GROUP]))[GROUP]
                if isinstance(found, GroupDescription):
                    self._note(GroupView(asked_s, found))
            await asyncio.sleep(LOOK_S)

    def _note(self, view: GroupView) -> None:
        before, self.view = self.view, view
        if str(before) != str(view):
            self._port.note("group", str(view))

    # Committed offsets

    async def _fetch_forever(self) -> None:
        while True:
            with contextlib.suppress(TidelogError):
                await self.look_up()
            await asyncio.sleep(OFFSETS_S)

    async def look_up(self, *, is_final: bool = False) -> Mapping[int, int]:
        """Look up the committed offsets, and write it down; by partition. Raises KafkaError."""
        invoked_s = self._port.now_s
        found = await self._reader.committed(self._all)
        for tp, committed in found.items():
            self._book.add(
                Committed(
                    process="group-reader",
                    number=self._book.next_number(),
                    group=GROUP,
                    topic=tp.topic,
                    incarnation=0,
                    partition=tp.partition,
                    invoked_s=invoked_s,
                    ended_s=self._port.now_s,
                    offset=None if committed is None else committed.offset,
                    is_final=is_final,
                )
            )
        return {tp.partition: one.offset for tp, one in found.items() if one is not None}

    async def is_all_committed(self) -> bool:
        """True if the group has committed every record that is there."""
        try:
            committed = await self.look_up()
            ends = await self._reader.end_offsets(self._all)
        except TidelogError:
            return False
        return all(committed.get(tp.partition, 0) == end for tp, end in ends.items())

    async def commit_late(self, late: LateCommit, node_id: int) -> int:
        """Send such a commit to a node, once; return the error's code, and write the outcome down.

        What is not answered has the code of `CallFailedError` or `UnreachableError`.
        """
        begun = self._begun(late)
        self._book.begin(begun)
        request = OffsetCommitRequest(
            group_id=GROUP, member_id=late.member, member_epoch=late.epoch
        )
        topic = request.topics.add(topic=SHARED)
        topic.partitions.add(partition=late.partition, offset=late.offset)
        try:
            response = await self._transport.call(
                self._port.address_of(node_id), OFFSET_COMMIT, request, timeout_ms=ASK_MS
            )
        except TidelogError as error:
            outcome: Outcome = "fail" if isinstance(error, UnreachableError) else "unknown"
            self._end(begun, outcome, str(error))
            return error.code
        code = _code_of(response)
        is_unknown = code == common_pb2.REQUEST_TIMED_OUT
        self._end(begun, "ok" if not code else "unknown" if is_unknown else "fail", f"{code}")
        return code

    def _begun(self, late: LateCommit) -> Commit:
        return Commit(
            process="late-request",
            number=self._book.next_number(),
            group=GROUP,
            topic=SHARED,
            incarnation=0,
            partition=late.partition,
            offset=late.offset,
            invoked_s=self._port.now_s,
            outcome="unknown",
            member=late.member,
            epoch=max(0, late.epoch),
        )

    def _end(self, begun: Commit, outcome: Outcome, reason: str) -> None:
        ended_s = self._port.now_s
        self._book.end(replace(begun, outcome=outcome, reason=reason, ended_s=ended_s))


def _code_of(response: OffsetCommitResponse) -> int:
    codes = [response.error.code]
    codes += [one.error.code for topic in response.topics for one in topic.partitions]
    return next((code for code in codes if code != common_pb2.NONE), common_pb2.NONE)
