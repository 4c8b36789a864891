"""What a peer does for the figures of transactions, by confluent-kafka: see `transactions_loads`.

Calls block, so each load has a thread.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any

from tests.benchmarks.groups_sides import confluent
from tests.benchmarks.transactions_loads import CHUNK, VALUE, WAIT_MS, WARM, WINDOW

from tidelog.broker.coordinator.group_key import partition_of
from tidelog.core.internal_topics import TRANSACTIONS_TOPIC

CALL_S = 30.0
READ_RECORDS = 1_000


class PeerLoads:
    """Loads on a running Apache Kafka. Of the same methods as `Loads`, those that it can do."""

    def __init__(self, bootstrap: str) -> None:
        self._kafka = confluent("confluent_kafka")
        self._bootstrap = bootstrap

    def _producer(self, transactional_id: str | None) -> Any:
        options: dict[str, Any] = {
            "bootstrap.servers": self._bootstrap,
            "enable.idempotence": True,
            "queue.buffering.max.messages": CHUNK * WINDOW,
            "log_level": 0,
        }
        if transactional_id is not None:
            options["transactional.id"] = transactional_id
        producer = self._kafka.Producer(options)
        if transactional_id is not None:
            producer.init_transactions(CALL_S)
        return producer

    async def produce(self, topic: str, seconds: float, commit_every_s: float | None) -> float:
        """See `Loads`."""
        return await asyncio.to_thread(self._produce, topic, seconds, commit_every_s)

    def _produce(self, topic: str, seconds: float, commit_every_s: float | None) -> float:
        producer = self._producer(None if commit_every_s is None else f"produce-{time.time_ns()}")
        for warm_s in (1.0, seconds):
            rate = self._produce_for(producer, topic, warm_s, commit_every_s)
        return rate

    def _produce_for(
        self, producer: Any, topic: str, seconds: float, commit_every_s: float | None
    ) -> float:
        began_s, sent = time.monotonic(), 0
        due_s = began_s
        if commit_every_s is not None:
            producer.begin_transaction()
            due_s += commit_every_s
        while (now_s := time.monotonic()) < began_s + seconds:
            if commit_every_s is not None and now_s >= due_s:
                producer.commit_transaction(CALL_S)
                producer.begin_transaction()
                due_s = now_s + commit_every_s
            for _ in range(CHUNK):
                self._produce_one(producer, topic)
            sent += CHUNK
        if commit_every_s is None:
            producer.flush(CALL_S)
        else:
            producer.commit_transaction(CALL_S)
        return sent / (time.monotonic() - began_s)

    def _produce_one(self, producer: Any, topic: str) -> None:
        while True:
            try:
                producer.produce(topic, VALUE, on_delivery=self._check)
            except BufferError:
                producer.poll(0.01)
            else:
                return

    def _check(self, error: Any, message: Any) -> None:  # of confluent-kafka
        del message
        if error is not None:
            raise RuntimeError(f"a record failed: {error}")

    async def commits(self, topic: str, seconds: float, *, name: str = "commits") -> list[float]:
        """See `Loads`."""
        return await asyncio.to_thread(self._commits, topic, seconds, name)

    def _commits(self, topic: str, seconds: float, name: str) -> list[float]:
        producer, took_s = self._producer(name), []
        for _ in range(WARM):
            self._one(producer, topic)
        end_s = time.monotonic() + seconds
        while time.monotonic() < end_s:
            took_s.append(self._one(producer, topic))
        return took_s

    def _one(self, producer: Any, topic: str) -> float:
        began_s = time.monotonic()
        producer.begin_transaction()
        producer.produce(topic, VALUE, partition=0, on_delivery=self._check)
        producer.flush(CALL_S)  # else it waits for linger.ms
        producer.commit_transaction(CALL_S)
        return time.monotonic() - began_s

    async def commit_times(self, topic: str, name: str, until: asyncio.Event) -> list[float]:
        """See `Loads`."""

        def repeat() -> list[float]:
            producer, times_s = self._producer(name), []
            while not until.is_set():
                self._one(producer, topic)
                times_s.append(time.monotonic())
            return times_s

        return await asyncio.to_thread(repeat)

    async def coordinator(self, name: str) -> int:
        """See `Loads`: the leader of the id's partition, by the hash that Kafka has."""
        return await asyncio.to_thread(self._coordinator, name)

    def _coordinator(self, name: str) -> int:
        admin = confluent("confluent_kafka.admin").AdminClient(
            {"bootstrap.servers": self._bootstrap, "log_level": 0}
        )
        partitions = admin.list_topics(TRANSACTIONS_TOPIC, timeout=CALL_S)
        found = partitions.topics[TRANSACTIONS_TOPIC].partitions
        return int(found[partition_of(name, len(found))].leader)

    async def fill(self, topic: str, records: int) -> None:
        """See `Loads`."""
        await asyncio.to_thread(self._fill, topic, records)

    def _fill(self, topic: str, records: int) -> None:
        producer = self._producer("fill")
        for _ in range(records // CHUNK):
            producer.begin_transaction()
            for _ in range(CHUNK):
                self._produce_one(producer, topic)
            producer.commit_transaction(CALL_S)

    async def read(self, topic: str, partitions: int, records: int, *, committed: bool) -> float:
        """See `Loads`."""
        return await asyncio.to_thread(self._read, topic, partitions, records, committed)

    def _read(self, topic: str, partitions: int, records: int, committed: bool) -> float:
        consumer = self._kafka.Consumer(
            {
                "bootstrap.servers": self._bootstrap,
                "group.id": "read",
                "enable.auto.commit": False,
                "isolation.level": "read_committed" if committed else "read_uncommitted",
                "fetch.queue.backoff.ms": 5,
                "log_level": 0,
            }
        )
        consumer.assign(
            [self._kafka.TopicPartition(topic, number, 0) for number in range(partitions)]
        )
        try:
            found = consumer.consume(1, WAIT_MS / 1000)
            began_s, got = time.monotonic(), 0
            while True:
                if not found:
                    raise RuntimeError(f"only {got} of {records} records arrived")
                got += sum([one.error() is None and one.value() is not None for one in found])
                if got >= records:
                    return got / (time.monotonic() - began_s)
                found = consumer.consume(READ_RECORDS, WAIT_MS / 1000)
        finally:
            consumer.close()
