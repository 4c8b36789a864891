"""Record batches that no leader may append. Pure.

Each is refused for one reason at least, by its making: a batch that lies in its header or in its
records, under a CRC that is right, or one whose bytes are not those it was sealed with. Compressed
ones lie as well: a broker inflates them (decision 0030).
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from crc32c import crc32c

from tidelog.chaos.workloads.dice import Dice
from tidelog.records.batch import (
    CRC_START,
    HEADER_BYTES,
    LENGTH_PREFIX_BYTES,
    MAGIC,
    parse_header,
    seal,
)
from tidelog.records.compression import Codec, compress
from tidelog.records.records import Record, encode_batch

VALUE = b"malformed"
"""In every record: a reader that comes upon it has found one that was appended."""
INT32 = (-(2**31), -2, -1, 2**31 - 1)
_BATCH = encode_batch(
    [Record(offset=n, timestamp=1_000, key=b"k", value=VALUE, headers=()) for n in range(3)]
)
_HEADER = parse_header(_BATCH)
_PAYLOAD = _BATCH[HEADER_BYTES:]
_PLACES = range(len(_PAYLOAD) // 3, len(_PAYLOAD) + 1, len(_PAYLOAD) // 3)
"""Ends of its records, which are of one length."""
_LENGTH_AT = 8
_MAGIC_AT = 16
_COUNT_MAX = 2**31 - 1


def corrupt_records(dice: Dice) -> bytes:
    """Records that a produce request may hold for a partition and that no partition accepts."""
    return dice.one_of(_KINDS)(dice)


def damaged_records(dice: Dice) -> bytes:
    """The same, never with a CRC that is right: a few bits changed more leave it refused."""
    return dice.one_of(_DAMAGES)(dice)


def is_sound(records: bytes) -> bool:
    """True if a broker might take it: its own look, by the format's description alone."""
    position = 0
    while position < len(records):
        if len(records) - position < HEADER_BYTES:
            return False
        length, crc = _place(records, position)
        end = position + LENGTH_PREFIX_BYTES + length
        is_whole = records[position + _MAGIC_AT] == MAGIC and position < end <= len(records)
        if not is_whole or crc32c(records[position + CRC_START : end]) != crc:
            return False
        position = end
    return position > 0


def _place(records: bytes, position: int) -> tuple[int, int]:
    (length,) = struct.unpack_from(">i", records, position + _LENGTH_AT)
    (crc,) = struct.unpack_from(">I", records, position + _MAGIC_AT + 1)
    return length, crc


# Bytes that are not what was sealed


def _flip(dice: Dice) -> bytes:
    batch = bytearray(_BATCH)
    for _ in range(dice.randrange(1, 4)):
        place = dice.randrange(CRC_START, len(batch))
        batch[place] ^= dice.randrange(1, 256)
    return _unless_sound(bytes(batch))


def _cut(dice: Dice) -> bytes:
    return _BATCH[: dice.randrange(0, len(_BATCH))]


def _with_tail(dice: Dice) -> bytes:
    return _BATCH + dice.randbytes(dice.randrange(1, 60))


def _noise(dice: Dice) -> bytes:
    return _unless_sound(dice.randbytes(dice.randrange(0, 300)))


def _false_crc(dice: Dice) -> bytes:
    batch = bytearray(_BATCH)
    struct.pack_into(">I", batch, _MAGIC_AT + 1, _HEADER.crc ^ dice.randrange(1, 2**32))
    return bytes(batch)


def _false_length(dice: Dice) -> bytes:
    length = dice.one_of((*INT32, 0, 48, 49, _HEADER.batch_length + 1, _HEADER.batch_length - 1))
    batch = bytearray(_BATCH)
    struct.pack_into(">i", batch, _LENGTH_AT, length)
    return bytes(batch)


def _false_magic(dice: Dice) -> bytes:
    batch = bytearray(_BATCH)
    batch[_MAGIC_AT] = dice.one_of((0, 1, 3, 127, 128, 255))
    return bytes(batch)


def _second_is_bad(dice: Dice) -> bytes:
    return _BATCH + _false_crc(dice)


# Headers that lie under a CRC that is right


def _false_count(dice: Dice) -> bytes:
    return _seal(records_count=dice.one_of((0, 1, 2, 4, 100, *INT32)))


def _false_delta(dice: Dice) -> bytes:
    return _seal(last_offset_delta=dice.one_of((0, 1, 3, 100, *INT32)))


def _too_many(dice: Dice) -> bytes:
    count = dice.one_of((_COUNT_MAX, 2**24, 1000))
    return _seal(records_count=count, last_offset_delta=count - 1)


def _unknown_codec(dice: Dice) -> bytes:
    return _seal(attributes=dice.one_of((5, 6, 7)))


def _forbidden_flags(dice: Dice) -> bytes:
    flags = dice.one_of((0x10, 0x20, 0x28, 0x30, 0x60, 0x78))
    return _seal(attributes=flags | dice.one_of((0, 1, 4, 0x80, -(2**15))))


def _impossible_time(dice: Dice) -> bytes:
    return _seal(base_timestamp=dice.one_of((-(2**63), 2**62, 2**63 - 1)))


def _impossible_sequence(dice: Dice) -> bytes:
    """A producer id without an epoch, or without a sequence."""
    epoch, sequence = dice.one_of((-1, -2, -(2**15))), dice.one_of((-1, -2, -(2**31)))
    match dice.randrange(0, 3):
        case 0:
            epoch = dice.one_of((0, 2**15 - 1))
        case 1:
            sequence = dice.one_of((0, 7, 2**31 - 1))
    return _seal(
        producer_id=dice.one_of((0, 2**62, 2**63 - 1)),
        producer_epoch=epoch,
        base_sequence=sequence,
    )


def _two_of_a_producer(dice: Dice) -> bytes:
    first = _seal(producer_id=dice.one_of((1, 2**40)), producer_epoch=0, base_sequence=0)
    return first + first


# Records that lie under a header that does not


def _false_records(dice: Dice) -> bytes:
    return _compress(dice, _lie(dice))


def _lie(dice: Dice) -> bytes:
    """Bytes that are not three consecutive records with nothing behind them."""
    first, *_ = _PLACES
    match dice.randrange(0, 5):
        case 0:
            return _PAYLOAD[: dice.randrange(0, len(_PAYLOAD))]
        case 1:
            return _PAYLOAD + dice.randbytes(dice.randrange(1, 30))
        case 2:
            return _PAYLOAD[first:] + _PAYLOAD[:first]
        case 3:
            return _PAYLOAD[:first] * len(_PLACES)
    return bytes(dice.randrange(21, 90))


def _compress(dice: Dice, payload: bytes) -> bytes:
    codec = dice.one_of(tuple(Codec))
    return seal(_HEADER._replace(attributes=codec), compress(codec, payload))


def _seal(**fields: int) -> bytes:
    return seal(_HEADER._replace(**fields), _PAYLOAD)


def _unless_sound(records: bytes) -> bytes:
    return b"" if is_sound(records) else records


_DAMAGES: tuple[Callable[[Dice], bytes], ...] = (
    *(_flip, _cut, _with_tail, _noise, _false_crc, _false_length, _false_magic),
    _second_is_bad,
)
_KINDS: tuple[Callable[[Dice], bytes], ...] = (
    *_DAMAGES,
    *(_false_count, _false_delta, _too_many, _unknown_codec, _forbidden_flags, _impossible_time),
    *(_impossible_sequence, _two_of_a_producer),
    # As often as it has kinds of its own: no other look of a broker's refuses any of them.
    *[_false_records] * 5,
)
