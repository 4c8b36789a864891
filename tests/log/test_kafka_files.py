"""Files that Apache Kafka wrote (see testdata/kafka/README.md), read with our code."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidelog.log.checkpoints import decode_topic_id, encode_topic_id
from tidelog.log.producer_snapshots import decode_snapshot, encode_snapshot
from tidelog.log.producers import ProducerEntry, ProducerStates
from tidelog.records.batch import CONTROL_FLAG, BatchHeader, iter_batches
from tidelog.records.records import read_marker

KAFKA = Path(__file__).parent.parent / "testdata/kafka"


def kafka_file(name: str) -> bytes:
    return (KAFKA / name).read_bytes()


def last_batches(entries: tuple[ProducerEntry, ...]) -> list[bytes]:
    """One row a producer, as Kafka writes them; its order is that of a hash map."""
    kept = (entry._replace(batches=entry.batches[-1:]) for entry in entries)
    return sorted(encode_snapshot([entry]) for entry in kept)


def append_all(states: ProducerStates, log: str) -> list[BatchHeader]:
    headers = []
    for header, batch in iter_batches(kafka_file(log)):
        is_control = header.attributes & CONTROL_FLAG
        states.update(header, now_ms=0, marker=read_marker(batch) if is_control else None)
        headers.append(header)
    return headers


@pytest.mark.parametrize("offset", [36, 41])
def test_a_snapshot_of_kafka_is_read_and_written_back_as_it_was(offset: int) -> None:
    data = kafka_file(f"{offset:020d}.snapshot")
    entries = decode_snapshot(data)
    assert entries is not None
    assert encode_snapshot(entries) == data


def test_partition_metadata_of_kafka_is_read_and_written_back_as_it_was() -> None:
    data = kafka_file("partition.metadata")
    topic_id = decode_topic_id(data)
    assert topic_id is not None
    assert encode_topic_id(topic_id) == data


def test_a_log_of_kafka_leads_to_the_producer_state_kafka_wrote() -> None:
    states = ProducerStates()
    for log, snapshot in ((0, 36), (36, 41)):
        append_all(states, f"{log:020d}.log")
        theirs = decode_snapshot(kafka_file(f"{snapshot:020d}.snapshot"))
        assert theirs is not None
        assert last_batches(states.entries()) == last_batches(theirs)
    assert states.first_unstable_offset == 40


def test_the_last_batch_of_each_of_kafkas_producers_is_known_again() -> None:
    states = ProducerStates()
    headers = append_all(states, f"{0:020d}.log")
    by_producer = {header.producer_id: header for header in headers}
    for header in by_producer.values():
        duplicate = states.check(header)
        assert duplicate is not None
        assert duplicate.base_offset == header.base_offset
