"""What compaction keeps, batch by batch."""

from __future__ import annotations

import random
import struct
from dataclasses import replace

import pytest
from tests.log.cleaned_logs import RETENTION_MS, Cleaned, but, keyed, log_of, marker, transactional

from tidelog.core.errors import CorruptMessageError
from tidelog.log.compaction import BYTES_PER_KEY
from tidelog.records.batch import (
    CONTROL_FLAG,
    DELETE_HORIZON_FLAG,
    HEADER_BYTES,
    LOG_APPEND_TIME_FLAG,
    BatchHeader,
    parse_header,
    seal,
)
from tidelog.records.compression import INFLATION_FREE_BYTES, Codec, compress
from tidelog.records.records import read_marker

A, B, C = b"a", b"b", b"c"
V, W = b"value", b"newer"


# Which records stay


def test_only_the_newest_record_of_a_key_stays_with_offset_time_and_headers() -> None:
    log = log_of(keyed((A, V), (B, V)), keyed((A, W)))

    cleaned = log.clean()

    assert cleaned.records == [record for record in log.records if record.offset != 0]
    assert cleaned.records_dropped == 1


def test_a_key_within_one_batch_is_cleaned_too() -> None:
    assert log_of(keyed((A, V), (A, W), (B, V), (A, V))).clean().offsets == [2, 3]


def test_a_record_without_a_key_goes() -> None:
    cleaned = log_of(keyed((None, V), (A, V)), keyed((None, W))).clean()

    assert cleaned.offsets == [1]
    assert cleaned.records_dropped == 2


def test_records_at_or_above_the_end_neither_go_nor_hide_others() -> None:
    log = log_of(keyed((A, V)), keyed((A, W)), keyed((None, V), (A, None)))

    cleaned = log.clean(end=1)

    assert cleaned.batches == log.batches


def test_a_batch_above_the_end_is_not_looked_into() -> None:
    log = log_of(keyed((A, V)), but(keyed((A, V), (B, V)), records_count=1))

    assert log.clean(end=1).batches == log.batches


def test_what_was_cleaned_before_is_compared_with_new_records_only() -> None:
    once = log_of(keyed((A, V)), keyed((B, V))).clean()
    log = replace(once, batches=[*once.batches, keyed((A, W), at=2)])

    assert log.clean().offsets == [1, 2]


def test_long_keys_meet_neither_each_other_nor_short_ones() -> None:
    keys = [b"k" * size for size in (0, 1, 15, 16, 17, 18, 100)] + [b"k" * 99 + b"l"]
    log = log_of(keyed(*((key, V) for key in keys)), keyed((b"k" * 100, W)))

    assert log.clean().offsets == [0, 1, 2, 3, 4, 5, 7, 8]


# What becomes of a batch


@pytest.mark.parametrize("codec", list(Codec))
def test_a_batch_whose_records_all_stay_is_copied_byte_for_byte(codec: Codec) -> None:
    log = log_of(keyed((A, V), codec=codec), keyed((B, V), codec=codec), keyed((A, W)))

    cleaned = log.clean()

    assert cleaned.batches[1:] == log.batches[1:]
    assert cleaned.batches[0] != log.batches[0]


def test_a_batch_whose_records_all_stay_is_not_packed_anew() -> None:
    batch = keyed(*((b"%d" % number, b"%d" % number**9) for number in range(99)))
    packed = compress(Codec.GZIP, batch[HEADER_BYTES:], level=1)
    fields = parse_header(batch)._replace(attributes=Codec.GZIP)
    log = Cleaned([seal(fields, packed)])

    assert packed != compress(Codec.GZIP, batch[HEADER_BYTES:])
    assert log.clean().batches == log.batches


@pytest.mark.parametrize("codec", list(Codec))
def test_a_batch_keeps_its_range_its_epoch_its_producer_and_its_codec(codec: Codec) -> None:
    first = but(keyed((A, V), (B, V), (A, W), codec=codec, epoch=3), producer_id=5, base_sequence=9)
    cleaned = log_of(first, keyed((B, W))).clean()

    header = cleaned.headers[0]
    assert (header.base_offset, header.last_offset) == (0, 2)
    assert header.records_count == 1
    assert (header.partition_leader_epoch, header.producer_id, header.base_sequence) == (3, 5, 9)
    assert header.codec_id == codec


@pytest.mark.parametrize("deleted", [V, None])
def test_what_is_left_of_a_batch_can_still_be_inflated(deleted: bytes | None) -> None:
    big = (C, bytes(INFLATION_FREE_BYTES + 1))
    noise = random.Random(1).randbytes(64 << 10)
    log = log_of(keyed((A, noise), big, (B, deleted), codec=Codec.ZSTD), keyed((A, W)))

    assert log.clean().records == log.records[1:]


