"""Start of a client of aiokafka: it gives up at once when no broker answers, so it is tried again.

A client that did not start is of no more use: each attempt is by a new one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol, TypeVar

from aiokafka.errors import KafkaError

from tidelog.chaos.kafka_clients import failures

START_S_MAX = 60.0
RETRY_S = 0.2


class Startable(Protocol):
    """A producer or consumer of aiokafka."""

    async def start(self) -> None:
        """Find the cluster."""

    async def stop(self) -> None:
        """End it."""


Made = TypeVar("Made", bound=Startable)


async def started(make: Callable[[], Made]) -> Made:
    """Return a client that has started. Raises `CallFailedError` after a minute without brokers."""
    loop = asyncio.get_running_loop()
    ends_s = loop.time() + START_S_MAX
    while True:
        client = make()
        try:
            await client.start()
        except KafkaError as error:
            await client.stop()
            if loop.time() > ends_s:
                raise failures.of_call(error) from error
            await asyncio.sleep(RETRY_S)
        except BaseException:
            await client.stop()
            raise
        else:
            return client
