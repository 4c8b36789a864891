"""Feeds the batch decoder what nobody should send, and counts what becomes of it.

    python -m tests.records.decoder_fuzz --executions 1000000 --seed 1

Each execution damages one batch, under a wrong or a right CRC, before or after compression, or
makes noise of its own, and gives it to every part of the decoder. Whatever is not one of `REFUSALS`
ends the run with the seed that finds it again.
"""

from __future__ import annotations

import argparse
import random
import resource
import sys
import time
from collections import Counter, deque
from collections.abc import Callable

from tidelog.core.errors import (
    CorruptMessageError,
    InvalidRecordError,
    MessageTooLargeError,
    UnsupportedCompressionTypeError,
)
from tidelog.records.batch import (
    CONTROL_FLAG,
    HEADER_BYTES,
    BatchHeader,
    iter_batches,
    parse_header,
    seal,
    validate_batches,
)
from tidelog.records.compression import Codec, compress, decompress
from tidelog.records.records import Record, encode_batch, iter_records, read_marker, rebuild_batch

REFUSALS = (
    CorruptMessageError,
    InvalidRecordError,
    UnsupportedCompressionTypeError,
    MessageTooLargeError,
)
MEMORY_GROWTH_BYTES_MAX = 128 << 20
_MAX_BYTES = 1 << 20
_EDGES = (0, 1, 0x7F, 0x80, 0xFE, 0xFF)
_FIELDS = {
    "attributes": range(-(2**15), 2**15),
    "last_offset_delta": range(-(2**31), 2**31),
    "base_timestamp": range(-(2**63), 2**63),
    "max_timestamp": range(-(2**63), 2**63),
    "base_offset": range(-(2**63), 2**63),
    "records_count": range(-(2**31), 2**31),
}


def sound_batches() -> list[bytes]:
    """Batches to damage: each codec, short and long, whole and compacted, and markers."""
    headers = (("h", b"x"), ("n", None), ("ü", b""))
    shapes = [
        [Record(0, 5, None, None)],
        [Record(0, 1000 + at * 7, b"key", b"v" * at, headers[: at % 4]) for at in range(12)],
        [Record(0, 2**41, b"k" * 200, bytes(2000))],
    ]
    batches = [encode_batch(shape, compression=codec) for codec in Codec for shape in shapes]
    kept = list(iter_records(batches[1]))[3:9:2]
    batches.append(rebuild_batch(parse_header(batches[1]), kept, delete_horizon_ms=2**42))
    batches.append(rebuild_batch(parse_header(batches[1]), [], delete_horizon_ms=None))
    marker = encode_batch([Record(0, 5, b"\0\0\0\1", bytes(6))])
    fields = parse_header(marker)._replace(attributes=CONTROL_FLAG)
    return [*batches, seal(fields, marker[HEADER_BYTES:])]


def damaged(rng: random.Random, sound: list[bytes]) -> bytes:
    """One input: noise, or a batch that is damaged somewhere."""
    batch = rng.choice(sound)
    header, payload = parse_header(batch), batch[HEADER_BYTES:]
    match rng.randrange(5):
        case 0:
            return rng.randbytes(rng.randrange(200))
        case 1:
            return _edited(rng, batch)
        case 2:
            fields = header._replace(attributes=rng.randrange(8))
            return _sealed(rng, fields, rng.randbytes(rng.randrange(100)))
        case 3:
            return _sealed(rng, header, _edited(rng, payload))
        case _:
            plain = decompress(header.codec_id, payload, max_bytes=_MAX_BYTES)
            codec = Codec(header.codec_id)
            return _sealed(rng, header, compress(codec, _edited(rng, plain)))


def _edited(rng: random.Random, data: bytes) -> bytes:
    edited = bytearray(data)
    for _ in range(rng.choice((0, 1, 1, 2, 5))):
        at = rng.randrange(len(edited) + 1)
        match rng.randrange(5):
            case 0:
                edited[at : at + 1] = bytes((rng.choice(_EDGES),))
            case 1:
                edited[at : at + 1] = rng.randbytes(1)
            case 2:
                del edited[at : at + rng.randrange(1, 20)]
            case 3:
                edited[at:at] = edited[: rng.randrange(20)]
            case _:
                edited[at:at] = b"\xff" * rng.randrange(12) + b"\x01"
    return bytes(edited)


def _sealed(rng: random.Random, fields: BatchHeader, payload: bytes) -> bytes:
    """Under a right CRC, sometimes with a field that is not right."""
    if not rng.randrange(4):
        name = rng.choice(sorted(_FIELDS))
        values = _FIELDS[name]
        near = rng.randrange(-3, 40)
        fields = fields._replace(**{name: rng.choice((values[0], values[-1], near))})
    return seal(fields, payload)


def _read(data: bytes) -> None:
    deque(iter_records(data), maxlen=0)


def _walk(data: bytes) -> None:
    for _, batch in iter_batches(data):
        _read(bytes(batch))


STEPS: dict[str, Callable[[bytes], object]] = {
    "parse_header": parse_header,
    "iter_batches": _walk,
    "validate_batches": lambda data: validate_batches(data, max_message_bytes=_MAX_BYTES),
    "iter_records": _read,
    "read_marker": read_marker,
}


def decode(data: bytes) -> dict[str, str]:
    """What each part of the decoder said of `data`: "taken", or the class of its refusal."""
    said = {}
    for name, step in STEPS.items():
        try:
            step(data)
            said[name] = "taken"
        except REFUSALS as refusal:
            said[name] = type(refusal).__name__
    return said


def fuzz(*, executions: int, seed: int) -> Counter[tuple[str, str]]:
    """How often each part said what."""
    sound = sound_batches()
    counts: Counter[tuple[str, str]] = Counter()
    for execution in range(executions):
        data = damaged(random.Random(seed * 2**32 + execution), sound)
        try:
            counts.update(decode(data).items())
        except Exception as error:
            error.add_note(f"seed {seed}, execution {execution}: {data.hex()}")
            raise
    return counts


def _peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def main() -> None:
    """Run as the module's docstring says; writes the counts."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--executions", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    fuzz(executions=1000, seed=0)
    started, before = time.monotonic(), _peak_bytes()
    counts = fuzz(executions=options.executions, seed=options.seed)
    seconds, grown = time.monotonic() - started, _peak_bytes() - before
    for (step, outcome), count in sorted(counts.items()):
        sys.stdout.write(f"{step:18}{outcome:34}{count:10,}\n")
    sys.stdout.write(
        f"{options.executions:,} executions in {seconds:.0f} s, {grown >> 20} MiB more memory\n"
    )
    assert grown < MEMORY_GROWTH_BYTES_MAX


if __name__ == "__main__":
    main()