def test_the_max_timestamp_is_of_the_records_that_stay() -> None:
    cleaned = log_of(keyed((A, V), (B, V), (C, V), time_ms=50), keyed((C, W))).clean()

    assert cleaned.headers[0].max_timestamp == 51


def test_log_append_time_stays() -> None:
    stamped = but(keyed((A, V), (B, V)), attributes=LOG_APPEND_TIME_FLAG, max_timestamp=77)
    cleaned = log_of(stamped, keyed((B, W))).clean()

    assert cleaned.headers[0].max_timestamp == 77
    assert [record.timestamp for record in cleaned.records[:1]] == [77]


def test_a_run_of_dropped_batches_becomes_one_filler() -> None:
    times = (1000, 3000, 2000, 500)
    log = log_of(*(keyed((A, V), (A, V), epoch=4, time_ms=time_ms) for time_ms in times))

    cleaned = log.clean()

    filler = cleaned.headers[0]
    assert (filler.base_offset, filler.last_offset, filler.records_count) == (0, 5, 0)
    assert (filler.partition_leader_epoch, filler.producer_id) == (4, -1)
    assert filler.max_timestamp == 3001
    assert cleaned.headers[1].base_offset == 6


def test_each_leader_epoch_has_its_own_filler() -> None:
    log = log_of(*(keyed((A, V), epoch=epoch) for epoch in (0, 0, 1, 2, 2)), keyed((A, W), epoch=2))

    found = [(h.base_offset, h.last_offset, h.partition_leader_epoch) for h in log.clean().headers]

    assert found == [(0, 1, 0), (2, 2, 1), (3, 4, 2), (5, 5, 2)]


def test_fillers_of_earlier_cleanings_grow_together() -> None:
    once = log_of(keyed((A, V)), keyed((B, V)), keyed((A, W))).clean()
    log = replace(once, batches=[*once.batches, keyed((B, W), at=3)])

    assert [header.base_offset for header in log.clean().headers] == [0, 2, 3]


def test_a_filler_ends_with_its_segment() -> None:
    cleaned = log_of(*[keyed((A, V))] * 5).clean(flush_at=[2])

    assert [header.base_offset for header in cleaned.headers] == [0, 2, 4]


def test_the_last_batch_of_a_producer_stays_without_records() -> None:
    def of(producer_id: int, sequence: int) -> bytes:
        return but(keyed((A, V), (B, V)), producer_id=producer_id, base_sequence=sequence)

    def is_last(header: BatchHeader) -> bool:
        return (header.producer_id, header.base_sequence) in {(5, 2), (6, 0)}

    log = log_of(of(5, 0), of(5, 2), of(6, 0), keyed((A, W), (B, W)))
    cleaned = log.clean(is_last_batch=is_last)
    again = cleaned.clean(is_last_batch=is_last)
    silent = cleaned.clean()

    kept = [(h.producer_id, h.base_sequence, h.base_offset, h.last_offset) for h in cleaned.headers]
    assert kept == [(-1, -1, 0, 1), (5, 2, 2, 3), (6, 0, 4, 5), (-1, -1, 6, 7)]
    assert cleaned.offsets == [6, 7]
    assert again.batches == cleaned.batches
    assert [header.base_offset for header in silent.headers] == [0, 6]


def test_records_that_are_not_what_the_batch_says_are_refused() -> None:
    for broken in (
        but(keyed((A, V)), records_count=2),
        but(keyed((A, V), (B, V)), records_count=1),
        but(keyed((A, V)), records_count=1000),
        but(keyed((A, V), (B, V)), last_offset_delta=0),
        but(keyed((b"k" * 70, V))[:-40]),
        seal(parse_header(keyed((A, V))), b"\x10\0\0\0\x7fkk\0\0"),
        seal(parse_header(keyed((A, V))), b"\xff" * 20),
    ):
        with pytest.raises(CorruptMessageError):
            log_of(broken).clean()


# Tombstones


def test_a_tombstone_stays_until_its_horizon_and_then_goes() -> None:
    log = log_of(keyed((A, V), (B, V)), keyed((A, None)))

    first = log.clean(now_ms=1000)
    before = first.clean(now_ms=1000 + RETENTION_MS - 1)
    after = before.clean(now_ms=1000 + RETENTION_MS)

    assert first.offsets == before.offsets == [1, 2]
    assert first.records[1] == log.records[2]
    assert first.headers[1].attributes & DELETE_HORIZON_FLAG
    assert first.headers[1].base_timestamp == 1000 + RETENTION_MS
    assert before.batches == first.batches
    assert after.offsets == [1]


