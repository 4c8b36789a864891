"""Base of the parts of `Consumer`: it opens and closes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Generic

from tidelog.client.records import K, V


class ConsumerBase(ABC, Generic[K, V]):
    """Base of the classes that `Consumer` is made of."""

    @abstractmethod
    async def __aenter__(self) -> object: ...

    @abstractmethod
    async def __aexit__(self, *exc_info: object) -> None: ...

    @abstractmethod
    async def close(self, *, timeout_ms: int = 30_000) -> None:
        """See `Consumer.close`."""

    @abstractmethod
    def _check_open(self) -> None:
        """Raise ClientClosedError once the consumer is closed."""
