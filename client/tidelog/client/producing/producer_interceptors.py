"""Interceptors and callbacks of a producer: they see records leave and outcomes arrive (KIP-42).

Owns their order and the promise that none of them breaks sending: what one raises is logged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, NamedTuple, Protocol

import structlog

from tidelog.client.producing.serializers import K, V
from tidelog.client.records import Headers, RecordMetadata

_log = structlog.get_logger(__name__)
OnDelivery = Callable[[RecordMetadata | None, Exception | None], object]
"""Told where a record lies, or why it was given up: one of the two is None."""


class ProducerRecord(NamedTuple, Generic[K, V]):
    """A record on its way out, not serialized yet; `timestamp_ms` None is the time of sending."""

    topic: str
    value: V | None
    key: K | None = None
    headers: Headers = ()
    partition: int | None = None
    timestamp_ms: int | None = None


class ProducerInterceptor(Protocol[K, V]):
    """What an interceptor has; it must not block, it runs on the event loop."""

    def on_send(self, record: ProducerRecord[K, V], /) -> ProducerRecord[K, V]:
        """The record to send: this one, or another."""
        ...

    def on_acknowledgement(
        self, metadata: RecordMetadata | None, error: Exception | None, /
    ) -> object:
        """What became of a record; of one that was not even taken, too."""
        ...


class ProducerInterceptors(Generic[K, V]):
    """All of one producer, each handed what the one before returned. True when there is any."""

    def __init__(self, interceptors: Sequence[ProducerInterceptor[K, V]]) -> None:
        self._interceptors = tuple(interceptors)

    def __bool__(self) -> bool:
        return bool(self._interceptors)

    def on_send(self, record: ProducerRecord[K, V]) -> ProducerRecord[K, V]:
        """What they make of the record; one that raises, or returns no record, is passed over."""
        for interceptor in self._interceptors:
            try:
                answer: object = interceptor.on_send(record)
            except Exception:  # noqa: BLE001  # the application's code
                _log.exception("interceptor raised in on_send", interceptor=repr(interceptor))
                continue
            if isinstance(answer, ProducerRecord):
                record = answer
            else:
                _log.error("interceptor returned no record", interceptor=repr(interceptor))
        return record

    def on_acknowledgement(self, metadata: RecordMetadata | None, error: Exception | None) -> None:
        """Tell all of them."""
        for interceptor in self._interceptors:
            try:
                interceptor.on_acknowledgement(metadata, error)
            except Exception:  # noqa: BLE001  # the application's code
                _log.exception(
                    "interceptor raised in on_acknowledgement", interceptor=repr(interceptor)
                )

    def listener(self, on_delivery: OnDelivery | None = None) -> OnDelivery | None:
        """Tells the interceptors, then the callback, and raises nothing; None without either."""
        if on_delivery is None:
            return self.on_acknowledgement if self._interceptors else None

        def tell(metadata: RecordMetadata | None, error: Exception | None) -> None:
            self.on_acknowledgement(metadata, error)
            try:
                on_delivery(metadata, error)
            except Exception:  # noqa: BLE001  # the application's code
                _log.exception("on_delivery raised")

        return tell
