"""The clients of `kafka_soak.py`: confluent-kafka's, unmodified, in a process of their own.

    python -m tests.benchmarks.kafka_soak_clients BOOTSTRAP FOLDER SEED RATE TOPIC:PARTITIONS …

Idempotent producers send RATE records a second together; a consumer reads all partitions along.
When standard input ends, every outcome is awaited, the consumer reads up to the end, and one JSON
line tells what it read. What producers were told is in FOLDER/receipts, see `soak_ledger`.
"""

from __future__ import annotations

import json
import random
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from functools import partial
from io import BufferedWriter
from pathlib import Path
from typing import Any

import confluent_kafka
from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition
from tests.benchmarks.soak_ledger import (
    ACKNOWLEDGED,
    OFFSET_UNKNOWN,
    UNKNOWN,
    Digest,
    Name,
    Place,
    Receipt,
)

PRODUCERS = 2
VALUE_BYTES = 100
BURST_S = 0.05
BUFFER_WAIT_S = 0.1
FLUSH_S, DRAIN_S = 120.0, 180.0
POLL_S = 0.2
PRODUCER_OPTIONS: Sequence[dict[str, Any]] = (  # options of librdkafka
    {},
    {"linger.ms": 20, "compression.type": "lz4"},
)


class Receipts:
    """The file of receipts; producers' threads write it in turns."""

    def __init__(self, file: BufferedWriter) -> None:
        self._file = file
        self._lock = threading.Lock()

    def add(self, receipt: Receipt) -> None:
        """Write down what a producer was told of a record."""
        with self._lock:
            self._file.write(receipt.to_bytes())


class Writer:
    """One producer, in a thread of its own; every record has its own name, and one receipt."""

    def __init__(
        self, number: int, bootstrap: str, places: Sequence[Place], receipts: Receipts
    ) -> None:
        self._number = number
        self._places = places
        self._receipts = receipts
        self._next = [0] * len(places)
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "client.id": f"writer-{number}",
                "enable.idempotence": True,
                **PRODUCER_OPTIONS[number % len(PRODUCER_OPTIONS)],
            }
        )
        self.errors: Counter[str] = Counter()

    def run(self, stop: threading.Event, rng: random.Random, *, rate: float) -> None:
        """Send until told to stop, then wait for every outcome."""
        sent, began_s = 0, time.monotonic()
        while not stop.is_set():
            # After a wait for the buffer it does not hurry to make up for more than a second.
            now_s = time.monotonic()
            began_s = max(began_s, now_s - 1.0 - sent / rate)
            due = int((now_s - began_s) * rate) - sent
            place = rng.randrange(len(self._places))
            for _ in range(due):
                self._send(place)
            sent += max(0, due)
            self._producer.poll(BURST_S * rng.uniform(0.5, 1.5))
        if left := self._producer.flush(FLUSH_S):
            self.errors["no outcome"] += left

    def _send(self, place: int) -> None:
        name = Name(self._number, place, self._next[place])
        topic, partition = self._places[place]
        while True:
            try:
                self._producer.produce(
                    topic,
                    value=name.value(VALUE_BYTES),
                    partition=partition,
                    on_delivery=partial(self._on_delivery, name),
                )
            except BufferError:  # not taken
                self._producer.poll(BUFFER_WAIT_S)
            else:
                self._next[place] += 1
                return

    def _on_delivery(self, name: Name, error: KafkaError | None, message: Message) -> None:
        if error is None:
            offset = message.offset()
            stored = OFFSET_UNKNOWN if offset is None or offset < 0 else offset
            self._receipts.add(Receipt(name, stored, ACKNOWLEDGED))
            return
        self.errors[f"{error.name()}: {error.str()}"[:200]] += 1
        self._receipts.add(Receipt(name, OFFSET_UNKNOWN, UNKNOWN))


class Reader:
    """One consumer of all places, which digests what it reads."""

    def __init__(self, bootstrap: str, places: Sequence[Place]) -> None:
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": "none",
                "enable.auto.commit": False,
                "auto.offset.reset": "error",
            }
        )
        self._indexes = {place: number for number, place in enumerate(places)}
        self._next = [0] * len(places)
        self.digests = [Digest() for _ in places]
        self.errors: Counter[str] = Counter()

    def run(self, stop: threading.Event) -> None:
        """Read until told to stop, then up to the end."""
        self._consumer.assign([TopicPartition(*place, 0) for place in self._indexes])
        while not stop.is_set():
            self._poll()
        ends_s = time.monotonic() + DRAIN_S
        while not self._is_at_the_end():
            if time.monotonic() > ends_s:
                self.errors["not read to the end"] += 1
                break
            self._poll()
        self._consumer.close()

    def _is_at_the_end(self) -> bool:
        try:
            ends = [
                self._consumer.get_watermark_offsets(TopicPartition(*place), timeout=DRAIN_S / 10)
                for place in self._indexes
            ]
        except confluent_kafka.KafkaException as error:
            self._note(error.args[0])
            return False
        return all(end <= self._next[number] for number, (_, end) in enumerate(ends))

    def _poll(self) -> None:
        for message in self._consumer.consume(500, POLL_S):
            error = message.error()
            if error is not None:
                self._note(error)
                continue
            topic, partition, offset = message.topic(), message.partition(), message.offset()
            assert topic is not None
            assert partition is not None
            assert offset is not None
            number = self._indexes[topic, partition]
            self.digests[number].add(offset, message.value())
            self._next[number] = offset + 1

    def _note(self, error: KafkaError) -> None:
        self.errors[f"{error.name()}: {error.str()}"[:200]] += 1


def run(bootstrap: str, folder: Path, *, seed: int, rate: float, places: list[Place]) -> None:
    """Write and read until standard input ends; print what was read."""
    stop_reading, stop_writing = threading.Event(), threading.Event()
    reader = Reader(bootstrap, places)
    reading = threading.Thread(target=reader.run, args=(stop_reading,))
    reading.start()
    with (folder / "receipts").open("wb") as file:
        receipts = Receipts(file)
        writers = [Writer(number, bootstrap, places, receipts) for number in range(PRODUCERS)]
        writing = [
            threading.Thread(
                target=writer.run,
                args=(stop_writing, random.Random(f"{seed}-{number}")),
                kwargs={"rate": rate / PRODUCERS},
            )
            for number, writer in enumerate(writers)
        ]
        for thread in writing:
            thread.start()
        sys.stdin.read()
        stop_writing.set()
        for thread in writing:
            thread.join()
    stop_reading.set()
    reading.join()
    told = {
        "producer_errors": dict(sum((one.errors for one in writers), Counter[str]())),
        "consumer_errors": dict(reader.errors),
        "digests": [[[one.records, one.crc] for one in reader.digests]],
    }
    sys.stdout.write(json.dumps(told) + "\n")


def main(arguments: Sequence[str]) -> None:
    """See the module."""
    bootstrap, folder, seed, rate, *topics = arguments
    places = [
        (topic, partition)
        for topic, count in (named.split(":") for named in topics)
        for partition in range(int(count))
    ]
    run(bootstrap, Path(folder), seed=int(seed), rate=float(rate), places=places)


if __name__ == "__main__":
    main(sys.argv[1:])
