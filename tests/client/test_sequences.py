"""The producer's numbers by themselves: order, wrap, epochs, and what each answer means."""

from __future__ import annotations

import pytest

from tidelog.client.errors import InvalidTopicError, TidelogError, error_from_wire
from tidelog.client.producing.sequences import (
    PRODUCER_EPOCH_MAX,
    Numbers,
    Sequences,
    Verdict,
    verdict_on,
)
from tidelog.client.records import TopicPartition
from tidelog.records.batch import (
    BATCHES_PER_PRODUCER_MAX,
    SEQUENCE_MASK,
    parse_header,
    set_sequence,
    validate_batches,
)
from tidelog.records.records import Record, encode_batch
from tidelog.v1 import common_pb2
from tidelog.v1.common_pb2 import Error

TP, OTHER = TopicPartition("t", 0), TopicPartition("t", 1)


def identified(*, epoch: int = 0) -> Sequences:
    sequences = Sequences()
    sequences.adopt(7, epoch)
    return sequences


def test_sequences_count_records_of_a_partition_and_wrap_to_0() -> None:
    sequences = identified()
    assert sequences.number(TP, SEQUENCE_MASK - 1) == Numbers(7, 0, 0)
    assert sequences.number(TP, 3) == Numbers(7, 0, SEQUENCE_MASK - 1)
    assert sequences.number(TP, 1) == Numbers(7, 0, 1)
    assert sequences.number(OTHER, 1) == Numbers(7, 0, 0)
    assert Numbers(7, 0, SEQUENCE_MASK).after(2).base_sequence == 1


def test_one_may_fly_before_the_first_is_acknowledged_and_five_after() -> None:
    sequences = identified()
    assert sequences.in_flight_max(TP) == 1
    sequences.number(TP, 1)
    assert sequences.in_flight_max(TP) == 1
    sequences.note_acknowledged(TP)
    assert sequences.in_flight_max(TP) == BATCHES_PER_PRODUCER_MAX == 5
    assert sequences.in_flight_max(OTHER) == 1


def test_an_epoch_ends_in_its_partition_alone_and_the_next_begins_at_0() -> None:
    sequences = identified()
    for tp in (TP, OTHER):
        sequences.number(tp, 4)
        sequences.note_acknowledged(tp)
    sequences.break_off(TP)
    assert (sequences.is_broken(TP), sequences.is_broken(OTHER)) == (True, False)
    sequences.end_epoch(TP)
    assert not sequences.is_broken(TP)
    assert sequences.in_flight_max(TP) == 1, "the log does not know this epoch yet"
    assert sequences.number(TP, 1) == Numbers(7, 1, 0)
    assert sequences.number(OTHER, 1) == Numbers(7, 0, 4)


@pytest.mark.parametrize("is_fenced", [False, True])
def test_after_the_last_epoch_or_when_fenced_there_is_a_new_id(*, is_fenced: bool) -> None:
    sequences = identified(epoch=0 if is_fenced else PRODUCER_EPOCH_MAX)
    sequences.number(TP, 1)
    sequences.number(OTHER, 1)
    for tp in (TP, OTHER):
        sequences.break_off(tp, is_fenced=is_fenced)
    sequences.end_epoch(TP)
    assert sequences.producer_id is None
    sequences.adopt(8, 0)
    sequences.end_epoch(OTHER)
    assert sequences.producer_id == 8, "the new id is not what was fenced"
    assert sequences.number(TP, 1) == sequences.number(OTHER, 1) == Numbers(8, 0, 0)


def wire(code: common_pb2.ErrorCode) -> TidelogError:
    return error_from_wire(Error(code=code))


@pytest.mark.parametrize(
    ("error", "count", "is_after_another", "verdict"),
    [
        (None, 1, False, Verdict.DONE),
        (None, 1, True, Verdict.DONE),
        (wire(common_pb2.OUT_OF_ORDER_SEQUENCE_NUMBER), 1, True, Verdict.AGAIN),
        (wire(common_pb2.OUT_OF_ORDER_SEQUENCE_NUMBER), 1, False, Verdict.RENUMBER),
        (wire(common_pb2.INVALID_PRODUCER_EPOCH), 1, True, Verdict.FENCED),
        (wire(common_pb2.REQUEST_TIMED_OUT), 1, False, Verdict.AGAIN),
        (wire(common_pb2.NOT_LEADER_OR_FOLLOWER), 9, True, Verdict.AGAIN),
        (wire(common_pb2.MESSAGE_TOO_LARGE), 2, False, Verdict.SPLIT),
        (wire(common_pb2.MESSAGE_TOO_LARGE), 1, False, Verdict.FAILED),
        (InvalidTopicError("no"), 2, False, Verdict.FAILED),
    ],
)
def test_the_verdict_on_an_answer(
    *, error: TidelogError | None, count: int, is_after_another: bool, verdict: Verdict
) -> None:
    assert verdict_on(error, records_count=count, is_after_another=is_after_another) is verdict


def test_numbers_go_into_the_header_and_leave_the_records_as_they_are() -> None:
    plain = encode_batch([Record(0, 5, b"k", b"v"), Record(0, 6, None, b"w")])
    batch = set_sequence(plain, producer_id=7, producer_epoch=3, base_sequence=9)
    ((header, _),) = validate_batches(batch, max_message_bytes=1 << 20)
    assert header[-4:-1] == (7, 3, 9)
    changed = {"producer_id": -1, "producer_epoch": -1, "base_sequence": -1, "crc": header.crc}
    before = parse_header(plain)
    assert header._replace(**changed) == before._replace(crc=header.crc)
    assert batch[61:] == plain[61:]
