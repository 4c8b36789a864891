"""Habits of foreign producers in the wire suite: what they send, and what they must be answered."""

from __future__ import annotations

from tidelog.chaos.workloads.plans import STEADY, TopicPlan
from tidelog.core.chance import SeededRandom
from tidelog.history.history import Keeping
from tidelog.kafka.messages.produce_response import (
    BatchIndexAndErrorMessage,
    PartitionProduceResponse,
)
from tidelog.records.batch import parse_header
from tidelog.records.records import BatchBuilder, iter_records
from tidelog.simulation.wire.producer_habits import ProducerHabits, draw_habits
from tidelog.simulation.wire.refused_batches import AHEAD_MS, RefusedBatch, RefusedBatches
from tidelog.v1 import common_pb2

NOW_MS = 1_000_000
PLAN = TopicPlan(STEADY, 1, 1, False, False, 1_000, 1_000)
COMPACTED = TopicPlan(
    *(STEADY, 1, 1, False, False, 1_000, 1_000), keeping=Keeping(is_compacted=True)
)


def refused_batches(plan: TopicPlan) -> list[RefusedBatch]:
    drawers = [RefusedBatches(plan, SeededRandom(seed), lambda: NOW_MS) for seed in range(30)]
    return [batch for one in drawers for _ in range(20) if (batch := one.draw()) is not None]


def test_batches_to_be_refused_have_records_too_far_ahead_beside_a_header_that_denies_it() -> None:
    for batch in refused_batches(PLAN):
        records = enumerate(iter_records(batch.data))
        late = frozenset(n for n, one in records if one.timestamp > NOW_MS)
        assert parse_header(batch.data).max_timestamp == NOW_MS < NOW_MS + AHEAD_MS
        assert (batch.blamed, batch.code) == (late, common_pb2.INVALID_TIMESTAMP)


def test_batches_to_be_refused_by_a_compacted_topic_lack_keys() -> None:
    for batch in refused_batches(COMPACTED):
        records = enumerate(iter_records(batch.data))
        keyless = frozenset(n for n, one in records if one.key is None)
        assert (batch.blamed, batch.code) == (keyless, common_pb2.INVALID_RECORD)


def test_a_refusal_that_names_other_records_or_none_at_all_is_complained_about() -> None:
    batch = RefusedBatch(b"", common_pb2.INVALID_RECORD, frozenset({1}))

    def answer(code: int, *blamed: int) -> PartitionProduceResponse:
        errors = [BatchIndexAndErrorMessage(one, None) for one in blamed]
        return PartitionProduceResponse(index=0, error_code=code, record_errors=errors)

    assert not batch.complaint(answer(common_pb2.INVALID_RECORD, 1), 8)
    assert not batch.complaint(answer(common_pb2.INVALID_RECORD), 7)
    assert not batch.complaint(answer(common_pb2.NOT_LEADER_OR_FOLLOWER), 8)
    assert batch.complaint(answer(common_pb2.INVALID_RECORD), 8)
    assert batch.complaint(answer(common_pb2.INVALID_RECORD, 0, 1), 8)
    assert batch.complaint(answer(common_pb2.NONE), 8)


def test_lying_headers_name_the_first_or_the_last_time_and_controls_have_no_habits() -> None:
    builder = BatchBuilder()
    times = [7, 9, 8]
    for at_ms in times:
        builder.append(timestamp_ms=at_ms, key=None, value=b"v")
    data = builder.build()

    def newest(*, is_lying: bool, lies_by_last: bool) -> int:
        habits = ProducerHabits(is_lying=is_lying, lies_by_last=lies_by_last)
        return parse_header(habits.sealed(data, times)).max_timestamp

    assert newest(is_lying=False, lies_by_last=True) == 9
    assert newest(is_lying=True, lies_by_last=False) == 7
    assert newest(is_lying=True, lies_by_last=True) == 8
    plain = draw_habits(SeededRandom(1), PLAN, lambda: NOW_MS, is_storm=False)
    assert plain == ProducerHabits()
