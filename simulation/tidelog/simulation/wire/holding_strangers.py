"""Strangers at listeners of Kafka's protocol in a simulated cluster, who hold what a node has.

Slow, unread, parked, half-open: `chaos.workloads.holding_frames` says what each sends. They stand
on a host of their own, come back when they are hung up on, and leave at the end. A storm that has
them judges its own clients as ever; nothing of the strangers is to heal.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence

from tidelog.chaos.workloads.holding_frames import KINDS, STEP_S, Said, said_by
from tidelog.core.chance import SeededRandom
from tidelog.core.errors import UnreachableError
from tidelog.net.byte_streams import ByteStream
from tidelog.simulation.engine.byte_streams import SimDialer

PAUSE_S_MIN, PAUSE_S_MAX = 0.1, 2.0
"""Time before a stranger comes, and comes again."""
STAY_S_MIN, STAY_S_MAX = 1.0, 60.0
"""Time after which it leaves by itself."""
SPACE_BYTES = 64 << 10


class HoldingStrangers:
    """Strangers of drawn kinds at the addresses; run `hold` on the loop of the dialer's host."""

    def __init__(
        self,
        dialer: SimDialer,
        addresses: Sequence[str],
        random: SeededRandom,
        *,
        kinds: Sequence[str] = KINDS,
    ) -> None:
        self.came: Counter[str] = Counter()
        """Connections that were opened, by kind."""
        self.hung_up: Counter[str] = Counter()
        """Those that the node has ended."""
        self._dialer = dialer
        self._addresses = addresses
        self._random = random
        self._kinds = kinds
        self._numbers = 0

    async def hold(self, *, connections: int, for_s: float) -> None:
        """Have so many connections for so long."""
        end_s = asyncio.get_running_loop().time() + for_s
        await asyncio.gather(*(self._hold_one(end_s) for _ in range(connections)))

    async def _hold_one(self, end_s: float) -> None:
        loop = asyncio.get_running_loop()
        while loop.time() < end_s:
            await asyncio.sleep(self._random.uniform(PAUSE_S_MIN, PAUSE_S_MAX))
            self._numbers += 1
            kind = self._kinds[self._random.randrange(0, len(self._kinds))]
            address = self._addresses[self._random.randrange(0, len(self._addresses))]
            stranger = _Stranger(said_by(kind, self._numbers))
            try:
                await self._dialer.connect(address, stranger.accept)
            except UnreachableError:
                continue
            self.came[kind] += 1
            stay_s = self._random.uniform(STAY_S_MIN, STAY_S_MAX)
            await stranger.stay(min(end_s, loop.time() + stay_s))
            self.hung_up[kind] += not stranger.is_open
            stranger.leave()


class _Stranger:
    """A connection; see `Receiver`."""

    def __init__(self, said: Said) -> None:
        self.is_open = True
        self._said = said
        self._unsent = said.first
        self._stream: ByteStream | None = None
        self._space = memoryview(bytearray(SPACE_BYTES))

    async def stay(self, end_s: float) -> None:
        """Go on sending until then, or until it is hung up on."""
        loop = asyncio.get_running_loop()
        while self.is_open and (left_s := end_s - loop.time()) > 0:
            await asyncio.sleep(min(STEP_S, left_s))
            if self._stream is not None and self._said.step and not self._unsent:
                self._unsent = self._said.step
                self._stream.flush()

    def leave(self) -> None:
        """End the connection."""
        stream, self._stream, self.is_open = self._stream, None, False
        if stream is not None:
            stream.close()

    def accept(self, stream: ByteStream) -> _Stranger:
        """Begin; see `Accept`."""
        self._stream = stream
        stream.set_reading(is_reading=self._said.does_read)
        return self

    def space(self) -> memoryview:
        """See `Receiver.space`."""
        return self._space

    def received(self, count: int) -> None:
        """See `Receiver.received`: whatever it is, it is not looked at."""

    def outgoing(self) -> Sequence[bytes]:
        """See `Receiver.outgoing`."""
        return [self._unsent] if self._unsent else []

    def sent(self, count: int) -> None:
        """See `Receiver.sent`."""
        self._unsent = self._unsent[count:]

    def ended(self) -> None:
        """See `Receiver.ended`."""
        self.is_open, self._stream = False, None
