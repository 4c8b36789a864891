"""Members of groups made of Kafka's own clients: each polls and commits in a thread of its own."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any, NamedTuple

import aiokafka
import confluent_kafka
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor

kafka: Any = import_module("kafka")  # to type checkers the folders of this name are it
POLL_S = 0.2
DEADLINE_S = 180
"""Two JVMs of members take most of it to start on a machine that is busy."""
Partitions = frozenset[tuple[str, int]]
PYTHON_ASSIGNORS = {
    "range": ("range", "RangePartitionAssignor"),
    "roundrobin": ("roundrobin", "RoundRobinPartitionAssignor"),
    "sticky": ("sticky.sticky_assignor", "StickyPartitionAssignor"),
    "cooperative-sticky": ("cooperative_sticky", "CooperativeStickyAssignor"),
}
AIO_ASSIGNORS = {
    "range": RangePartitionAssignor,
    "roundrobin": RoundRobinPartitionAssignor,
    "sticky": StickyPartitionAssignor,
}


class Joining(NamedTuple):
    """How a member joins."""

    bootstrap: str
    group_id: str
    topic: str
    strategy: str = "range"
    instance_id: str | None = None


class Member:
    """A member that runs; what it reads is committed before it is told."""

    def __init__(self, joining: Joining) -> None:
        self.joining = joining
        self.owned: Partitions = frozenset()
        self.values: list[bytes] = []
        self.failure: BaseException | None = None
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Leave the group (a static member does not) and wait for its end."""
        self._is_over.set()
        self._thread.join(DEADLINE_S)
        assert not self._thread.is_alive()
        assert self.failure is None

    def _run(self) -> None:
        try:
            self.work()
        except BaseException as error:  # noqa: BLE001  # told in the test's thread
            self.failure = error

    @property
    def is_over(self) -> bool:
        """True when it has to leave."""
        return self._is_over.is_set()

    def work(self) -> None:
        """Poll and commit until it is over, then close."""
        raise NotImplementedError


class ConfluentMember(Member):
    """One of confluent-kafka; the strategy `consumer` is the consumer protocol."""

    def work(self) -> None:
        joining = self.joining
        config: dict[str, Any] = {
            "bootstrap.servers": joining.bootstrap,
            "group.id": joining.group_id,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "topic.metadata.refresh.interval.ms": 1_000,
        }
        if joining.strategy == "consumer":
            config["group.protocol"] = "consumer"
        else:
            config["partition.assignment.strategy"] = joining.strategy
            config["session.timeout.ms"] = 10_000
            config["heartbeat.interval.ms"] = 500
        if joining.instance_id is not None:
            config["group.instance.id"] = joining.instance_id
        consumer = confluent_kafka.Consumer(config)
        consumer.subscribe([joining.topic])
        try:
            while not self.is_over:
                message = consumer.poll(POLL_S)
                self.owned = frozenset((one.topic, one.partition) for one in consumer.assignment())
                if message is None:
                    continue
                error = message.error()
                if error is None:
                    committed(consumer, message)
                    self.values.append(message.value() or b"")
                elif not error.retriable():
                    raise confluent_kafka.KafkaException(error)
        finally:
            consumer.close()


def committed(consumer: confluent_kafka.Consumer, message: confluent_kafka.Message) -> None:
    """Commit, again while the coordinator moves."""
    end_s = time.monotonic() + DEADLINE_S
    while True:
        try:
            consumer.commit(message=message, asynchronous=False)
            return
        except confluent_kafka.KafkaException as error:
            if not error.args[0].retriable() or time.monotonic() > end_s:
                raise
            time.sleep(POLL_S)


class PythonMember(Member):
    """One of kafka-python."""

    def work(self) -> None:
        joining = self.joining
        module, name = PYTHON_ASSIGNORS[joining.strategy]
        assignor = getattr(import_module(f"kafka.coordinator.assignors.{module}"), name)
        consumer = kafka.KafkaConsumer(
            joining.topic,
            bootstrap_servers=joining.bootstrap,
            group_id=joining.group_id,
            group_instance_id=joining.instance_id,
            partition_assignment_strategy=[assignor],
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            session_timeout_ms=10_000,
            heartbeat_interval_ms=500,
        )
        try:
            while not self.is_over:
                polled = consumer.poll(timeout_ms=int(POLL_S * 1000))
                self.owned = frozenset((one.topic, one.partition) for one in consumer.assignment())
                if polled:
                    consumer.commit()
                    self.values += [one.value for records in polled.values() for one in records]
        finally:
            consumer.close()


class AioMember(Member):
    """One of aiokafka."""

    def work(self) -> None:
        asyncio.run(self._work())

    async def _work(self) -> None:
        joining = self.joining
        consumer = aiokafka.AIOKafkaConsumer(
            joining.topic,
            bootstrap_servers=joining.bootstrap,
            group_id=joining.group_id,
            group_instance_id=joining.instance_id,
            partition_assignment_strategy=[AIO_ASSIGNORS[joining.strategy]],
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            session_timeout_ms=10_000,
            heartbeat_interval_ms=500,
        )
        await consumer.start()
        try:
            while not self.is_over:
                polled = await consumer.getmany(timeout_ms=int(POLL_S * 1000))
                self.owned = frozenset((one.topic, one.partition) for one in consumer.assignment())
                if polled:
                    await consumer.commit()
                    self.values += [one.value for records in polled.values() for one in records]
        finally:
            await consumer.stop()


def until(is_so: Callable[[], bool], what: str, members: Iterable[Member] = ()) -> None:
    """Wait until something is so; fail with what members ended of."""
    end_s = time.monotonic() + DEADLINE_S
    while not is_so():
        for one in members:
            assert one.failure is None, one.failure
        assert time.monotonic() < end_s, what
        time.sleep(0.05)


def until_shared(members: list[Any], topic: str, partitions: int) -> None:
    """Wait until the members own all partitions, each one of them, none two."""
    everything = {(topic, number) for number in range(partitions)}

    def is_shared() -> bool:
        owned = [one for member in members for one in member.owned]
        return sorted(owned) == sorted(everything) and all(one.owned for one in members)

    until(is_shared, f"{[one.owned for one in members]}", members)
