"""Feeds the readers of a log's small files what nobody wrote: none may raise, or take it for whole.

    python -m tests.log.checkpoint_fuzz --executions 1000000 --seed 1

Each execution damages one file's bytes, or makes noise, half the time under a CRC that fits, and
gives them to every reader. What a reader takes must read the same when it is written again.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from dataclasses import replace

from crc32c import crc32c

from tidelog.log.checkpoints import (
    Checkpoint,
    CleanMarker,
    IndexSeal,
    decode_checkpoint,
    decode_clean_marker,
    decode_partition,
    decode_topic_id,
    encode_checkpoint,
    encode_clean_marker,
    encode_partition_metadata,
    encode_topic_id,
)
from tidelog.log.epochs import EpochEntry
from tidelog.log.producer_snapshots import decode_snapshot, encode_snapshot
from tidelog.log.producers import BatchMetadata, ProducerEntry
from tidelog.log.transactions import EndedTransaction

TOPIC_ID = bytes(range(16))
CHECKPOINT = Checkpoint(TOPIC_ID, 70, 65, 7, 9, (EpochEntry(0, 0), EpochEntry(3, 41)))
OF_TRANSACTIONS = replace(
    CHECKPOINT,
    ended=(EndedTransaction(7, 40, 66), EndedTransaction(9, 12, 68)),
    aborted=(IndexSeal(0, 68, 0xFFFF_FFFF), IndexSeal(41, 34, 1)),
)
MARKER = CleanMarker(80, {"00000000000000000000.log": 12345, "00000000000000000000.index": 0})
ENTRIES = (
    ProducerEntry(7, 1, -1, 1000, None, (BatchMetadata(0, 4, 10, 14, 900),)),
    ProducerEntry(9, 0, 2, 2000, 15, (BatchMetadata(5, 5, 15, 15, 2000),)),
)
FILES = (
    encode_checkpoint(CHECKPOINT),
    encode_clean_marker(MARKER),
    encode_topic_id(TOPIC_ID),
    encode_snapshot(ENTRIES),
    encode_partition_metadata(TOPIC_ID, 3),
    encode_checkpoint(OF_TRANSACTIONS),
)
_WORDS = (b"version: 1\n", b"epochs: 99999999999\n", b": ", b"\n", b"-1", b"\xff\xfe", b"0 0\n")


def again(data: bytes) -> dict[str, bytes | None]:
    """What each reader makes of `data`, written again; None where it makes nothing of it."""
    checkpoint, marker = decode_checkpoint(data), decode_clean_marker(data)
    topic_id, entries = decode_topic_id(data), decode_snapshot(data)
    partition, metadata = decode_partition(data), encode_topic_id(topic_id or b"")
    if partition is not None:
        metadata = encode_partition_metadata(topic_id or b"", partition)
    return {
        "checkpoint": None if checkpoint is None else encode_checkpoint(checkpoint),
        "clean": None if marker is None else encode_clean_marker(marker),
        "partition": None if topic_id is None else metadata,
        "snapshot": None if entries is None else encode_snapshot(entries),
    }


def damaged(rng: random.Random) -> bytes:
    """Noise, or a file with bytes changed, cut, doubled or put in; half the time sealed anew."""
    if not rng.randrange(8):
        return rng.randbytes(rng.randrange(200))
    data = bytearray(rng.choice(FILES))
    for _ in range(rng.randrange(1, 4)):
        at = rng.randrange(len(data) + 1)
        put_in, length = rng.choice(
            [
                (rng.randbytes(1), 1),
                (b"", rng.randrange(40)),
                (rng.choice(_WORDS), 0),
                (bytes(data[:at][-20:]), 0),
            ]
        )
        data[at : at + length] = put_in
    return sealed(bytes(data)) if rng.randrange(2) else bytes(data)


def sealed(data: bytes) -> bytes:
    """The text with a CRC that fits, or a snapshot with one."""
    if data.startswith(b"version"):
        body = data[: data.rfind(b"crc32c")] if b"crc32c" in data else data
        return body + f"crc32c: {crc32c(body):08x}\n".encode()
    return data[:2] + crc32c(data[6:]).to_bytes(4, "big") + data[6:]


def run(executions: int, seed: int) -> Counter[str]:
    """How often each reader took what it was given; raises when one does what it must not."""
    rng, taken = random.Random(seed), Counter[str]()
    for number in range(executions):
        data = damaged(rng)
        for reader, written in again(data).items():
            if written is None:
                continue
            taken[reader] += 1
            # The same may be said otherwise: leading zeros, files in another order.
            if again(written)[reader] != written:
                raise SystemExit(f"seed {seed}, execution {number}: {reader} took {data!r}")
    return taken


def main() -> None:
    """Run as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--executions", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    began = time.monotonic()
    taken = run(options.executions, options.seed)
    took_s = time.monotonic() - began
    sys.stdout.write(f"{options.executions} executions, {took_s:.0f} s, taken: {dict(taken)}\n")


if __name__ == "__main__":
    main()
