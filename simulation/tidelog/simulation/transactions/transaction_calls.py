"""Calls of transactional clients, into the history: written as they begin, ended in place.

A process that is killed leaves what it had begun: unknown, as it should be.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from tidelog.chaos.workloads.record_parts import PartsDrawer
from tidelog.client import Producer, TopicPartition
from tidelog.client.errors import (
    DeliveryTimeoutError,
    TidelogError,
    TransactionAbortedError,
)
from tidelog.history.history import ACKS_ALL, Commit, History, Poll, Send, Transaction
from tidelog.simulation.transactions.simulation_config import COPIERS

COMMITS_MAX = 3
"""Times that a commit or abort without an answer is called for."""


class TransactionCalls:
    """Writes calls down; `count` counts what a run is to meet."""

    def __init__(
        self,
        history: History,
        *,
        next_number: Callable[[], int],
        now_s: Callable[[], float],
        count: Callable[[str], None],
        parts: PartsDrawer,
    ) -> None:
        self.next_number = next_number
        self.now_s = now_s
        self.count = count
        self.acknowledged = 0
        self._history = history
        self._values = 0
        self._parts = parts

    def add(self, call: Poll | Commit) -> None:
        """Write down a call that has ended, or one that ends in place."""
        self._history.add(call)

    def next_value(self, prefix: bytes) -> bytes:
        """Make a value that no other send has."""
        self._values += 1
        return b"%s:%d" % (prefix, self._values)

    async def begin(
        self, producer: Producer[bytes, bytes], process: str, transactional_id: str
    ) -> OpenTransaction:
        """Begin a transaction. Raises as `Producer.begin_transaction`."""
        begun_s = self.now_s()
        await producer.begin_transaction()
        call = Transaction(process, self.next_number(), transactional_id, begun_s, "unknown")
        self._history.add(call)
        return OpenTransaction(self, producer, call)

    def begin_group(self, process: str, group: str) -> Transaction:
        """Begin a transaction of several producers: what each sends in its own is part of it."""
        call = Transaction(process, self.next_number(), group, self.now_s(), "unknown")
        self._history.add(call)
        return call

    async def send(
        self,
        producer: Producer[bytes, bytes],
        call: Transaction,
        process: str,
        to: TopicPartition,
        value: bytes,
    ) -> None:
        """Have a record sent in it; its acknowledgement is written down when it comes."""
        parts = self._parts.draw(value)
        send = Send(
            process=process,
            number=self.next_number(),
            topic=to.topic,
            incarnation=0,
            partition=to.partition,
            value=value,
            acks=ACKS_ALL,
            is_idempotent=True,
            invoked_s=self.now_s(),
            outcome="unknown",
            transaction=call.number,
            parts=parts,
        )
        self._history.add(send)
        future = await producer.submit(
            to.topic,
            value=value,
            key=parts.key,
            headers=parts.headers,
            timestamp_ms=parts.timestamp_ms,
            partition=to.partition,
        )
        future.add_done_callback(lambda done: self._end_send(send, done))

    def _end_send(self, send: Send, done: asyncio.Future[Any]) -> None:
        if done.cancelled():
            return
        send.ended_s = self.now_s()
        if (error := done.exception()) is not None:
            send.reason = f"{type(error).__name__} {error}"
            return
        send.outcome, send.offset = "ok", done.result().offset
        self.acknowledged += 1


class OpenTransaction:
    """A transaction of one producer, which is open."""

    def __init__(
        self, calls: TransactionCalls, producer: Producer[bytes, bytes], call: Transaction
    ) -> None:
        self.call = call
        self._calls = calls
        self._producer = producer

    async def append(self, to: TopicPartition, value: bytes) -> None:
        """Have a record sent."""
        await self._calls.send(self._producer, self.call, self.call.process, to, value)

    async def commit_offsets(
        self, topic: str, offsets: dict[int, int], metadata: Callable[[], Any]
    ) -> None:
        """Commit a group's offsets with it. Raises as the producer's method."""
        calls = self._calls
        made = [
            Commit(
                process=self.call.process,
                number=calls.next_number(),
                group=COPIERS,
                topic=topic,
                incarnation=0,
                partition=partition,
                offset=offset,
                invoked_s=calls.now_s(),
                outcome="unknown",
                transaction=self.call.number,
            )
            for partition, offset in offsets.items()
        ]
        for one in made:
            calls.add(one)
        named = {(topic, partition): offset for partition, offset in offsets.items()}
        await self._producer.send_offsets_to_transaction(named, metadata())
        for one in made:
            one.outcome, one.ended_s = "ok", calls.now_s()

    async def commit(self) -> bool:
        """Commit, again if nobody answers; False if it was aborted. Raises `KafkaError`."""
        call, calls = self.call, self._calls
        call.commit_begun_s = calls.now_s()
        for attempt in range(COMMITS_MAX):
            if attempt:
                calls.count("commits_repeated")
            try:
                await self._producer.commit_transaction()
            except TransactionAbortedError as error:
                self._end("fail", str(error))
                calls.count("aborted_by_error")
                return False
            except DeliveryTimeoutError as error:
                call.reason = str(error)
            except TidelogError as error:
                call.reason = f"{type(error).__name__} {error}"
                raise
            else:
                self._end("ok", "")
                calls.count("committed")
                return True
        calls.count("commits_unknown")
        raise DeliveryTimeoutError(
            f"not committed by {COMMITS_MAX} calls: {call.reason}", is_outcome_unknown=True
        )

    async def abort(self) -> None:
        """Abort on purpose, again if nobody answers. Raises `KafkaError`."""
        for attempt in range(COMMITS_MAX):
            try:
                await self._producer.abort_transaction()
            except DeliveryTimeoutError:
                if attempt == COMMITS_MAX - 1:
                    raise
            else:
                self._end("fail", "on purpose")
                self._calls.count("aborted_on_purpose")
                return

    def _end(self, outcome: Any, reason: str) -> None:
        self.call.outcome, self.call.reason = outcome, reason
        self.call.ended_s = self._calls.now_s()