def test_the_horizon_stays_where_the_first_cleaning_put_it() -> None:
    log = log_of(keyed((A, None), (B, V), (C, None)))
    first = log.clean(now_ms=1000)
    longer = replace(first, batches=[*first.batches, keyed((B, W), at=3)])

    second = longer.clean(now_ms=1050)

    assert second.headers[0].base_timestamp == 1000 + RETENTION_MS
    assert second.records == [longer.records[0], *longer.records[2:]]
    assert second.clean(now_ms=1000 + RETENTION_MS).offsets == [3]


def test_a_horizon_that_came_with_the_batch_counts_only_after_a_cleaning_here() -> None:
    leader = log_of(keyed((A, V)), keyed((A, None))).clean(now_ms=0)
    follower = replace(leader, batches=[keyed((A, V)), leader.batches[1]], first_dirty_offset=0)

    first = follower.clean(now_ms=RETENTION_MS)

    assert first.offsets == [1]
    assert first.clean(now_ms=RETENTION_MS).offsets == []


def test_a_tombstone_that_nothing_follows_hides_older_values_of_its_key() -> None:
    assert log_of(keyed((A, V)), keyed((A, None))).clean().offsets == [1]


def test_a_retention_without_end_fits_the_horizon() -> None:
    cleaned = log_of(keyed((A, None))).clean(now_ms=2**63 - 1)

    assert cleaned.headers[0].base_timestamp == 2**63 - 1
    assert cleaned.records[0].timestamp == 1000


# Transactions


def test_a_committed_record_hides_older_ones_and_markers_stay() -> None:
    log = log_of(keyed((A, V)), transactional((A, W), at=1), marker(at=2, is_commit=True))

    cleaned = log.clean()

    assert cleaned.offsets == [1, 2]
    assert cleaned.batches[1:] == log.batches[1:]


def test_markers_and_records_with_the_key_of_one_do_not_hide_each_other() -> None:
    key = struct.pack(">hh", 0, 1)
    ended = [transactional((A, V), at=1), marker(at=2, is_commit=True)]

    assert log_of(keyed((key, V)), *ended).clean().offsets == [0, 1, 2]
    assert log_of(keyed((B, V)), *ended, keyed((key, V))).clean().offsets == [0, 1, 2, 3]


def test_an_aborted_record_goes_and_hides_nothing() -> None:
    log = log_of(
        keyed((A, V)),
        transactional((A, W), (B, W), at=1),
        transactional((C, V), at=3, producer_id=8),
        marker(at=4, is_commit=False),
        transactional((C, W), at=5),
        marker(at=6, is_commit=True, producer_id=8),
        marker(at=7, is_commit=True),
    )

    assert log.clean().offsets == [0, 4, 5, 6, 7]


def test_only_the_aborted_transactions_of_a_producer_go() -> None:
    batches = []
    for at, outcome in zip(range(0, 12, 2), (True, False, True, False, False, True), strict=True):
        batches += [transactional((b"%d" % at, V), at=at), marker(at=at + 1, is_commit=outcome)]

    assert log_of(*batches).clean().offsets == [0, 1, 3, 4, 5, 7, 9, 10, 11]


def test_nothing_is_cleaned_from_the_first_transaction_without_a_marker_in_the_range() -> None:
    log = log_of(
        keyed((A, V)),
        keyed((A, W)),
        transactional((B, V), at=2),
        keyed((A, V)),
        marker(at=4, is_commit=False),
    )

    early, late = log.clean(end=4), log.clean(end=5)

    assert (early.first_dirty_offset, early.offsets) == (2, [1, 2, 3, 4])
    assert (late.first_dirty_offset, late.offsets) == (5, [3, 4])


def test_the_rest_of_an_aborted_batch_that_was_cleaned_in_part_still_hides_nothing() -> None:
    log = log_of(
        keyed((B, V)),
        keyed((A, V)),
        transactional((A, V), (B, W), at=2),
        marker(at=4, is_commit=False),
    )

    assert replace(log, first_dirty_offset=3).clean().offsets == [0, 1, 4]


def test_an_empty_marker_ends_nothing() -> None:
    empty = seal(parse_header(marker(at=1, is_commit=True))._replace(records_count=0), b"")
    log = log_of(transactional((A, V), at=0), empty)

    assert log.clean().first_dirty_offset == 0


# The bounded map


def test_a_full_map_ends_the_cleaning_and_the_next_goes_on() -> None:
    log = log_of(keyed((A, V)), keyed((B, V), (C, V)), keyed((A, W)), keyed((B, W), (C, W)))
    ends, offsets = [], []
    for _ in range(3):
        log = log.clean(max_bytes=2 * BYTES_PER_KEY)
        ends.append(log.first_dirty_offset)
        offsets.append(log.offsets)

    assert ends == [2, 4, 6]
    assert offsets == [[0, 1, 2, 3, 4, 5], [1, 2, 3, 4, 5], [3, 4, 5]]


