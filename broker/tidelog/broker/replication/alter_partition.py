"""ISR changes proposed to the controller: one AlterPartition request at a time, for the next ones.

A request contains each leader's current proposal, so nothing outdated is sent. Its attempts are
numbered (`tidelog.metadata.attempts`): a decision on one is final, since no earlier attempt is
processed after it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from tidelog.broker.partition.partition import Partition
from tidelog.broker.partition.partition_map import PartitionMap
from tidelog.broker.partition.partition_queue import PARTITIONS_PER_REQUEST_MAX, PartitionQueue
from tidelog.broker.partition.replica_config import ReplicaConfig
from tidelog.broker.replica.events import IsrAnswered
from tidelog.core.env import Random
from tidelog.core.errors import TidelogError
from tidelog.core.logs import get_logger
from tidelog.v1 import common_pb2
from tidelog.v1.controller_pb2 import AlterPartitionRequest, AlterPartitionResponse

AlterPartition = Callable[[AlterPartitionRequest], Awaitable[AlterPartitionResponse]]

log = get_logger(__name__)


class IsrProposals:
    """Sender of submitted partitions' proposals; `is_held` tells if no ISR may change now."""

    def __init__(
        self,
        *,
        broker_id: int,
        partitions: PartitionMap,
        alter_partition: AlterPartition,
        random: Random,
        config: ReplicaConfig,
        is_held: Callable[[], bool],
    ) -> None:
        self.broker_epoch = -1
        self._broker_id = broker_id
        self._partitions = partitions
        self._alter_partition = alter_partition
        self._is_held = is_held
        self._queue = PartitionQueue(random=random, config=config)

    def submit(self, partition: Partition) -> None:
        """Queue a partition whose leader has a proposal."""
        self._queue.submit(partition)

    async def run(self) -> None:
        """Send proposals until cancelled."""
        await self._queue.run(self._send, is_held=self._is_held)

    async def _send(self) -> bool:
        asked, request = self._take()
        has_more = bool(self._queue.waiting)
        if not asked:
            return has_more
        try:
            response = await self._alter_partition(request)
        except TidelogError as error:
            log.info("isr change not answered", error=str(error))
            _leave_open(asked, request)
            return False
        if response.error.code != common_pb2.NONE or len(response.partitions) != len(asked):
            log.info("isr change refused", error=response.error.message)
            _leave_open(asked, request)
            return False
        for partition, sent, result in zip(
            asked, request.partitions, response.partitions, strict=True
        ):
            if result.error.code != common_pb2.NONE:
                self._partitions.note_refusal(
                    "ISR change refused by the controller", sent.topic, sent.partition, result.error
                )
            partition.handle(_answer_event(sent, result))
        return has_more

    def _take(self) -> tuple[list[Partition], AlterPartitionRequest]:
        """Partitions with a proposal, in the order of the request built for the first of them."""
        asked = []
        request = AlterPartitionRequest(broker_id=self._broker_id, broker_epoch=self.broker_epoch)
        waiting = self._queue.waiting
        for key in list(waiting)[:PARTITIONS_PER_REQUEST_MAX]:
            partition = waiting.pop(key)
            leader = partition.replica.leader
            proposal = leader.proposal() if leader is not None else None
            if leader is None or proposal is None:
                continue
            asked.append(partition)
            request.partitions.add(
                topic=partition.topic,
                topic_id=partition.topic_id,
                partition=partition.partition,
                leader_epoch=leader.leader_epoch,
                partition_epoch=leader.isr.partition_epoch,
                new_isr=[self._member(*member) for member in proposal],
                cause=leader.isr.cause,
            )
        return asked, request

    def _member(self, broker_id: int, broker_epoch: int) -> AlterPartitionRequest.Member:
        """Name the incarnation that fetched; for a member that has not fetched, the image's."""
        if broker_id == self._broker_id:
            broker_epoch = self.broker_epoch
        elif broker_epoch < 0:
            broker = self._partitions.image.brokers.get(broker_id)
            broker_epoch = -1 if broker is None else broker.broker_epoch
        return AlterPartitionRequest.Member(broker_id=broker_id, broker_epoch=broker_epoch)


def _leave_open(asked: Sequence[Partition], request: AlterPartitionRequest) -> None:
    """Report all these proposals as undecided: their outcome is as unknown as before.

    Also after a refusal of the whole request, which does not settle its earlier attempts.
    """
    for partition, sent in zip(asked, request.partitions, strict=True):
        unknown = common_pb2.REQUEST_TIMED_OUT
        partition.handle(IsrAnswered(sent.leader_epoch, sent.partition_epoch, unknown))


def _answer_event(
    sent: AlterPartitionRequest.Partition, result: AlterPartitionResponse.Partition
) -> IsrAnswered:
    if result.error.code != common_pb2.NONE:
        log.info("isr change refused", topic=sent.topic, error=result.error.message)
    return IsrAnswered(
        asked_leader_epoch=sent.leader_epoch,
        asked_partition_epoch=sent.partition_epoch,
        error=result.error.code,
        leader_epoch=result.leader_epoch,
        partition_epoch=result.partition_epoch,
        isr=tuple(result.isr),
        elr=tuple(result.elr),
    )
