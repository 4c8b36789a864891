"""Reports of damaged, failed and recovered replicas, repeated until the controllers know.

Owns only the queue: the report results from comparing a replica with the newest image, so nothing
outdated is reported. A report carries the partition epoch of that image: a late one has no effect.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import NamedTuple

import structlog

from tidelog.broker.partition.partition import Partition
from tidelog.broker.partition.partition_map import PartitionMap
from tidelog.broker.partition.partition_queue import Key, PartitionQueue
from tidelog.broker.partition.replica_config import ReplicaConfig
from tidelog.core.env import Random
from tidelog.core.errors import TidelogError
from tidelog.metadata.image import PartitionImage
from tidelog.v1 import common_pb2
from tidelog.v1.controller_pb2 import ReportReplicaStateRequest, ReportReplicaStateResponse

ReportReplicaState = Callable[[ReportReplicaStateRequest], Awaitable[ReportReplicaStateResponse]]
# Errors after which there is nothing to report anymore.
_GONE = frozenset({common_pb2.UNKNOWN_TOPIC_ID, common_pb2.UNKNOWN_TOPIC_OR_PARTITION})

log = structlog.get_logger(__name__)


class Trouble(NamedTuple):
    """State of a replica to report."""

    condition: ReportReplicaStateRequest.Condition
    cause: str
    first_bad_offset: int = 0


class _Told(NamedTuple):
    """A part of a report."""

    key: Key
    partition: Partition
    trouble: Trouble


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
        """True when the controllers know of all trouble found."""
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

    async def _send(self) -> None:
        told, request = self._take()
        if not told:
            return
        try:
            response = await self._report_state(request)
        except TidelogError as error:
            log.info("replica state report not answered", error=str(error))
            return
        if response.error.code != common_pb2.NONE or len(response.partitions) != len(told):
            log.info("replica state report refused", error=response.error.message)
            return
        for one, result in zip(told, response.partitions, strict=True):
            if result.error.code == common_pb2.NONE or result.error.code in _GONE:
                self._note_known(one)
            else:
                log.info("replica state report refused", error=result.error.message)

    def _note_known(self, told: _Told) -> None:
        """Dequeue the replica, unless its state has changed since."""
        if told.trouble.condition == ReportReplicaStateRequest.LOSSY_START:
            told.partition.note_loss_reported()
        waiting = self._queue.waiting.get(told.key)
        if waiting is not None and self._trouble(waiting) in (None, told.trouble):
            del self._queue.waiting[told.key]

    def _take(self) -> tuple[list[_Told], ReportReplicaStateRequest]:
        """Parts still to report, in the order of the request."""
        told = []
        request = ReportReplicaStateRequest(
            broker_id=self._broker_id, broker_epoch=self.broker_epoch
        )
        for key, partition in list(self._queue.waiting.items()):
            state = self._partitions.image.partition(partition.topic, partition.partition)
            trouble = self._trouble(partition)
            if state is None or trouble is None:
                del self._queue.waiting[key]
                continue
            told.append(_Told(key, partition, trouble))
            request.partitions.add(
                topic=partition.topic,
                topic_id=partition.topic_id,
                partition=partition.partition,
                partition_epoch=state.partition_epoch,
                first_bad_offset=trouble.first_bad_offset,
                condition=trouble.condition,
                cause=trouble.cause,
            )
        return told, request

    def _trouble(self, partition: Partition) -> Trouble | None:
        """State to report of a replica that is still held, by the newest image."""
        state = self._partitions.image.partition(partition.topic, partition.partition)
        is_held = self._partitions.held.get((partition.topic, partition.partition)) is partition
        if state is None or not is_held:
            return None
        return trouble_of(partition, is_offline=self._broker_id in state.offline)


def trouble_of(partition: Partition, *, is_offline: bool) -> Trouble | None:
    """Compare a replica with the image, in which it is offline or not; None if they agree."""
    if partition.may_have_lost:
        return Trouble(
            ReportReplicaStateRequest.LOSSY_START, "more than an unfinished write was wrong"
        )
    if partition.failure is not None:
        is_lossy = partition.has_failed_sync
        condition = (
            ReportReplicaStateRequest.SYNC_FAILED if is_lossy else ReportReplicaStateRequest.OFFLINE
        )
        return Trouble(condition, partition.failure)
    damage = partition.damage
    if damage is not None:
        return Trouble(ReportReplicaStateRequest.DAMAGED, damage.reason, damage.first_bad_offset)
    if is_offline and partition.is_open:
        return Trouble(ReportReplicaStateRequest.ONLINE, "")
    return None
