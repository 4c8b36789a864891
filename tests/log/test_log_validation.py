"""What a leader refuses before anything of it is appended, and what it makes of the rest."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.log.cleaned_logs import StillClock, but
from tests.log.partition_logs import (
    NOW_MS,
    OpenLog,
    Producer,
    append,
    batch,
    batches,
    copy,
    served,
    values,
)

from tidelog.core.errors import (
    InvalidRecordError,
    InvalidTimestampError,
    MessageTooLargeError,
    TidelogError,
    UnsupportedCompressionTypeError,
)
from tidelog.log.partition_log import PartitionLog
from tidelog.log.validation import Seen, inspect_compressed, walk_uncompressed
from tidelog.records.batch import (
    CONTROL_FLAG,
    DELETE_HORIZON_FLAG,
    HEADER_BYTES,
    LOG_APPEND_TIME_FLAG,
    TRANSACTIONAL_FLAG,
    validate_batches,
)
from tidelog.records.compression import Codec

APPEND_TIME = {"message_timestamp_type": "LogAppendTime"}
COMPACT = {"cleanup_policy": ("compact",)}
LIMITS = {"message_timestamp_before_max_ms": 1000, "message_timestamp_after_max_ms": 50}
CODECS = {"uncompressed": Codec.NONE, **{codec.name.lower(): codec for codec in list(Codec)[1:]}}


def refuses(log: PartitionLog, error: type[TidelogError], *sent: bytes) -> None:
    """These batches in one call; nothing of them is in the log."""
    before = log.size_in_bytes, log.log_end_offset, log.latest_epoch
    with pytest.raises(error):
        log.append_as_leader(b"".join(sent), leader_epoch=9)
    assert (log.size_in_bytes, log.log_end_offset, log.latest_epoch) == before


@pytest.mark.parametrize("wanted", CODECS)
async def test_a_topic_with_a_compression_type_takes_no_other(
    open_log: OpenLog, wanted: str
) -> None:
    log = await open_log(compression_type=wanted)
    for name, codec in CODECS.items():
        if name == wanted:
            append(log, b"a", codec=codec)
        else:
            refuses(log, UnsupportedCompressionTypeError, batch(b"a", codec=codec))
    assert values(log) == [b"a"]


async def test_a_topic_takes_any_compression_type_by_default(open_log: OpenLog) -> None:
    log = await open_log()
    for codec in CODECS.values():
        append(log, b"a", codec=codec)
    assert [header.codec_id for header, _ in batches(log)] == list(CODECS.values())


async def test_a_transactional_batch_is_refused(open_log: OpenLog) -> None:
    sent = batch(b"a", producer=Producer(7, 0, 0))
    refuses(await open_log(), InvalidRecordError, but(sent, attributes=TRANSACTIONAL_FLAG))


async def test_an_idempotent_batch_comes_alone(open_log: OpenLog) -> None:
    log = await open_log()
    first, second = (batch(b"a", producer=Producer(7, 0, sequence)) for sequence in (0, 1))
    refuses(log, InvalidRecordError, first, second)
    refuses(log, InvalidRecordError, batch(b"a"), first)
    refuses(log, InvalidRecordError, first, batch(b"a"))
    for sent in (first, second):
        log.append_as_leader(sent, leader_epoch=0)
    assert values(log) == [b"a", b"a"]


async def test_a_batch_that_is_too_large_is_refused_for_that_even_when_it_was_cut(
    open_log: OpenLog,
) -> None:
    sent = batch(bytes(100))
    log = await open_log(max_message_bytes=len(sent) - 1)
    refuses(log, MessageTooLargeError, sent)
    refuses(log, MessageTooLargeError, sent[:80])


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.LZ4])
async def test_timestamps_lie_within_the_topics_bounds(open_log: OpenLog, codec: Codec) -> None:
    log = await open_log(**LIMITS)
    oldest, newest = NOW_MS - 1000, NOW_MS + 50
    for times in ([oldest - 1], [newest + 1], [NOW_MS, oldest - 1, NOW_MS], [newest + 1, NOW_MS]):
        sent = batch(*map(str.encode, map(str, times)), times=times, codec=codec)
        refuses(log, InvalidTimestampError, batch(b"good", times=[NOW_MS]), sent)
    append(log, b"a", b"b", times=[newest, oldest], codec=codec)
    assert values(log) == [b"a", b"b"]


async def test_a_record_of_any_age_is_taken_by_default(open_log: OpenLog) -> None:
    log = await open_log()
    append(log, b"a", b"b", times=[0, -5])
    refuses(log, InvalidTimestampError, batch(b"c", times=[NOW_MS + 3_600_001]))
    assert values(log) == [b"a", b"b"]


async def test_a_record_without_a_timestamp_is_of_no_age(open_log: OpenLog) -> None:
    log = await open_log(**LIMITS)
    append(log, b"a", b"b", times=[-1, NOW_MS])
    append(log, b"c", times=[-1])
    refuses(log, InvalidTimestampError, batch(b"d", times=[-2]))
    assert [header.max_timestamp for header, _ in batches(log)] == [NOW_MS, -1]


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.ZSTD])
async def test_append_time_is_that_of_all_records_whatever_they_say(
    open_log: OpenLog, clock: StillClock, codec: Codec
) -> None:
    log = await open_log(**APPEND_TIME, **LIMITS)
    follower = await open_log(directory="/data/flights-1", **APPEND_TIME)
    for times in ([0, NOW_MS], [-5, 1 << 50]):
        clock.now_ms += 10
        result = append(log, b"a", b"b", times=times, codec=codec)
        assert result.log_append_time_ms == clock.now_ms
    append_times = [NOW_MS + 10, NOW_MS + 10, NOW_MS + 20, NOW_MS + 20]
    assert [record.timestamp for record in served(log)] == append_times
    assert all(header.attributes & LOG_APPEND_TIME_FLAG for header, _ in batches(log))
    copy(log, follower)
    assert served(follower) == served(log)


@pytest.mark.parametrize("flag", [LOG_APPEND_TIME_FLAG, DELETE_HORIZON_FLAG])
async def test_a_producers_flags_about_times_mean_nothing(open_log: OpenLog, flag: int) -> None:
    log = await open_log()
    sent = batch(b"a", b"b", times=[NOW_MS - 7, NOW_MS])
    log.append_as_leader(but(sent, attributes=flag, max_timestamp=NOW_MS - 9), leader_epoch=0)
    assert [(header.attributes, header.max_timestamp) for header, _ in batches(log)] == [
        (0, NOW_MS)
    ]
    assert [record.timestamp for record in served(log)] == [NOW_MS - 7, NOW_MS]


async def test_no_flag_of_a_producers_passes_for_the_logs_own_time(open_log: OpenLog) -> None:
    log = await open_log(**APPEND_TIME)
    refuses(log, InvalidTimestampError, but(batch(b"a"), attributes=LOG_APPEND_TIME_FLAG))
    log.append_as_leader(but(batch(b"a"), attributes=DELETE_HORIZON_FLAG), leader_epoch=0)
    assert [header.attributes for header, _ in batches(log)] == [LOG_APPEND_TIME_FLAG]


async def test_a_control_batch_is_the_brokers_alone(open_log: OpenLog) -> None:
    for config in ({}, APPEND_TIME):
        refuses(
            await open_log(**config), InvalidRecordError, but(batch(b"a"), attributes=CONTROL_FLAG)
        )


LIES = [0, -1, NOW_MS - 30 * 86_400_000, NOW_MS + 1, NOW_MS + 10**12, 2**63 - 1, -(2**63)]


@pytest.mark.parametrize("codec", Codec)
@pytest.mark.parametrize("lie", LIES)
async def test_a_batchs_max_timestamp_is_that_of_its_records_whatever_its_header_says(
    open_log: OpenLog, codec: Codec, lie: int
) -> None:
    log = await open_log()
    sent = batch(b"old", b"new", b"mid", times=[NOW_MS - 9, NOW_MS, NOW_MS - 5], codec=codec)
    log.append_as_leader(but(sent, max_timestamp=lie), leader_epoch=0)
    ((header, stored),) = batches(log)
    assert header.max_timestamp == NOW_MS
    assert stored[HEADER_BYTES:] == sent[HEADER_BYTES:], "records are not touched"
    assert served(log)[1].timestamp == NOW_MS
    found = log.offset_for_time(NOW_MS, upper_bound=log.log_end_offset)
    assert found is not None
    assert (found.offset, found.timestamp_ms) == (1, NOW_MS)


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.ZSTD])
async def test_an_old_max_timestamp_does_not_have_new_records_deleted(
    open_log: OpenLog, codec: Codec
) -> None:
    log = await open_log(retention_ms=60_000)
    sent = batch(b"back-dated", b"of now", times=[NOW_MS - 3_600_000, NOW_MS], codec=codec)
    log.append_as_leader(but(sent, max_timestamp=NOW_MS - 3_600_000), leader_epoch=0)
    log.set_high_watermark(log.log_end_offset)
    await log.apply_retention()
    assert values(log) == [b"back-dated", b"of now"]


async def test_a_record_ahead_of_time_does_not_pass_under_a_header_of_now(
    open_log: OpenLog,
) -> None:
    log = await open_log(**LIMITS)
    sent = batch(b"a", b"b", times=[NOW_MS, NOW_MS + 51])
    refuses(log, InvalidTimestampError, but(sent, max_timestamp=NOW_MS))


async def test_what_a_worker_computed_is_stored(open_log: OpenLog) -> None:
    log = await open_log()
    sent = but(batch(b"a", codec=Codec.GZIP), max_timestamp=0)
    seen = inspect_compressed(sent, config=log.config, now_ms=NOW_MS)
    log.append_as_leader(sent, leader_epoch=0, seen=seen)
    plain = but(batch(b"a"), max_timestamp=0)
    found = validate_batches(plain, max_message_bytes=1 << 20)
    for _ in walk_uncompressed(found, config=log.config, now_ms=NOW_MS):
        pass
    log.append_as_leader(plain, leader_epoch=0, seen=Seen(walked=True, batches=found))
    assert [header.max_timestamp for header, _ in batches(log)] == [1, 1]


async def test_create_time_is_not_answered(open_log: OpenLog) -> None:
    assert append(await open_log(), b"a").log_append_time_ms is None


async def test_a_duplicate_is_answered_with_the_append_time_it_has(
    open_log: OpenLog, clock: StillClock
) -> None:
    log = await open_log(**APPEND_TIME)
    first = append(log, b"a", producer=Producer(7, 0, 0))
    clock.now_ms += 10
    again = append(log, b"a", producer=Producer(7, 0, 0))
    assert again == first._replace(is_duplicate=True)


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
@pytest.mark.parametrize("policy", [("compact",), ("compact", "delete")])
async def test_a_compacted_topic_takes_no_record_without_a_key(
    open_log: OpenLog, policy: tuple[str, ...], codec: Codec
) -> None:
    log = await open_log(cleanup_policy=policy)
    keyed = batch(b"a", None, key=b"k", codec=codec)
    refuses(log, InvalidRecordError, keyed, batch(b"b", codec=codec))
    log.append_as_leader(keyed, leader_epoch=0)
    append(log, b"c", key=b"", codec=codec)
    assert values(log) == [b"a", None, b"c"]


CHANGES: list[tuple[dict[str, Any], type[TidelogError]]] = [
    (COMPACT, InvalidRecordError),
    ({"compression_type": "lz4"}, UnsupportedCompressionTypeError),
    ({"max_message_bytes": 60}, MessageTooLargeError),
    ({"message_timestamp_before_max_ms": 1}, InvalidTimestampError),
]


@pytest.mark.parametrize(("change", "error"), CHANGES)
async def test_a_change_of_config_holds_from_the_next_append_on(
    open_log: OpenLog, change: dict[str, Any], error: type[TidelogError]
) -> None:
    log = await open_log()
    append(log, b"a")
    before = log.config
    log.config = replace(log.config, **change)
    refuses(log, error, batch(b"b"))
    log.config = before
    append(log, b"c")
    assert values(log) == [b"a", b"c"]
