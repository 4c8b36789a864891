"""Commits of a tool: of a group without members, with leader epochs that no leader has had.

As Kafka, a coordinator takes any epoch: tools carry offsets over from other clusters.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import replace

from tidelog.broker.coordinator.committer import Committer
from tidelog.broker.coordinator.offsets import CommittedOffset
from tidelog.core.chance import SeededRandom
from tidelog.core.errors import TidelogError
from tidelog.kafka.messages.find_coordinator_response import FindCoordinatorResponse
from tidelog.kafka.messages.offset_commit_response import OffsetCommitResponse
from tidelog.simulation.wire import group_frames as frames
from tidelog.simulation.wire.group_frames import GroupTopic, UnknownAnswerError
from tidelog.simulation.wire.wire_client import WireClient
from tidelog.simulation.wire.wire_producer import UNEXPECTED

USED_PROBABILITY = 0.5
"""Share of the members beside which a tool commits."""
DUE_PROBABILITY = 0.3
AHEAD_MAX = 1_000
EPOCHS_FROM = 6
"""First version of OffsetCommit that names leader epochs."""
TOOL_GROUP = "of-a-tool"


class ToolCommits:
    """The tool beside one member; `client` is its own way to the cluster."""

    def __init__(self, client: WireClient, random: SeededRandom) -> None:
        self._client = client
        self._versions = client.versions.of_groups
        self._random = random
        self._is_used = random.random() < USED_PROBABILITY
        self._task: asyncio.Task[None] | None = None

    def commit(self, of: GroupTopic, partition: int, at: CommittedOffset) -> None:
        """Now and then have the same offset committed for the tool's group, beside the member."""
        is_idle = self._task is None or self._task.done()
        if self._is_used and is_idle and self._random.random() < DUE_PROBABILITY:
            epoch = max(0, at.leader_epoch) + self._random.randrange(1, AHEAD_MAX)
            ahead = at._replace(leader_epoch=epoch)
            trying = self._try(replace(of, group_id=TOOL_GROUP), partition, ahead)
            self._task = asyncio.create_task(self._judge(trying, epoch), name=self._client.name)

    async def _judge(self, trying: Coroutine[None, None, None], epoch: int) -> None:
        try:
            await trying
        except UnknownAnswerError as error:
            self._client.checks.report(UNEXPECTED, f"{TOOL_GROUP}, epoch {epoch}: {error}")
        except TidelogError:
            return  # a broker is not there, as for other clients

    async def _try(self, of: GroupTopic, partition: int, committed: CommittedOffset) -> None:
        version = self._versions[frames.FIND_COORDINATOR]
        request = frames.find_request(of.group_id, version)
        answer = await self._client.any_call(request, version, FindCoordinatorResponse)
        link = await self._client.link_to(frames.found(answer, version))
        version = max(EPOCHS_FROM, self._versions[frames.OFFSET_COMMIT])
        message = frames.commit_request(of, Committer(), partition, committed, version)
        done = await link.call(
            message, version, OffsetCommitResponse, timeout_s=self._client.timeout_s
        )
        frames.check(frames.OFFSET_COMMIT, frames.committed_codes(done)[partition])
        self._client.checks.count("tool_commits")
