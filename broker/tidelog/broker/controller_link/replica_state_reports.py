"""Reports of damaged, failed and recovered replicas, repeated until the controllers know.

Owns only the queue: the report results from comparing a replica with the newest image, so nothing
outdated is reported. A report carries the partition epoch of that image: a late one has no effect.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import NamedTuple

from tidelog.broker.partition.partition import Partition
from tidelog.broker.partition.partition_map import PartitionMap
from tidelog.broker.partition.partition_queue import (
    PARTITIONS_PER_REQUEST_MAX,
    Key,
    PartitionQueue,
)
from tidelog.broker.partition.replica_config import ReplicaConfig
from tidelog.core.env import Random
from tidelog.core.errors import TidelogError
from tidelog.core.logs import get_logger
from tidelog.metadata.image import PartitionImage
from tidelog.v1 import common_pb2
from tidelog.v1.controller_pb2 import ReportReplicaStateRequest, ReportReplicaStateResponse

ReportReplicaState = Callable[[ReportReplicaStateRequest], Awaitable[ReportReplicaStateResponse]]
# Errors after which there is nothing to report anymore.
_GONE = frozenset({common_pb2.UNKNOWN_TOPIC_ID, common_pb2.UNKNOWN_TOPIC_OR_PARTITION})

log = get_logger(__name__)


class ReplicaState(NamedTuple):
    """State of a replica to report."""

    condition: ReportReplicaStateRequest.Condition
    cause: str
    first_bad_offset: int = 0
    served_epoch: int = -1
    """Newest leader epoch the replica served in, of a damaged one."""


class _SentPart(NamedTuple):
    """A replica in a request that was sent."""

    key: Key
    partition: Partition
    found: ReplicaState


class ReplicaStateReports:
    """Sender of submitted replicas' states, repeated until known or obsolete."""

    def __init__(
        self,
        *,
        broker_id: int,
        partitions: PartitionMap,
        report_state: ReportReplicaState,
        random: Random,
        config: ReplicaConfig,
    ) -> None:
        self.broker_epoch = -1
        self._broker_id = broker_id
        self._partitions = partitions
        self._report_state = report_state
        self._queue = PartitionQueue(random=random, config=config)

    @property
    def is_idle(self) -> bool:
        """True when the controllers know of every state found."""
        return not self._queue.waiting

    def submit(self, partition: Partition) -> None:
        """Queue a replica whose log was found damaged, or whose disk failed or works again."""
        self._queue.submit(partition)

    def note_state(self, partition: Partition, state: PartitionImage) -> None:
        """Compare with the image's state; queue the replica if its disk's state differs."""
        if (partition.failure is not None) != (self._broker_id in state.offline):
            self._queue.submit(partition)

    async def run(self) -> None:
        """Report until cancelled."""
        await self._queue.run(self._send)

    async def _send(self) -> bool:
        before = len(self._queue.waiting)
        sent, request = self._build_request()
        if not sent:
            return False
        try:
            response = await self._report_state(request)
        except TidelogError as error:
            log.info("replica state report not answered", error=str(error))
            return False
        if response.error.code != common_pb2.NONE or len(response.partitions) != len(sent):
            log.info("replica state report refused", error=response.error.message)
            return False
        for part, result in zip(sent, response.partitions, strict=True):
            if result.error.code == common_pb2.NONE or result.error.code in _GONE:
                self._note_known(part)
            else:
                log.info("replica state report refused", error=result.error.message)
        return before > len(sent) and len(self._queue.waiting) < before

    def _note_known(self, part: _SentPart) -> None:
        """Dequeue the replica, unless its state has changed since."""
        if part.found.condition == ReportReplicaStateRequest.LOSSY_START:
            part.partition.note_loss_reported()
        waiting = self._queue.waiting.get(part.key)
        if waiting is not None and self._state_to_report(waiting) in (None, part.found):
            del self._queue.waiting[part.key]

    def _build_request(self) -> tuple[list[_SentPart], ReportReplicaStateRequest]:
        """Build a request of the first states still to report; its parts, in its order.

        These are the last from now on, so that none waits for others that are refused.
        """
        sent: list[_SentPart] = []
        request = ReportReplicaStateRequest(
            broker_id=self._broker_id, broker_epoch=self.broker_epoch
        )
        for key, partition in list(self._queue.waiting.items()):
            state = self._partitions.image.partition(partition.topic, partition.partition)
            found = self._state_to_report(partition)
            if state is None or found is None:
                del self._queue.waiting[key]
                continue
            if len(sent) == PARTITIONS_PER_REQUEST_MAX:
                break
            self._queue.waiting[key] = self._queue.waiting.pop(key)
            sent.append(_SentPart(key, partition, found))
            request.partitions.add(
                topic=partition.topic,
                topic_id=partition.topic_id,
                partition=partition.partition,
                partition_epoch=state.partition_epoch,
                first_bad_offset=found.first_bad_offset,
                condition=found.condition,
                cause=found.cause,
                served_leader_epoch=found.served_epoch,
            )
        return sent, request

    def _state_to_report(self, partition: Partition) -> ReplicaState | None:
        """State to report of a replica that is still held, by the newest image."""
        state = self._partitions.image.partition(partition.topic, partition.partition)
        is_held = self._partitions.held.get((partition.topic, partition.partition)) is partition
        if state is None or not is_held:
            return None
        return state_to_report(partition, is_offline=self._broker_id in state.offline)


def state_to_report(partition: Partition, *, is_offline: bool) -> ReplicaState | None:
    """Compare a replica with the image, in which it is offline or not; None if they agree."""
    if partition.may_have_lost:
        return ReplicaState(
            ReportReplicaStateRequest.LOSSY_START, "more than an unfinished write was wrong"
        )
    if partition.failure is not None:
        is_lossy = partition.has_failed_sync
        condition = (
            ReportReplicaStateRequest.SYNC_FAILED if is_lossy else ReportReplicaStateRequest.OFFLINE
        )
        return ReplicaState(condition, partition.failure)
    damage = partition.damage
    if damage is not None:
        return ReplicaState(
            ReportReplicaStateRequest.DAMAGED,
            damage.reason,
            damage.first_bad_offset,
            partition.replica.served_epoch,
        )
    if is_offline and partition.is_open:
        return ReplicaState(ReportReplicaStateRequest.ONLINE, "")
    return None
