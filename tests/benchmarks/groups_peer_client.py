"""Client processes of a peer, by confluent-kafka: the programs of `groups_client`, word for word.

`--protocol=classic|consumer` comes last. A commit is a synchronous call; of many groups, each has a
thread of its own.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from tests.benchmarks.groups_client import WARM_COMMITS
from tests.benchmarks.groups_programs import emit
from tests.benchmarks.groups_sides import confluent

Consumer = Any  # of confluent-kafka
POLL_S = 0.2


class Programs:
    """The programs, for one protocol."""

    def __init__(self, protocol: str) -> None:
        self._kafka = confluent("confluent_kafka")
        self._protocol = protocol

    def _named(self, name: str) -> str:
        return f"{name}-{self._protocol}"

    def _consumer(self, bootstrap: str, group: str) -> Consumer:
        return self._kafka.Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": self._named(group),
                "group.protocol": self._protocol,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "fetch.wait.max.ms": 500,
                "log_level": 0,
            }
        )

    def member(self, bootstrap: str, group: str, topic: str) -> None:
        _started()
        consumer, owned = self._consumer(bootstrap, group), set[int]()

        def assigned(_: Consumer, partitions: Sequence[Any]) -> None:
            owned.update(one.partition for one in partitions)
            emit("own", time.monotonic(), sorted(owned))

        def revoked(_: Consumer, partitions: Sequence[Any]) -> None:
            owned.difference_update(one.partition for one in partitions)
            emit("own", time.monotonic(), sorted(owned))

        consumer.subscribe(
            [self._named(topic)], on_assign=assigned, on_revoke=revoked, on_lost=revoked
        )
        leaving = _listening("leave")
        while not leaving.is_set():
            first = consumer.poll(POLL_S)
            found = [] if first is None else [first, *consumer.consume(500, 0)]
            if good := [one for one in found if one.error() is None]:
                partitions = [one.partition() for one in good]
                emit("read", time.monotonic(), partitions, [one.offset() for one in good])
        consumer.close()

    def load(self, bootstrap: str, topic: str, partitions: str, rate: str) -> None:
        emit("ready")
        producer = self._kafka.Producer(
            {"bootstrap.servers": bootstrap, "log_level": 0, "linger.ms": 0}
        )
        began_s, sent = time.monotonic(), 0
        while True:
            due = int((time.monotonic() - began_s) * float(rate))
            for number in range(sent, due):
                producer.produce(self._named(topic), b"v" * 100, partition=number % int(partitions))
            sent = due
            producer.poll(0)
            time.sleep(1 / float(rate))

    def committer(self, bootstrap: str, group: str, topic: str, count: str) -> None:
        _started()
        consumer = self._consumer(bootstrap, group)
        consumer.subscribe([self._named(topic)])
        while not consumer.assignment():
            consumer.poll(0.02)
        for number in range(int(count) + WARM_COMMITS):
            sent_s = time.monotonic()
            self._commit(consumer, topic, [0], number)
            if number >= WARM_COMMITS:
                emit("committed", sent_s, time.monotonic())
        emit("done", {})

    def _commit(
        self, consumer: Consumer, topic: str, partitions: Sequence[int], offset: int
    ) -> None:
        """Commit until it is acknowledged, as our client does by itself."""
        offsets = [
            self._kafka.TopicPartition(self._named(topic), one, offset) for one in partitions
        ]
        while True:
            try:
                consumer.commit(offsets=offsets, asynchronous=False)
            except self._kafka.KafkaException:
                time.sleep(0.02)
            else:
                return

    def commits(
        self, bootstrap: str, groups: str, topic: str, partitions: str, seconds: str
    ) -> None:
        _started()
        numbers = range(int(partitions))
        members = [self._consumer(bootstrap, f"{topic}-{n}") for n in range(int(groups))]
        counts: dict[int, int] = {}

        def repeat(index: int, until_s: float) -> None:
            counts[index] = 0
            while time.monotonic() < until_s:
                counts[index] += 1
                self._commit(members[index], topic, numbers, counts[index])

        for warm_s in (3.0, float(seconds)):
            began_s, cpu_s = time.monotonic(), time.process_time()
            if warm_s != 3.0:
                emit("balanced", began_s)
            threads = [
                threading.Thread(target=repeat, args=(index, began_s + warm_s))
                for index in range(len(members))
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            took_s, spent_s = time.monotonic() - began_s, time.process_time() - cpu_s
        emit("done", {"commits": sum(counts.values()), "seconds": took_s, "cpu_s": spent_s})

    def join(self, bootstrap: str, group: str, topic: str, members: str, partitions: str) -> None:
        _started()
        everyone = [self._consumer(bootstrap, group) for _ in range(int(members))]
        for one in everyone:
            one.subscribe([self._named(topic)])
        most = -(-int(partitions) // int(members))
        is_balanced, leaving = False, _listening("leave")
        while not leaving.is_set():
            for one in everyone:
                one.poll(0)
            counts = [len(one.assignment()) for one in everyone]
            if not is_balanced and sum(counts) == int(partitions) and max(counts) <= most:
                is_balanced = True
                emit("balanced", time.monotonic())
            time.sleep(0.5 if is_balanced else 0.005)

    crowd = join


def _started() -> None:
    emit("ready")
    _heard("go")
    emit("began", time.monotonic())


def _heard(line: str) -> None:
    while (found := sys.stdin.readline()) and found.strip() != line:
        pass


def _listening(line: str) -> threading.Event:
    is_heard = threading.Event()

    def listen() -> None:
        _heard(line)
        is_heard.set()

    threading.Thread(target=listen, daemon=True).start()
    return is_heard


def main() -> None:
    """Run the program that the command line names."""
    name, *words, protocol = sys.argv[1:]
    program: Callable[..., None] = getattr(Programs(protocol.partition("=")[2]), name)
    program(*words)


if __name__ == "__main__":
    main()
