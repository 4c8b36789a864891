"""Work that heeds no cancellation, for tests of stops that must end nevertheless."""

from __future__ import annotations

import asyncio


class Stubborn:
    """Work that swallows every cancellation until it is released, or for two hours.

    The end keeps a test that fails on virtual time from hanging.
    """

    def __init__(self) -> None:
        self.released = asyncio.Event()
        self.cancellations = 0
        self.began = asyncio.Event()

    async def work(self) -> None:
        self.began.set()
        loop = asyncio.get_running_loop()
        end_s = loop.time() + 7200
        while not self.released.is_set() and loop.time() < end_s:
            try:
                async with asyncio.timeout_at(end_s):
                    await self.released.wait()
            except TimeoutError:
                return
            except asyncio.CancelledError:
                self.cancellations += 1
