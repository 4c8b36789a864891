"""Batches by Apache Kafka's producer, read; what its cleaner made of some, made by our code too."""

from __future__ import annotations

from pathlib import Path

import pytest

from tidelog.records.batch import CONTROL_FLAG, DELETE_HORIZON_FLAG, iter_batches
from tidelog.records.compression import Codec
from tidelog.records.records import encode_marker, iter_records, read_marker, rebuild_batch

KAFKA = Path(__file__).parent.parent / "testdata/kafka"


def twelve_records() -> list[tuple[object, ...]]:
    """What was typed into the console producer: key, value and headers."""
    return [
        (
            None if place % 5 == 4 else b"key-%d" % (place % 4),
            None if place % 7 == 6 else b"value %d of a console producer" % place,
            () if place % 3 else (("h", b"%d" % place), ("n", b"")),
        )
        for place in range(12)
    ]


@pytest.mark.parametrize("codec", Codec)
def test_records_of_kafkas_producer_are_read_out_of_every_codec(codec: Codec) -> None:
    data = (KAFKA / f"codecs/{codec.name.lower()}.log").read_bytes()
    batches = list(iter_batches(data))
    assert {header.codec_id for header, _ in batches} == {codec}
    expected = twelve_records()
    if codec is not Codec.NONE:
        expected.append((b"large", b"x" * 33_000, ()))
    records = [record for _, batch in batches for record in iter_records(batch)]
    assert [record.offset for record in records] == list(range(len(expected)))
    assert [record[2:] for record in records] == expected


def test_a_rebuilt_batch_is_byte_for_byte_what_kafkas_cleaner_writes() -> None:
    before = {
        header.base_offset: (header, batch)
        for header, batch in iter_batches((KAFKA / "cleaner/before.log").read_bytes())
    }
    counts = {}
    for header, cleaned in iter_batches((KAFKA / "cleaner/after.log").read_bytes()):
        original, batch = before[header.base_offset]
        counts[header.base_offset] = header.records_count, original.records_count
        if header.records_count == original.records_count:
            assert cleaned == batch
            continue
        offsets = {record.offset for record in iter_records(cleaned)}
        kept = [record for record in iter_records(batch) if record.offset in offsets]
        horizon = header.base_timestamp if header.attributes & DELETE_HORIZON_FLAG else None
        assert rebuild_batch(original, kept, delete_horizon_ms=horizon) == cleaned
    assert counts == {0: (1, 4), 4: (2, 4), 8: (2, 3), 12: (2, 2), 14: (0, 1), 15: (2, 2)}


def test_a_marker_is_byte_for_byte_what_kafkas_coordinator_writes() -> None:
    batches = list(iter_batches((KAFKA / "00000000000000000036.log").read_bytes()))
    markers = [one for one in batches if one[0].attributes & CONTROL_FLAG]
    assert [read_marker(batch).is_commit for _, batch in markers] == [True, False]
    for header, batch in markers:
        ours = encode_marker(
            read_marker(batch),
            producer_id=header.producer_id,
            producer_epoch=header.producer_epoch,
            timestamp_ms=header.base_timestamp,
            base_offset=header.base_offset,
            leader_epoch=header.partition_leader_epoch,
        )
        assert ours == batch
