"""What a leader finds inside a batch is what readers would: no batch is taken that stops them."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from tidelog.core.errors import (
    InvalidRecordError,
    InvalidTimestampError,
    MessageTooLargeError,
    TidelogError,
)
from tidelog.log.config import LogConfig, log_config
from tidelog.log.producers import ProducerStates
from tidelog.log.record_check import (
    INFLATED_TIMES_MAX,
    RECORD_ERRORS_MAX,
    RecordRules,
    check_compressed_records,
    check_records,
    record_slices,
)
from tidelog.log.validation import Seen, inspect_compressed, is_compressed, validate_produced
from tidelog.records.batch import HEADER_BYTES, BatchHeader, parse_header, seal
from tidelog.records.compression import Codec, compress
from tidelog.records.records import Record, encode_batch, iter_records

NOW_MS = 1_700_000_000_000
MIB = 1 << 20
CODECS = list(Codec)[1:]
COMPACTED = log_config({"cleanup.policy": "compact"}, {})
PLAIN = log_config({}, {})

Make = Callable[[int], Record]


def alike(n: int) -> Record:
    return Record(n, NOW_MS, b"k%06d" % n, b"v" * 40, ())


def varied(n: int) -> Record:
    return Record(n, NOW_MS + n % 3, b"key" * (n % 4), b"v" * (n * 7 % 200), ())


def late(n: int) -> Record:
    """By 12 days, when the others have been read."""
    return Record(n, NOW_MS + (n > 300) * 2**30, b"k", b"v" * 40, ())


def keyless(n: int) -> Record:
    return Record(n, NOW_MS, None, b"v" * (n % 5), ())


def tombstones(n: int) -> Record:
    return Record(n, NOW_MS, b"k" * (n % 90), None, ())


def with_headers(n: int) -> Record:
    headers = (("a", b"1"), ("b", None)) if n % 2 else ()
    return Record(n, NOW_MS - n * 1000, b"k", b"v" * (n % 70), headers)


def large(n: int) -> Record:
    return Record(n, NOW_MS + (n << 30), b"k" * 100, b"v" * 3_000, ())


KINDS: tuple[Make, ...] = (alike, varied, keyless, tombstones, with_headers, large)
COUNTS = (1, 2, 15, 16, 17, 63, 65, 300)


def made(make: Make, count: int, codec: Codec = Codec.NONE) -> bytes:
    return encode_batch([make(n) for n in range(count)], compression=codec)


def sealed(batch: bytes, payload: bytes, **fields: int) -> bytes:
    return seal(parse_header(batch)._replace(**fields), payload)


def check(batch: bytes, rules: RecordRules = RecordRules()) -> int:  # noqa: B008
    return check_records(parse_header(batch), memoryview(batch), rules)


def refusal(batch: bytes, rules: RecordRules) -> InvalidTimestampError | InvalidRecordError:
    try:
        check(batch, rules)
    except (InvalidTimestampError, InvalidRecordError) as error:
        return error
    raise AssertionError("it was taken")


def is_readable(batch: bytes) -> bool:
    header: BatchHeader = parse_header(batch)
    try:
        offsets = [record.offset for record in iter_records(batch)]
    except TidelogError:
        return False
    return offsets == list(range(header.base_offset, header.next_offset))


def is_taken(batch: bytes) -> bool:
    try:
        check(batch)
    except InvalidRecordError:
        return False
    return True


@pytest.mark.parametrize("make", KINDS)
@pytest.mark.parametrize("count", COUNTS)
def test_what_producers_write_is_taken(make: Make, count: int) -> None:
    batch = made(make, count)
    check(batch)
    validate_produced(batch, config=PLAIN, now_ms=2 * NOW_MS)


@pytest.mark.parametrize("make", KINDS)
@pytest.mark.parametrize("count", [1, 3, 20, 70])
def test_what_is_taken_is_what_readers_can_read(make: Make, count: int) -> None:
    rng = random.Random(f"{make.__name__} {count}")
    batch = made(make, count)
    verdicts = set()
    for _ in range(600):
        payload = bytearray(batch[HEADER_BYTES:])
        at = rng.randrange(len(payload))
        match rng.randrange(4):
            case 0:
                payload[at] = rng.randrange(256)
            case 1:
                payload[at] ^= 1 << rng.randrange(8)
            case 2:
                del payload[at : at + rng.randrange(1, 4)]
            case 3:
                payload[at:at] = rng.randbytes(rng.randrange(1, 4))
        damaged = sealed(batch, bytes(payload))
        readable = is_readable(damaged)
        assert is_taken(damaged) == readable, bytes(payload)
        verdicts.add(readable)
    assert False in verdicts, "some were damaged"


def newest(batch: bytes) -> int:
    return max(-1, *(record.timestamp for record in iter_records(batch)))


TIMES: dict[str, Callable[[int], int]] = {
    "alike": lambda _: NOW_MS,
    "none": lambda _: -1,
    "rising": lambda n: NOW_MS + n,
    "rising fast": lambda n: NOW_MS + n * 1013,
    "falling": lambda n: NOW_MS - n,
    "falling fast": lambda n: NOW_MS - n * 1013,
    "to and fro": lambda n: NOW_MS + n * 7919 % 1000 - 500,
    "one late": lambda n: NOW_MS + (n == 130) * 2**30,
    "one early": lambda n: NOW_MS - (n == 130) * 2**30,
    "first early": lambda n: NOW_MS - (n == 0) * 2**40,
    "before 1970": lambda n: -7 - n % 5,
}


@pytest.mark.parametrize("times", TIMES)
@pytest.mark.parametrize("make", KINDS)
def test_the_walk_finds_the_newest_timestamp(make: Make, times: str) -> None:
    for count in COUNTS:
        records = [make(n)._replace(timestamp=TIMES[times](n)) for n in range(count)]
        batch = encode_batch(records)
        assert check(batch) == newest(batch)
        for shift in (1, -1, 70, -70, 2**20):  # the first record's delta is not 0
            moved = sealed(batch, batch[HEADER_BYTES:], base_timestamp=NOW_MS + shift)
            assert check(moved) == newest(moved)


@pytest.mark.parametrize("times", TIMES)
@pytest.mark.parametrize("make", KINDS)
@pytest.mark.parametrize("needs_keys", [False, True])
def test_the_records_to_blame_are_named(make: Make, times: str, needs_keys: bool) -> None:
    rules = RecordRules(
        needs_keys=needs_keys, oldest_ms=NOW_MS - 200, newest_ms=NOW_MS + 200, now_ms=NOW_MS
    )
    for count in COUNTS:
        records = [make(n)._replace(timestamp=TIMES[times](n)) for n in range(count)]
        keyless = [one.offset for one in records if needs_keys and one.key is None]
        late = [
            one.offset
            for one in records
            if not rules.oldest_ms <= one.timestamp <= rules.newest_ms
            and one.timestamp != -1
            and one.offset not in keyless
        ]
        batch = encode_batch(records)
        if not keyless + late:
            assert check(batch, rules) == newest(batch)
            continue
        error = refusal(batch, rules)
        assert isinstance(error, InvalidTimestampError if late else InvalidRecordError)
        assert [one.batch_index for one in error.record_errors] == sorted(keyless + late)
        assert all(f"record {one.batch_index} " in one.message for one in error.record_errors)


def test_no_error_names_more_records_than_its_bound() -> None:
    count = RECORD_ERRORS_MAX + 5
    batch = encode_batch([keyless(n) for n in range(count)])
    header, rules = parse_header(batch), RecordRules(needs_keys=True)
    with pytest.raises(InvalidRecordError, match=f"; {RECORD_ERRORS_MAX - 1} more") as refused:
        for _ in record_slices(header, memoryview(batch), rules):
            pass
    assert len(refused.value.record_errors) == RECORD_ERRORS_MAX


@pytest.mark.parametrize("base", [2**63 - 1, -(2**63), 2**63 - 5, 2**63 - 2**29, 0])
@pytest.mark.parametrize("make", [alike, varied, with_headers, late])
def test_timestamps_that_overflow_are_refused_as_readers_refuse_them(base: int, make: Make) -> None:
    batch = made(make, 600)
    moved = sealed(batch, batch[HEADER_BYTES:], base_timestamp=base)
    assert is_taken(moved) == is_readable(moved)


@pytest.mark.parametrize(
    ("count", "payload"),
    [
        (3, random.Random(1).randbytes(100)),
        (1, made(alike, 3)[HEADER_BYTES:]),
        (3, made(alike, 1)[HEADER_BYTES:]),
        (20, made(alike, 21)[HEADER_BYTES:]),
        (21, made(alike, 20)[HEADER_BYTES:]),
        (2, made(alike, 1)[HEADER_BYTES:] * 2),
        (40, made(alike, 1)[HEADER_BYTES:] * 40),
        (1, bytes(100)),
        (1, b""),
    ],
    ids=range(9),
)
def test_a_batch_that_lies_about_its_records_is_not_appended(count: int, payload: bytes) -> None:
    batch = made(alike, 1)
    lie = sealed(batch, payload, records_count=count, last_offset_delta=count - 1)
    with pytest.raises(TidelogError):
        validate_produced(lie, config=PLAIN, now_ms=2 * NOW_MS)


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("codec", Codec)
def test_a_compacted_topic_needs_keys_wherever_in_the_batch(count: int, codec: Codec) -> None:
    whole = made(varied, count, codec)
    validate_produced(whole, config=COMPACTED, now_ms=2 * NOW_MS)
    for place in {0, count // 2, count - 1}:
        records = [alike(n)._replace(key=None if n == place else b"k") for n in range(count)]
        batch = encode_batch(records, compression=codec)
        with pytest.raises(InvalidRecordError, match="has no key"):
            validate_produced(batch, config=COMPACTED, now_ms=2 * NOW_MS)
        validate_produced(batch, config=PLAIN, now_ms=2 * NOW_MS)
    none = encode_batch([alike(n)._replace(key=None) for n in range(count)], compression=codec)
    with pytest.raises(InvalidRecordError, match="record 0 of the batch has no key"):
        validate_produced(none, config=COMPACTED, now_ms=2 * NOW_MS)


@pytest.mark.parametrize("codec", CODECS)
def test_compressed_records_are_looked_at_too(codec: Codec) -> None:
    whole = made(varied, 50)
    lie = whole[HEADER_BYTES:] + b"\0"
    batch = sealed(whole, compress(codec, lie), attributes=codec)
    with pytest.raises(InvalidRecordError, match="follow the last record"):
        validate_produced(batch, config=PLAIN, now_ms=2 * NOW_MS)
    with pytest.raises(InvalidRecordError, match="follow the last record"):
        inspect_compressed(batch, config=PLAIN, now_ms=2 * NOW_MS)
    validate_produced(batch, config=PLAIN, now_ms=2 * NOW_MS, seen=Seen(inspected=True))


@pytest.mark.parametrize("codec", CODECS)
def test_records_inflate_no_further_than_the_topic_says(codec: Codec) -> None:
    limit = 64 << 10
    fits, bomb = (
        encode_batch([Record(0, NOW_MS, b"k", bytes(size), ())], compression=codec)
        for size in (INFLATED_TIMES_MAX * limit - 100, INFLATED_TIMES_MAX * limit + 100)
    )
    for batch in (fits, bomb):
        assert len(batch) <= limit
    config = LogConfig(max_message_bytes=limit)
    inspect_compressed(fits, config=config, now_ms=2 * NOW_MS)
    with pytest.raises(MessageTooLargeError, match=r"max\.message\.bytes"):
        check_compressed_records(
            parse_header(bomb), memoryview(bomb), RecordRules(), max_message_bytes=limit
        )


def test_compressed_batches_are_found_among_others() -> None:
    plain, packed = made(alike, 3), made(alike, 3, Codec.LZ4)
    assert not is_compressed(plain * 3)
    assert is_compressed(packed)
    assert is_compressed(plain + packed + plain)
    for cut in (b"", plain[:30], plain[:8] + bytes(4) + plain[12:], b"\xff" * 70):
        assert is_compressed(cut) == (cut[:1] == b"\xff")


@pytest.mark.parametrize(
    "fields",
    [
        {"producer_epoch": -1, "base_sequence": 0},
        {"producer_epoch": 0, "base_sequence": 0},
        {"producer_epoch": 3, "base_sequence": 2**31 - 1},
        {"producer_epoch": -7, "base_sequence": -2},
        {"producer_id": -2, "producer_epoch": 0, "base_sequence": 0},
        {"producer_id": -(2**63), "producer_epoch": -1, "base_sequence": 5},
    ],
)
def test_without_a_producer_id_epoch_and_sequence_have_no_meaning(fields: dict[str, int]) -> None:
    batch = made(alike, 2)
    odd = sealed(batch, batch[HEADER_BYTES:], **fields)
    for _, data in validate_produced(odd * 2, config=PLAIN, now_ms=2 * NOW_MS):
        assert data == odd, "as it came, as Kafka stores it"
    header, states = parse_header(odd), ProducerStates()
    assert states.check(header) is None
    assert states.update(header, now_ms=NOW_MS) is None
    assert states.entries() == ()
