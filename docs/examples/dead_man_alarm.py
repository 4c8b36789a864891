# pyright: strict
"""A dead man's alarm: a monitor that raises an alarm when heartbeats stop.

    python docs/examples/dead_man_alarm.py [127.0.0.1:9192]

Each pump sends a heartbeat. Nothing arrives of a pump that is dead, so silence is the signal: the
monitor takes the time itself. It judges nobody while it has not read to the topic's end, since then
the silence may be its own.
"""

from __future__ import annotations

import asyncio
import sys
from uuid import uuid4

from tidelog.client import Admin, Consumer, Producer

BEAT_S = 0.2
SILENCE_S = 3.0
"""Silence that means dead: many beats, as a busy machine or a new leader delays some."""
POLL_MS = 200


class Watch:
    """The times of heartbeats, in seconds of any clock that only moves forward."""

    def __init__(self) -> None:
        self._heard_s: dict[str, float] = {}
        self.silent: set[str] = set()

    def heard(self, name: str, now_s: float) -> bool:
        """Note a heartbeat; return True if it ends an alarm."""
        self._heard_s[name] = now_s
        is_back = name in self.silent
        self.silent.discard(name)
        return is_back

    def fallen_silent(self, now_s: float) -> list[str]:
        """Those to raise an alarm for now, once for each silence."""
        late = {name for name, heard in self._heard_s.items() if now_s - heard >= SILENCE_S}
        news = sorted(late - self.silent)
        self.silent |= late
        return news


async def beat(producer: Producer[bytes, bytes], topic: str, name: str) -> None:
    """Send heartbeats until cancelled."""
    while True:
        await producer.send(topic, b"alive", name.encode())
        await asyncio.sleep(BEAT_S)


async def monitor(bootstrap: str, topic: str, news: asyncio.Queue[str]) -> None:
    """Read heartbeats and put what is new about a pump into `news`, until cancelled."""
    watch, clock = Watch(), asyncio.get_running_loop()
    async with Consumer(bootstrap, auto_offset_reset="latest") as consumer:
        consumer.assign([(topic, 0)])
        while True:
            for record in await consumer.getmany(timeout_ms=POLL_MS):
                name = (record.key or b"").decode()
                if watch.heard(name, clock.time()):
                    await news.put(f"{name} is back")
            if not any((await consumer.lag()).values()):
                for name in watch.fallen_silent(clock.time()):
                    await news.put(f"ALARM: {name} is silent")


async def said(news: asyncio.Queue[str], line: str) -> None:
    """Print what is new until it is this line."""
    found = ""
    while found != line:
        found = await news.get()
        print(found)


async def watch_pumps(bootstrap: str, topic: str) -> None:
    """Two pumps; the second dies, and comes back."""
    news: asyncio.Queue[str] = asyncio.Queue(maxsize=100)
    async with Producer(bootstrap) as producer, asyncio.TaskGroup() as tasks:
        watching = tasks.create_task(monitor(bootstrap, topic, news))
        first = tasks.create_task(beat(producer, topic, "pump-1"))
        second = tasks.create_task(beat(producer, topic, "pump-2"))
        await asyncio.sleep(SILENCE_S)
        second.cancel()
        await said(news, "ALARM: pump-2 is silent")
        second = tasks.create_task(beat(producer, topic, "pump-2"))
        await said(news, "pump-2 is back")
        for task in (watching, first, second):
            task.cancel()


async def main(bootstrap: str) -> None:
    """Make the topic, watch the pumps, and delete it again."""
    topic = f"heartbeats-{uuid4().hex[:8]}"
    async with Admin(bootstrap) as admin:
        await admin.create_topic(topic, partitions=1, configs={"retention.ms": "3600000"})
        try:
            await watch_pumps(bootstrap, topic)
        finally:
            await admin.delete_topic(topic)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:9192"))
