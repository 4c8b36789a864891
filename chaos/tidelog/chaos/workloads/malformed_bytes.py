"""Bytes that were a message: flipped, cut, repeated, with lengths that lie. Pure."""

from __future__ import annotations

from collections.abc import Callable

from tidelog.chaos.workloads.dice import Dice

UNFINISHED = b"\x80"
"""Behind any message it is no message: a number that does not end."""
NOISE_BYTES_MAX = 400
_REPEAT_BYTES_MAX = 4_096
_TAGS_MAX = 20


def mutate(message: bytes, dice: Dice) -> bytes:
    """The message with something wrong; it may still be one."""
    return dice.one_of(_MUTATIONS)(message, dice)


def _flip(message: bytes, dice: Dice) -> bytes:
    changed = bytearray(message)
    for _ in range(dice.randrange(1, 9) if changed else 0):
        changed[dice.randrange(0, len(changed))] ^= 1 << dice.randrange(0, 8)
    return bytes(changed)


def _cut(message: bytes, dice: Dice) -> bytes:
    return message[: dice.randrange(0, len(message) + 1)]


def _repeat(message: bytes, dice: Dice) -> bytes:
    times = dice.one_of((2, 3, 50))
    return message * times if len(message) * times <= _REPEAT_BYTES_MAX else message * 2


def _splice(message: bytes, dice: Dice) -> bytes:
    place, end = sorted(dice.randrange(0, len(message) + 1) for _ in range(2))
    return message[:place] + message[end:] + message[place:end]


def _overwritten(message: bytes, dice: Dice) -> bytes:
    place = dice.randrange(0, len(message) + 1)
    byte = dice.one_of((b"\x00", b"\xff", b"\x7f", b"\x80", dice.randbytes(1)))
    run = byte * dice.randrange(1, 20)
    return message[:place] + run + message[place + len(run) :]


def _noise(message: bytes, dice: Dice) -> bytes:
    del message
    return dice.randbytes(dice.randrange(1, NOISE_BYTES_MAX))


def _giant_length(message: bytes, dice: Dice) -> bytes:
    tag = varint(dice.randrange(1, _TAGS_MAX) << 3 | 2)
    return message + tag + varint(dice.one_of((2**31 - 1, 2**32, 2**63, 1_000_000))) + b"x"


def _wrong_wire_type(message: bytes, dice: Dice) -> bytes:
    tag = varint(dice.randrange(1, _TAGS_MAX) << 3 | dice.randrange(0, 8))
    return message + tag + dice.randbytes(dice.randrange(0, 12))


def _long_number(message: bytes, dice: Dice) -> bytes:
    tag = varint(dice.randrange(1, _TAGS_MAX) << 3)
    return message + tag + b"\xff" * dice.randrange(9, 16) + b"\x7f"


def _nest(message: bytes, dice: Dice) -> bytes:
    inner = b""
    tag = varint(dice.randrange(1, 9) << 3 | 2)
    for _ in range(dice.one_of((50, 99, 101, 200))):
        inner = tag + varint(len(inner)) + inner
    return message + inner


def _groups(message: bytes, dice: Dice) -> bytes:
    start = varint(dice.randrange(1, _TAGS_MAX) << 3 | 3)
    return message + start * dice.one_of((1, 99, 101, 1_000))


def _no_utf8(message: bytes, dice: Dice) -> bytes:
    tag = varint(dice.randrange(1, 9) << 3 | 2)
    return message + tag + b"\x04" + dice.one_of((b"\xff\xfe\xfd\xfc", b"\xed\xa0\x80\x00"))


def _unknown_fields(message: bytes, dice: Dice) -> bytes:
    return message + b"".join(
        varint(dice.randrange(1_000, 2**29) << 3) + b"\x01" for _ in range(dice.randrange(1, 200))
    )


def varint(number: int) -> bytes:
    """As protobuf writes it."""
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


_MUTATIONS: tuple[Callable[[bytes, Dice], bytes], ...] = (
    *(_flip, _flip, _cut, _repeat, _splice, _overwritten, _noise, _giant_length),
    *(_wrong_wire_type, _long_number, _nest, _groups, _no_utf8, _unknown_fields),
)
