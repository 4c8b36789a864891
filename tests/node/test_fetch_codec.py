"""The gRPC codec of Fetch: what a message says is what is asked, and the answer says it all."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import pytest
from tests.broker.replica_stage import TOPIC, ReplicaStage, values_in

from tidelog.broker.partition import leader_io as leading
from tidelog.broker.partition.fetch import Fetch, FetchPosition, FetchResult
from tidelog.broker.partition.produce import CurrentLeader
from tidelog.broker.replica.events import EpochEnd
from tidelog.broker.replica_manager import ReplicaManager
from tidelog.log.segment_walk import ReadResult
from tidelog.metadata.image import EMPTY_IMAGE
from tidelog.net.own_cluster import OwnCluster
from tidelog.node.handlers.broker import BrokerHandler
from tidelog.node.handlers.fetch_codec import decode_fetch, encode_fetch
from tidelog.v1 import common_pb2
from tidelog.v1.common_pb2 import Error, LeaderHint
from tidelog.v1.data_pb2 import (
    READ_COMMITTED,
    AbortedTransaction,
    EpochEndOffset,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    ForgottenPartition,
    PartitionFetchResult,
)


def test_a_replicas_request_keeps_its_fields() -> None:
    message = FetchRequest(
        replica_id=0,
        replica_epoch=2,
        max_wait_ms=3,
        min_bytes=4,
        max_bytes=5,
        isolation_level=READ_COMMITTED,
        partitions=[
            FetchPartition(
                topic="a",
                topic_id=bytes(16),
                partition=6,
                fetch_offset=7,
                current_leader_epoch=0,
                last_fetched_epoch=0,
                log_start_offset=8,
                partition_max_bytes=9,
            ),
        ],
        forgotten=[ForgottenPartition(topic="b", partition=10)],
    )
    assert decode_fetch(message) == Fetch(
        partitions=[
            FetchPosition(
                "a",
                6,
                7,
                topic_id=bytes(16),
                current_leader_epoch=0,
                last_fetched_epoch=0,
                log_start_offset=8,
                partition_max_bytes=9,
            )
        ],
        forgotten=[("b", 10)],
        replica_id=0,
        replica_epoch=2,
        max_wait_ms=3,
        min_bytes=4,
        max_bytes=5,
        isolation_level=READ_COMMITTED,
    )


def test_what_a_consumer_leaves_out_is_not_checked() -> None:
    message = FetchRequest(partitions=[FetchPartition(topic="a", fetch_offset=7)])
    assert decode_fetch(message) == Fetch([FetchPosition("a", 0, 7)], [])


def test_no_field_of_the_messages_is_forgotten() -> None:
    """A new one is decoded or encoded, or named here: the handler's, or flattened."""

    def names(message: Any) -> set[str]:
        return set(message.DESCRIPTOR.fields_by_name)

    assert names(FetchRequest) - {"cluster_id"} == set(Fetch._fields)
    assert names(FetchPartition) == set(FetchPosition._fields)
    assert names(PartitionFetchResult) | {"error_message"} == set(FetchResult.__slots__)
    assert names(FetchResponse) - {"cluster_id"} == {"partitions"}


def test_results_keep_their_fields() -> None:
    response = encode_fetch(
        [
            FetchResult(
                "a",
                3,
                9,
                5,
                log_end_offset=11,
                last_stable_offset=8,
                aborted_transactions=[(7, 5), (1 << 40, 6)],
                records=b"xyz",
            ),
            FetchResult("a", 4, 9, 5, diverging_epoch=EpochEnd(0, 0)),
            FetchResult("b", 0),
        ]
    )
    assert response == FetchResponse(
        partitions=[
            PartitionFetchResult(
                topic="a",
                partition=3,
                high_watermark=9,
                log_start_offset=5,
                log_end_offset=11,
                last_stable_offset=8,
                aborted_transactions=[
                    AbortedTransaction(producer_id=7, first_offset=5),
                    AbortedTransaction(producer_id=1 << 40, first_offset=6),
                ],
                records=b"xyz",
            ),
            PartitionFetchResult(
                topic="a",
                partition=4,
                high_watermark=9,
                log_start_offset=5,
                diverging_epoch=EpochEndOffset(),
            ),
            PartitionFetchResult(topic="b"),
        ],
    )
    assert [one.HasField("diverging_epoch") for one in response.partitions] == [False, True, False]


@pytest.mark.parametrize(
    ("leader", "hint"),
    [
        (None, None),
        (CurrentLeader(4), LeaderHint(leader_epoch=4)),
        (CurrentLeader(4, 0), LeaderHint(leader_epoch=4, leader_id=0)),
    ],
)
def test_an_error_names_the_leader_that_is_known(
    leader: CurrentLeader | None, hint: LeaderHint | None
) -> None:
    code = common_pb2.FENCED_LEADER_EPOCH
    result = FetchResult("a", 3, error=code, error_message="no", current_leader=leader)
    (answer,) = encode_fetch([result]).partitions
    assert answer == PartitionFetchResult(
        topic="a", partition=3, error=Error(code=code, message="no"), current_leader=hint
    )
    assert answer.HasField("current_leader") == (hint is not None)


class Records(bytes):
    """Counts those of its kind that are in memory."""

    living = 0

    def __new__(cls, data: bytes) -> Records:
        cls.living += 1
        return super().__new__(cls, data)

    def __del__(self) -> None:
        type(self).living -= 1


@pytest.mark.sim
def test_records_are_in_memory_once_while_an_answer_is_unread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Only in the message: neither session nor handler keeps the results of which it was made."""
    right = leading._records

    def counted(*args: Any, **limits: Any) -> ReadResult:
        found = right(*args, **limits)
        return found._replace(records=Records(found.records))

    async def requests() -> AsyncGenerator[FetchRequest]:
        while True:
            yield FetchRequest(partitions=[FetchPartition(topic=TOPIC)])

    async def read(manager: ReplicaManager) -> None:
        unused: Any = None
        handler = BrokerHandler(
            own=OwnCluster("c"),
            replica_manager=manager,
            image=lambda: EMPTY_IMAGE,
            controller_id=unused,
            forwarder=unused,
            producer_ids=unused,
            reports=unused,
        )
        monkeypatch.setattr(leading, "_records", counted)
        answers = handler.fetch_stream(requests())
        response = await anext(answers)
        assert values_in(response.partitions[0]) == [b"x"]
        assert Records.living == 0
        await answers.aclose()

    async def story(stage: ReplicaStage) -> None:
        stage.create()
        await stage.until_opened(1, 2, 3)
        await stage.must_produce(1, b"x")
        await stage.on(1, read)

    ReplicaStage().run(story)
