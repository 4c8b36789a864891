"""Interceptors of a consumer: they see records on their way to the application (KIP-42).

Owns their order, and guarantees that none of them breaks the consumer.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Generic, Protocol

from tidelog.client.records import K, Record, V

_LOG = logging.getLogger(__name__)


class ConsumerInterceptor(Protocol[K, V]):
    """The interface of an interceptor; it runs before records are returned and must not block."""

    def on_consume(self, records: list[Record[K, V]]) -> list[Record[K, V]]:
        """Return the records for the application: these, others or fewer. The position is fixed."""
        ...


class ConsumerInterceptors(Generic[K, V]):
    """The interceptors of a consumer: each gets the records that the previous one returned."""

    def __init__(self, interceptors: Sequence[ConsumerInterceptor[K, V]]) -> None:
        self._interceptors = tuple(interceptors)

    def __bool__(self) -> bool:
        return bool(self._interceptors)

    def on_consume(self, records: list[Record[K, V]]) -> list[Record[K, V]]:
        """Pass records through all interceptors; an exception in one is logged and ignored."""
        for interceptor in self._interceptors:
            try:
                # A copy, since an interceptor that raises may have changed its list before.
                records = list(interceptor.on_consume(list(records)))
            except Exception:  # noqa: BLE001  # the application's code
                _LOG.exception("interceptor %r raised in on_consume: ignored", interceptor)
        return records
