"""What a leader is told of its proposal: a decision on it, or that its fate is still open."""

from __future__ import annotations

import asyncio

import pytest
from tests.broker.partition_cores import Core

from tidelog.broker.partition.partition_queue import PARTITIONS_PER_REQUEST_MAX
from tidelog.broker.partition.replica_config import ReplicaConfig
from tidelog.broker.replica.replica import Replica
from tidelog.broker.replication.alter_partition import IsrProposals
from tidelog.core.chance import SeededRandom
from tidelog.core.errors import CallFailedError
from tidelog.v1 import common_pb2
from tidelog.v1.common_pb2 import Error
from tidelog.v1.controller_pb2 import AlterPartitionRequest, AlterPartitionResponse

INELIGIBLE = Error(code=common_pb2.INELIGIBLE_REPLICA)
INVALID = Error(code=common_pb2.INVALID_REQUEST)


class Hosted:
    """A partition whose leader, 1, asks for 3 in the ISR."""

    topic, topic_id, partition = "t", b"t" * 16, 0

    def __init__(self) -> None:
        self.core = Core()
        self.core.image(isr=(1, 2))
        self.core.append(10)
        self.core.follower_fetch(2, 10)
        self.core.follower_fetch(3, 10)
        self.handle = self.core.handle

    @property
    def replica(self) -> Replica:
        return self.core.replica


class Partitions:
    def note_refusal(self, *_: object) -> None:
        """For the journal."""


async def proposed_after(answer: AlterPartitionResponse | CallFailedError) -> list[int] | None:
    """The ISR the leader still asks for once its request was answered so."""
    hosted, answered = Hosted(), asyncio.Event()

    async def alter_partition(_: AlterPartitionRequest) -> AlterPartitionResponse:
        answered.set()
        if isinstance(answer, CallFailedError):
            raise answer
        return answer

    proposals = IsrProposals(
        broker_id=1,
        partitions=Partitions(),  # type: ignore[arg-type]
        alter_partition=alter_partition,
        random=SeededRandom(1),
        config=ReplicaConfig(),
        is_held=lambda: False,
    )
    proposals.submit(hosted)  # type: ignore[arg-type]
    sending = asyncio.create_task(proposals.run())
    await answered.wait()
    for _ in range(3):
        await asyncio.sleep(0)
    sending.cancel()
    return hosted.core.proposed()


@pytest.mark.parametrize("error", [INELIGIBLE, INVALID], ids=["ineligible", "invalid"])
async def test_a_decision_against_it_ends_a_proposal(error: Error) -> None:
    refused = AlterPartitionResponse.Partition(topic="t", error=error)
    assert await proposed_after(AlterPartitionResponse(partitions=[refused])) is None


@pytest.mark.parametrize(
    "answer",
    [
        AlterPartitionResponse(error=INELIGIBLE),
        AlterPartitionResponse(error=INVALID),
        AlterPartitionResponse(error=Error(code=common_pb2.STALE_BROKER_EPOCH)),
        AlterPartitionResponse(),
        CallFailedError("broke"),
    ],
    ids=["ineligible", "invalid", "stale", "without the partition", "no answer"],
)
async def test_an_answer_that_decides_nothing_on_it_leaves_a_proposal_open(
    answer: AlterPartitionResponse | CallFailedError,
) -> None:
    """An earlier attempt may still be followed: nobody decided, so nobody refuses that one."""
    assert await proposed_after(answer) == [1, 2, 3]


async def test_many_proposals_are_sent_in_requests_of_a_bounded_number_without_a_pause() -> None:
    """The controllers decide on a request in one batch."""
    sizes: list[int] = []
    loop = asyncio.get_running_loop()
    sent_s: list[float] = []
    is_down = True

    async def alter_partition(request: AlterPartitionRequest) -> AlterPartitionResponse:
        sizes.append(len(request.partitions))
        sent_s.append(loop.time())
        if is_down:
            raise CallFailedError("broke")
        results = [
            AlterPartitionResponse.Partition(
                topic=one.topic,
                partition=one.partition,
                leader_epoch=one.leader_epoch,
                partition_epoch=one.partition_epoch + 1,
                isr=[1, 2, 3],
            )
            for one in request.partitions
        ]
        return AlterPartitionResponse(partitions=results)

    proposals = IsrProposals(
        broker_id=1,
        partitions=Partitions(),  # type: ignore[arg-type]
        alter_partition=alter_partition,
        random=SeededRandom(1),
        config=ReplicaConfig(),
        is_held=lambda: False,
    )
    many = [Hosted() for _ in range(2 * PARTITIONS_PER_REQUEST_MAX + 1)]
    for number, hosted in enumerate(many):
        hosted.partition = number
        proposals.submit(hosted)  # type: ignore[arg-type]
    sending = asyncio.create_task(proposals.run())
    while not sizes:  # noqa: ASYNC110  # polled
        await asyncio.sleep(0)
    is_down = False
    while len(sizes) < 3:  # noqa: ASYNC110  # as above
        await asyncio.sleep(0.001)
    assert sizes == [PARTITIONS_PER_REQUEST_MAX, PARTITIONS_PER_REQUEST_MAX, 1]
    backoff_s = ReplicaConfig().alter_partition_backoff_ms / 1000
    assert sent_s[1] - sent_s[0] >= backoff_s / 2, "a pause after a failure"
    assert sent_s[2] - sent_s[1] < backoff_s / 2
    sending.cancel()
