"""Interceptors and callbacks of a producer: they see records and their outcomes (KIP-42).

Owns their order, and guarantees that none of them breaks the producer: exceptions are logged.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Generic, NamedTuple, Protocol

from tidelog.client.producing.serializers import K, V
from tidelog.client.records import Headers, RecordMetadata

_log = logging.getLogger(__name__)
OnDelivery = Callable[[RecordMetadata | None, Exception | None], object]
"""Called with the metadata of a record or with its error: one of the two is None."""


class ProducerRecord(NamedTuple, Generic[K, V]):
    """A record before serialization; `timestamp_ms` None means the time of sending."""

    topic: str
    value: V | None
    key: K | None = None
    headers: Headers = ()
    partition: int | None = None
    timestamp_ms: int | None = None


class ProducerInterceptor(Protocol[K, V]):
    """The interface of an interceptor; it runs on the event loop and must not block."""

    def on_send(self, record: ProducerRecord[K, V], /) -> ProducerRecord[K, V]:
        """Return the record to send: this one, or another."""
        ...

    def on_acknowledgement(
        self, metadata: RecordMetadata | None, error: Exception | None, /
    ) -> object:
        """See the outcome of a record, also of one that was not taken."""
        ...


class ProducerInterceptors(Generic[K, V]):
    """The interceptors of a producer: each gets the previous one's record. True if any exist."""

    def __init__(self, interceptors: Sequence[ProducerInterceptor[K, V]]) -> None:
        self._interceptors = tuple(interceptors)

    def __bool__(self) -> bool:
        return bool(self._interceptors)

    def on_send(self, record: ProducerRecord[K, V]) -> ProducerRecord[K, V]:
        """Pass a record through all; an exception or a wrong result is logged and ignored."""
        for interceptor in self._interceptors:
            try:
                answer: object = interceptor.on_send(record)
            except Exception:  # noqa: BLE001  # the application's code
                _log.exception("interceptor %r raised in on_send", interceptor)
                continue
            if isinstance(answer, ProducerRecord):
                record = answer
            else:
                _log.error("interceptor %r returned no record from on_send", interceptor)
        return record

    def on_acknowledgement(self, metadata: RecordMetadata | None, error: Exception | None) -> None:
        """Report an outcome to all interceptors."""
        for interceptor in self._interceptors:
            try:
                interceptor.on_acknowledgement(metadata, error)
            except Exception:  # noqa: BLE001  # the application's code
                _log.exception("interceptor %r raised in on_acknowledgement", interceptor)

    def listener(self, on_delivery: OnDelivery | None = None) -> OnDelivery | None:
        """A listener that calls the interceptors, then the callback, and raises nothing."""
        if on_delivery is None:
            return self.on_acknowledgement if self._interceptors else None

        def notify(metadata: RecordMetadata | None, error: Exception | None) -> None:
            self.on_acknowledgement(metadata, error)
            try:
                on_delivery(metadata, error)
            except Exception:  # noqa: BLE001  # the application's code
                _log.exception("on_delivery raised")

        return notify
