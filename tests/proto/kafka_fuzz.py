"""Feeds the decoders of Kafka's messages what nobody should send, and counts what becomes of it.

    PYTHONPATH=tools python -m tests.proto.kafka_fuzz --executions 1000000 --seed 1

Each execution damages a message of one version, or makes noise of its own, and has it decoded. What
is taken is encoded and decoded again, and must be the same. Whatever is not a refusal ends the run
with the seed that finds it again.
"""

from __future__ import annotations

import argparse
import random
import resource
import sys
import time
from collections import Counter
from typing import Any

from tests.proto.kafka_values import (
    SHAPES,
    VERSIONS,
    Value,
    decoded,
    default,
    encoded,
    ours,
)

from kafka_layouts import Layout, Shapes, Slot
from tidelog.broker.kafka.request_header import ApiForm, RefusedFrameError, read_header
from tidelog.kafka.errors import MalformedMessageError

MEMORY_GROWTH_BYTES_MAX = 128 << 20
_EDGES = (0, 1, 2, 0x7E, 0x7F, 0x80, 0xFE, 0xFF)
_LIES = (
    *(b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff", b"\xff\xff\xff\xfe", b"\x80\x00\x00\x00"),
    *(b"\x7f\xff", b"\x80\x00", b"\xff\xff\xff\xff\x0f", b"\xff\xff\xff\xff\x7f", b"\x80" * 12),
    *(b"\x00\x01\x00\x00", b"\x80\x80\x04", b"\x81\x00"),
)
"""Lengths and counts that are not true, in both forms."""


def sound(rng: random.Random, name: str, version: int) -> bytes:
    """A message of a version, whose lists are short and seldom empty."""
    shapes = SHAPES[name]
    value = _struct(rng, shapes.layout(version), shapes)
    return encoded(ours(name, version, value), version)


def _struct(rng: random.Random, layout: Layout, shapes: Shapes) -> Value:
    return {slot.name: _slot(rng, slot, layout, shapes) for slot in layout.slots}


def _slot(rng: random.Random, slot: Slot, layout: Layout, shapes: Shapes) -> Any:
    if slot.tag is not None and rng.randrange(2):
        return default(shapes, layout.struct, slot)
    if slot.is_nullable and not rng.randrange(4):
        return None
    if slot.is_array:
        return [_one(rng, slot, shapes) for _ in range(rng.choice((0, 1, 1, 2, 3)))]
    return _one(rng, slot, shapes)


def _one(rng: random.Random, slot: Slot, shapes: Shapes) -> Any:
    if slot.inner is not None:
        return _struct(rng, slot.inner, shapes)
    match slot.element:
        case "string":
            return rng.choice(("", "a", "topic", "ü" * 70))
        case "bytes" | "records":
            return rng.randbytes(rng.choice((0, 1, 9, 130)))
        case "uuid":
            return rng.randbytes(16)
        case "bool":
            return bool(rng.randrange(2))
    return rng.choice((0, 1, 2, 100))


def damaged(rng: random.Random, name: str, version: int, data: bytes) -> bytes:
    """One input: noise, or a message that is damaged somewhere."""
    if not rng.randrange(8):
        return rng.randbytes(rng.randrange(120))
    edited = bytearray(data)
    for _ in range(rng.choice((0, 1, 1, 2, 5))):
        at = rng.randrange(len(edited) + 1)
        match rng.randrange(6):
            case 0:
                edited[at : at + 1] = bytes((rng.choice(_EDGES),))
            case 1:
                edited[at : at + 1] = rng.randbytes(1)
            case 2:
                del edited[at : at + rng.randrange(1, 20)]
            case 3:
                edited[at:at] = edited[: rng.randrange(20)]
            case 4:
                lie = rng.choice(_LIES)
                edited[at : at + len(lie)] = lie
            case _:
                edited[at:at] = rng.choice(_LIES)
    return bytes(edited)


def decode(name: str, version: int, data: bytes) -> str:
    """What became of `data`: "taken", or the class of its refusal."""
    try:
        message = decoded(name, data, version)
    except MalformedMessageError as refusal:
        if (refusal.message, refusal.version) != (name, version):
            raise
        return type(refusal).__name__
    again = encoded(message, version)
    assert encoded(decoded(name, again, version), version) == again
    return "taken"


def fuzz(*, executions: int, seed: int) -> Counter[str]:
    """How often what became of an input."""
    rng = random.Random(seed)
    samples = [(name, version, sound(rng, name, version)) for name, version in VERSIONS]
    counts: Counter[str] = Counter()
    for execution in range(executions):
        rng = random.Random(seed * 2**32 + execution)
        name, version, data = rng.choice(samples)
        edited = damaged(rng, name, version, data)
        try:
            counts[decode(name, version, edited)] += 1
            counts[f"header {_read_header(edited)}"] += 1
        except Exception as error:
            error.add_note(f"seed {seed}, execution {execution}: {name} {version} {edited.hex()}")
            raise
    return counts


def _read_header(data: bytes) -> str:
    try:
        read_header(memoryview(data), lambda _key, version: ApiForm(1 + version % 2, 0))
    except RefusedFrameError as refusal:
        return type(refusal).__name__
    return "taken"


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
    for outcome, count in sorted(counts.items()):
        sys.stdout.write(f"{outcome:34}{count:12,}\n")
    sys.stdout.write(
        f"{options.executions:,} executions in {seconds:.0f} s, {grown >> 20} MiB more memory\n"
    )
    assert grown < MEMORY_GROWTH_BYTES_MAX


if __name__ == "__main__":
    main()
