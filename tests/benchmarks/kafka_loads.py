"""Loads of Kafka's own producers, and when each record was acknowledged."""

from __future__ import annotations

import asyncio
import json
import subprocess
import threading
import time
from collections.abc import Sequence
from itertools import pairwise
from typing import Self

from tests.benchmarks.groups_sides import confluent

LIMIT_S = 60.0
KEYS = 120
"""Of Java's records, in turn: enough that each of a dozen partitions has some."""


class Acks:
    """Acknowledgements by partition, times by the monotonic clock; another thread adds to them."""

    def __init__(self, partitions: int) -> None:
        self.acks_s: list[list[float]] = [[] for _ in range(partitions)]
        self.took_ms: list[float] = []
        self._is_over = False
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._is_over = True
        self._thread.join()

    def _run(self) -> None:
        raise NotImplementedError

    async def until_acknowledged(self, partitions: Sequence[int], since_s: float) -> None:
        """Wait until each of them has taken a record since then."""
        async with asyncio.timeout(LIMIT_S):
            while any(  # noqa: ASYNC110  # another thread's
                not self.acks_s[one] or self.acks_s[one][-1] <= since_s for one in partitions
            ):
                await asyncio.sleep(0.01)

    def silence_s(self, partition: int, since_s: float) -> float:
        """The longest time without an acknowledgement, from `since_s` on."""
        times = [since_s, *(ack_s for ack_s in self.acks_s[partition] if ack_s > since_s)]
        return max(after - before for before, after in pairwise(times))


class Load(Acks):
    """A producer of confluent-kafka with one record on its way to each partition."""

    def __init__(self, bootstrap: str, topic: str, partitions: int) -> None:
        super().__init__(partitions)
        self._topic = topic
        self._producer = confluent("confluent_kafka").Producer(
            {"bootstrap.servers": bootstrap, "log_level": 0}
        )

    def _run(self) -> None:
        for partition in range(len(self.acks_s)):
            self._send(partition)
        while not self._is_over:
            self._producer.poll(0.1)

    def _send(self, partition: int) -> None:
        sent_s = time.monotonic()

        def acknowledged(error: object, _message: object) -> None:
            if error is None:
                acked_s = time.monotonic()
                self.acks_s[partition].append(acked_s)
                self.took_ms.append((acked_s - sent_s) * 1000)
            if not self._is_over:
                self._send(partition)

        self._producer.produce(
            self._topic, value=b"v" * 100, partition=partition, on_delivery=acknowledged
        )


class JavaLoad(Acks):
    """Java's producer, as Apache's VerifiableProducer runs it: 1,000 records a second to any."""

    def __init__(self, bootstrap: str, topic: str, partitions: int, *, jars: str) -> None:
        super().__init__(partitions)
        self._command = [
            *("java", "-cp", f"{jars}/*", "org.apache.kafka.tools.VerifiableProducer"),
            *("--bootstrap-server", bootstrap, "--topic", topic, "--acks", "-1"),
            # Without keys its records would go to one partition for a batch.
            *("--throughput", "1000", "--repeating-keys", str(KEYS)),
        ]

    def _run(self) -> None:
        with subprocess.Popen(
            self._command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        ) as process:
            assert process.stdout is not None
            for line in process.stdout:
                if self._is_over:
                    break
                said = json.loads(line)
                if said["name"] == "producer_send_success":
                    self.acks_s[said["partition"]].append(time.monotonic())
            process.kill()
