"""Interceptors of a consumer: they see records on their way to the application (KIP-42).

Owns the order and the promise that none of them breaks reading.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Generic, Protocol

from tidelog.client.records import K, Record, V

_LOG = logging.getLogger(__name__)


class ConsumerInterceptor(Protocol[K, V]):
    """What an interceptor has; it must not block, it runs between fetch and application."""

    def on_consume(self, records: list[Record[K, V]]) -> list[Record[K, V]]:
        """The records to hand on: these, others, or fewer. The position does not depend on it."""
        ...


class ConsumerInterceptors(Generic[K, V]):
    """All of one consumer, each handed what the one before returned."""

    def __init__(self, interceptors: Sequence[ConsumerInterceptor[K, V]]) -> None:
        self._interceptors = tuple(interceptors)

    def __bool__(self) -> bool:
        return bool(self._interceptors)

    def on_consume(self, records: list[Record[K, V]]) -> list[Record[K, V]]:
        """What they make of the records; one that raises is logged and passed over."""
        for interceptor in self._interceptors:
            try:
                # A copy: one that raises half-way may have changed the list it was given.
                records = list(interceptor.on_consume(list(records)))
            except Exception:  # noqa: BLE001  # the application's code
                _LOG.exception("interceptor %r raised in on_consume: passed over", interceptor)
        return records
