"""A producer that outlives its topics: what is deleted stays deleted, however long it goes on.

It comes when everything is at rest, in clusters that create a topic for who asks: its first send to
each topic makes it, each is deleted again, and a send to the next has its metadata refreshed.
"""

from __future__ import annotations

import asyncio

from tidelog.client import Admin, Producer
from tidelog.core.chance import SeededRandom
from tidelog.core.errors import TidelogError
from tidelog.simulation.cluster.simulation import ClusterSimulation

USED_PROBABILITY = 0.6
"""Share of the seeds that have one, of those whose topics all stay."""
TOPICS_MAX = 5
HOST, MADE_AGAIN = "lasting-producer", "deleted-topic"
AFTER_S = 1.0
"""Time after the last send, in which a refresh ends."""


class PassingTopics:
    """See the module; `come` once."""

    def __init__(self, simulation: ClusterSimulation, random: SeededRandom) -> None:
        self._simulation = simulation
        self._random = random

    async def come(self) -> None:
        """Make topics and delete them, one after the other, and look at what is there."""
        ports = self._simulation.client_ports(HOST)
        bootstrap = self._simulation.bootstrap
        deleted: list[str] = []
        async with Producer(bootstrap, **ports) as producer, Admin(bootstrap, **ports) as admin:
            for number in range(self._random.randrange(2, TOPICS_MAX)):
                topic = f"passing-{number}"
                try:
                    await (await producer.submit(topic, value=b"passing", partition=0))
                    refused = (await admin.delete_topics([topic]))[topic]
                except TidelogError as error:
                    refused = error
                if refused is not None:
                    self._report(f"{topic}: {refused!r}")
                    return
                deleted.append(topic)
            await asyncio.sleep(AFTER_S)
        again = [one for one in deleted if one in self._simulation.image.topics]
        self._simulation.count_event("passing_topics")
        if again:
            self._report(f"{', '.join(again)}: deleted, and there again")

    def _report(self, what: str) -> None:
        self._simulation.findings.report(MADE_AGAIN, what)