def test_a_map_without_room_for_one_batch_still_gets_somewhere() -> None:
    log = log_of(keyed((A, V), (B, V)), keyed(*((key, V) for key in (A, B, C, A))))
    for expected in range(1, 7):
        log = log.clean(max_bytes=1)
        assert log.first_dirty_offset == expected

    assert log.offsets == [3, 4, 5]


def test_keys_that_come_again_need_no_room() -> None:
    assert log_of(*[keyed((A, V), (B, V))] * 9).clean(max_bytes=2 * BYTES_PER_KEY).offsets == [
        16,
        17,
    ]


def test_tombstones_of_a_batch_cleaned_in_part_wait_for_their_horizon() -> None:
    log = log_of(keyed((B, V)), keyed((A, None), (C, None)))

    partly = log.clean(max_bytes=2 * BYTES_PER_KEY, now_ms=1000)
    wholly = partly.clean(now_ms=2000)

    assert partly.first_dirty_offset == 2
    assert not partly.headers[1].attributes & DELETE_HORIZON_FLAG
    assert wholly.headers[1].base_timestamp == 2000 + RETENTION_MS
    assert wholly.offsets == [0, 1, 2]


# Markers that nobody needs


def test_a_marker_goes_once_no_record_of_its_transaction_is_left_and_its_time_has_passed() -> None:
    ended = [transactional((A, V), at=0), marker(at=1, is_commit=True)]
    log = log_of(*ended, keyed((B, V)))
    kept = log.clean(now_ms=0)
    assert kept.batches == log.batches
    replaced = Cleaned([*kept.batches, keyed((A, W), at=3)], kept.first_dirty_offset)
    first = replaced.clean(now_ms=0)
    assert first.offsets == [1, 2, 3]
    assert first.headers[1].attributes & DELETE_HORIZON_FLAG
    assert read_marker(first.batches[1]) == read_marker(log.batches[1])
    later = first.clean(now_ms=RETENTION_MS - 1)
    assert later.batches == first.batches
    last = later.clean(now_ms=RETENTION_MS)
    assert last.offsets == [2, 3]
    assert [header.base_offset for header in last.headers] == [0, 2, 3]
    assert last.headers[0].producer_id == -1


def test_a_marker_stays_while_one_record_of_its_transaction_does() -> None:
    batches = [transactional((A, V), at=0), transactional((B, V), at=1)]
    log = log_of(*batches, marker(at=2, is_commit=True), keyed((B, W)))
    for now_ms in (0, RETENTION_MS, 2 * RETENTION_MS):
        log = log.clean(now_ms=now_ms)
        assert log.offsets == [0, 2, 3]
        assert not log.headers[2].attributes & DELETE_HORIZON_FLAG


def test_records_of_the_next_transaction_keep_no_marker() -> None:
    log = log_of(
        transactional((A, V), at=0),
        marker(at=1, is_commit=False),
        transactional((A, W), at=2),
        marker(at=3, is_commit=True),
    )
    log = log.clean(now_ms=0).clean(now_ms=RETENTION_MS)
    assert log.offsets == [2, 3]


def test_records_of_another_producer_keep_no_marker() -> None:
    log = log_of(
        transactional((A, V), at=0),
        transactional((B, V), at=1, producer_id=8),
        marker(at=2, is_commit=False),
        marker(at=3, is_commit=True, producer_id=8),
    )
    log = log.clean(now_ms=0).clean(now_ms=RETENTION_MS)
    assert log.offsets == [1, 3]


def test_the_marker_that_tells_of_a_producers_epoch_stays_whole() -> None:
    log = log_of(transactional((A, V), at=0), marker(at=1, is_commit=False))

    def needs(header: BatchHeader) -> bool:
        return bool(header.attributes & CONTROL_FLAG)

    cleaned = log.clean(now_ms=0, is_last_batch=needs)
    cleaned = cleaned.clean(now_ms=RETENTION_MS, is_last_batch=needs)
    assert cleaned.batches[1] == log.batches[1]


def test_a_marker_above_the_end_of_the_cleaning_stays() -> None:
    batches = [transactional((A, V), at=0), marker(at=1, is_commit=False), keyed((B, V))]
    log = log_of(*batches, transactional((C, V), at=3, producer_id=8))
    first = log.clean(now_ms=0)
    assert first.first_dirty_offset == 3
    again = Cleaned([*first.batches, marker(at=4, is_commit=False, producer_id=8)], 3)
    assert again.clean(end=4, now_ms=RETENTION_MS).offsets == [2, 3, 4]
