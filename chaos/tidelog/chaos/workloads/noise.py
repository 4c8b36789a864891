"""Bytes for ports, of no client: the n-th of a seed the same wherever it is made. Pure.

Frames are those of RFC 9113, header blocks literals of RFC 7541 without an index.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tidelog.chaos.workloads.dice import Dice

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_TLS_HELLO = bytes.fromhex("16030100c8010000c40303") + bytes(193)
_PATHS = (b"/tidelog.v1.Broker/Metadata", b"/tidelog.v1.Controller/FollowMetadata", b"/", b"x" * 9)
DATA, HEADERS, PRIORITY, RESET, SETTINGS, PUSH, PING, GOAWAY, WINDOW, CONTINUATION = range(10)
_LEFT_OPEN = 0.05
_END_STREAM, _END_HEADERS = 1, 4


@dataclass(frozen=True, slots=True)
class Noise:
    """A connection: the bytes sent on it, and whether it then waits to be closed."""

    place: int
    data: bytes
    is_left_open: bool


def noise(seed: int, place: int) -> Noise:
    """The connection with this number."""
    dice = Dice(seed, place)
    return Noise(place, dice.one_of(_KINDS)(dice), dice.happens(_LEFT_OPEN))


def frame(kind: int, *, flags: int = 0, stream: int = 0, payload: bytes = b"") -> bytes:
    """A frame with the right length."""
    head = len(payload).to_bytes(3, "big") + bytes((kind, flags)) + stream.to_bytes(4, "big")
    return head + payload


def call_headers(path: bytes) -> bytes:
    """The header block of a gRPC call."""
    pairs = (
        *((b":method", b"POST"), (b":scheme", b"http"), (b":path", path), (b":authority", b"x")),
        *((b"te", b"trailers"), (b"content-type", b"application/grpc")),
    )
    return b"".join(
        b"\x00" + bytes((len(name),)) + name + bytes((len(value),)) + value for name, value in pairs
    )


def _random(dice: Dice) -> bytes:
    return dice.randbytes(dice.randrange(1, 600))


def _tls(dice: Dice) -> bytes:
    return _TLS_HELLO[: dice.randrange(1, len(_TLS_HELLO) + 1)]


def _http(dice: Dice) -> bytes:
    verb = dice.one_of((b"GET", b"POST", b"PRI", b"CONNECT", b"\x00"))
    target = dice.one_of((b"/", b"/metrics", b"/health", b"/" + b"a" * 9_000, b"http://x/../.."))
    lines = dice.one_of(
        (b"", b"Content-Length: 99999999999\r\n", b"Transfer-Encoding: chunked\r\n")
    )
    return verb + b" " + target + b" HTTP/1.1\r\nHost: x\r\n" + lines + b"\r\nffffffffff\r\n"


def _half(dice: Dice) -> bytes:
    return PREFACE[: dice.randrange(0, len(PREFACE))]


def _greeting(dice: Dice) -> bytes:
    del dice
    return PREFACE + frame(SETTINGS)


def _random_frames(dice: Dice) -> bytes:
    frames = [
        frame(
            dice.randrange(0, 12),
            flags=dice.randrange(0, 256),
            stream=dice.one_of((0, 1, 2, 3, 2**31 - 1, 2**32 - 1)),
            payload=dice.randbytes(dice.one_of((0, 1, 4, 5, 6, 8, 100))),
        )
        for _ in range(dice.randrange(1, 30))
    ]
    return _greeting(dice) + b"".join(frames)


def _giant_frame(dice: Dice) -> bytes:
    kind = dice.one_of((DATA, HEADERS, SETTINGS, PING))
    return _greeting(dice) + b"\xff\xff\xff" + bytes((kind, 0, 0, 0, 0, 1)) + dice.randbytes(50)


def _giant_message(dice: Dice) -> bytes:
    """A call whose message claims to be four gigabytes."""
    opened = frame(HEADERS, flags=_END_HEADERS, stream=1, payload=call_headers(dice.one_of(_PATHS)))
    lie = dice.one_of((b"\x00\xff\xff\xff\xff", b"\x01\x00\x00\x00\x05", b"\x07\x7f\xff\xff\xff"))
    return _greeting(dice) + opened + frame(DATA, stream=1, payload=lie + dice.randbytes(64))


def _half_a_call(dice: Dice) -> bytes:
    """Headers that go on and on, or a call that never says what it asks."""
    flags = dice.one_of((0, _END_HEADERS))
    opened = frame(HEADERS, flags=flags, stream=1, payload=call_headers(dice.one_of(_PATHS)))
    more = frame(CONTINUATION, stream=1, payload=b"\x00\x01a\x01b" * 20)
    return _greeting(dice) + opened + more * dice.one_of((0, 1, 50))


def _bad_headers(dice: Dice) -> bytes:
    block = dice.one_of((dice.randbytes(40), b"\x3f\xff\xff\xff\xff\xff\xff", b"\xff" * 30))
    return _greeting(dice) + frame(
        HEADERS, flags=_END_HEADERS | _END_STREAM, stream=1, payload=block
    )


def _resets(dice: Dice) -> bytes:
    """Calls opened and reset at once (CVE-2023-44487)."""
    said = _greeting(dice)
    for stream in range(1, 2 * dice.one_of((5, 200)), 2):
        block = call_headers(_PATHS[0])
        said += frame(HEADERS, flags=_END_HEADERS, stream=stream, payload=block)
        said += frame(RESET, stream=stream, payload=b"\x00\x00\x00\x08")
    return said


def _floods(dice: Dice) -> bytes:
    one = dice.one_of(
        (
            frame(PING, payload=bytes(8)),
            frame(SETTINGS),
            frame(SETTINGS, payload=b"\x00\x04\xff\xff\xff\xff"),
            frame(WINDOW, payload=b"\x7f\xff\xff\xff"),
            frame(DATA, stream=1, payload=b""),
            frame(GOAWAY, payload=bytes(8)),
        )
    )
    return _greeting(dice) + one * 300


_KINDS: tuple[Callable[[Dice], bytes], ...] = (
    *(_random, _tls, _http, _half, _greeting, _random_frames, _giant_frame, _giant_message),
    *(_half_a_call, _bad_headers, _resets, _floods),
)
