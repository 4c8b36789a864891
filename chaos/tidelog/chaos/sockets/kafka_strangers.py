"""Strangers at listeners of Kafka's protocol: straight to each broker's, past every proxy.

Owns the connections it makes, and closes them; it waits for no broker longer than a bound, and what
took longer, or was answered to another request, is a finding.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from struct import Struct

from tidelog.chaos.sockets import half_open
from tidelog.chaos.sockets.half_open import HUNG_UP_S_MAX, connect
from tidelog.chaos.sockets.wide_callers import in_a_process
from tidelog.chaos.workloads.holding_frames import KINDS, SAID_HELLO, STEP_S, said_by
from tidelog.chaos.workloads.kafka_frames import (
    METADATA,
    REQUEST_BYTES_MAX,
    KafkaNoise,
    frame,
    head,
    kafka_noise,
)
from tidelog.chaos.workloads.tally import Tally

AT_ONCE = 8
ANSWERED_S_MAX = 45.0
"""Cores are shared with whatever else runs there."""
CONNECTED_S_MAX = 0.01
"""Time for each half-open connection."""
BESIDE_S_MAX = 10.0
"""Time in which a broker answers another caller, whatever strangers hold."""
NAMES = 1_000_000
UNREAD_FRAMES = 24
"""Frames of 16 MiB of which all but the last byte is sent: six times what may be queued."""
PIECE_BYTES = 64 << 10
STUCK_S = 2.0
"""Time in which a broker reads what it has room for."""
ANSWER_BYTES_MAX = 256 << 20
_SIZE, _ANSWER = Struct(">i"), Struct(">ii")


class KafkaStrangers:
    """`addresses` are those of listeners; `topic` is one that is there."""

    def __init__(self, addresses: Sequence[str], topic: str) -> None:
        self._addresses = addresses
        self._topic = topic

    async def send_malformed(self, *, seed: int, first: int, frames: int) -> tuple[Tally, int]:
        """Connect from place `first` on until so many frames were sent; the next place, too."""
        tally, place = Tally(), first

        async def work() -> None:
            nonlocal place
            while tally.requests < frames:
                one, place = kafka_noise(seed, place, self._topic), place + 1
                tally.requests += len(one.correlation_ids)
                tally.calls += 1
                await self._say(one, tally)

        await asyncio.gather(*(work() for _ in range(AT_ONCE)))
        return tally, place

    async def ask_too_much(self) -> Tally:
        """Send what is too long, ask for a million topics, and leave long frames unfinished."""
        tally = Tally()
        for address in self._addresses:
            await self._announce(address, REQUEST_BYTES_MAX + 1, tally)
            await self._announce(address, (1 << 31) - 1, tally)
            await self._ask_for_names(address, tally)
        await asyncio.gather(*(self._leave_unfinished(one, tally) for one in range(UNREAD_FRAMES)))
        return tally

    async def ask_widely(self, *, seconds: float) -> Tally:
        """See `wide_callers`."""
        return await in_a_process("kafka", self._addresses, self._topic, seconds=seconds)

    async def connect_and_wait(self, *, connections: int) -> Tally:
        """See `half_open`; in a process of its own, as the load's clients in this one are timed."""
        arguments = ("-m", half_open.__name__, str(connections), *self._addresses)
        process = await asyncio.create_subprocess_exec(
            sys.executable, *arguments, stdout=asyncio.subprocess.PIPE
        )
        try:
            async with asyncio.timeout(connections * CONNECTED_S_MAX + HUNG_UP_S_MAX):
                said, _ = await process.communicate()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        return half_open.decode(said)

    async def hold(self, *, connections: int, for_s: float) -> Tally:
        """Have connections of every kind of `holding_frames`; ask each second who is answered."""
        tally, end_s = Tally(), asyncio.get_running_loop().time() + for_s
        await asyncio.gather(
            *(self._hold_one(number, end_s, tally) for number in range(connections)),
            *(self._ask_beside(address, end_s, tally) for address in self._addresses),
        )
        return tally

    async def _hold_one(self, number: int, end_s: float, tally: Tally) -> None:
        loop, kind = asyncio.get_running_loop(), KINDS[number % len(KINDS)]
        said = said_by(kind, number)
        tally.requests += 1
        try:
            reader, writer = await connect(self._addresses[number % len(self._addresses)])
        except (ConnectionError, TimeoutError):
            tally.by_status["refused"] += 1
            return
        if not said.does_read:
            writer.transport.pause_reading()  # type: ignore[attr-defined]  # it is one of sockets
        writer.write(said.first)
        while (left_s := end_s - loop.time()) > 0 and not _has_ended(reader, writer):
            await asyncio.sleep(min(STEP_S, left_s))
            if said.step and not writer.transport.get_write_buffer_size():
                writer.write(said.step)
        tally.by_status["hung up" if _has_ended(reader, writer) else kind] += 1
        writer.close()

    async def _ask_beside(self, address: str, end_s: float, tally: Tally) -> None:
        while asyncio.get_running_loop().time() < end_s:
            try:
                async with asyncio.timeout(BESIDE_S_MAX):
                    reader, writer = await connect(address)
                    writer.write(said_by(SAID_HELLO, 1).first)
                    await reader.readexactly(_SIZE.size)
                    writer.close()
                tally.calls += 1
            except (OSError, TimeoutError, asyncio.IncompleteReadError) as error:
                tally.find(f"{address} answers nobody beside strangers: {error!r}")
            await asyncio.sleep(STEP_S)

    # One connection

    async def _say(self, one: KafkaNoise, tally: Tally) -> None:
        address = self._addresses[one.place % len(self._addresses)]
        try:
            reader, writer = await connect(address)
        except (ConnectionError, TimeoutError) as error:
            tally.find(f"frames {one.place}: {address} takes no connection: {error!r}")
            return
        try:
            async with asyncio.timeout(ANSWERED_S_MAX):
                writer.write(one.data)
                writer.write_eof()
                self._judge(one, await reader.read(ANSWER_BYTES_MAX), tally)
        except TimeoutError:
            tally.find(f"frames {one.place}: {address} neither answers nor hangs up")
        except OSError:
            tally.by_status["broken"] += 1
        finally:
            writer.close()

    def _judge(self, one: KafkaNoise, answered: bytes, tally: Tally) -> None:
        """Answers have the correlation ids of requests, in their order."""
        expected, at = list(one.correlation_ids), 0
        tally.by_status["answered" if answered else "hung up"] += 1
        while at + 8 <= len(answered):
            size, correlation_id = _ANSWER.unpack_from(answered, at)
            if correlation_id not in expected:
                tally.find(f"frames {one.place}: an answer to {correlation_id}, which nobody asked")
                return
            del expected[: expected.index(correlation_id) + 1]
            at += 4 + size

    # Too much

    async def _announce(self, address: str, size: int, tally: Tally) -> None:
        """A frame of this size is not read: its connection is closed."""
        tally.requests += 1
        reader, writer = await connect(address)
        try:
            writer.write(_SIZE.pack(size) + bytes(PIECE_BYTES))
            async with asyncio.timeout(ANSWERED_S_MAX):
                if await reader.read():
                    tally.find(f"a frame of {size} bytes is answered")
        except ConnectionError:
            tally.by_status["broken"] += 1
        except TimeoutError:
            tally.find(f"a frame of {size} bytes: {address} does not hang up")
        finally:
            writer.close()

    async def _ask_for_names(self, address: str, tally: Tally) -> None:
        """Metadata of a million topics that are not there: one answer, or none."""
        tally.requests += 1
        names = b"".join(b"\x00\x07%07d" % number for number in range(NAMES))
        body = head(METADATA, 8, 1) + NAMES.to_bytes(4, "big") + names + bytes(3)
        reader, writer = await connect(address)
        try:
            async with asyncio.timeout(ANSWERED_S_MAX):
                writer.write(frame(body))
                await writer.drain()
                size = _SIZE.unpack(await reader.readexactly(4))[0]
                left = size
                while left:
                    left -= len(await reader.readexactly(min(left, PIECE_BYTES)))
            tally.by_status["answered"] += 1
        except (ConnectionError, asyncio.IncompleteReadError):
            tally.by_status["hung up"] += 1
        except TimeoutError:
            tally.find(f"a million names: {address} neither answers nor hangs up")
        finally:
            writer.close()

    async def _leave_unfinished(self, number: int, tally: Tally) -> None:
        """A frame of the largest size, but for its last byte: what has no room is not read."""
        tally.requests += 1
        reader, writer = await connect(self._addresses[number % len(self._addresses)])
        del reader
        try:
            writer.write(_SIZE.pack(REQUEST_BYTES_MAX) + head(METADATA, 8, number))
            for _ in range(REQUEST_BYTES_MAX // PIECE_BYTES - 1):
                writer.write(bytes(PIECE_BYTES))
                async with asyncio.timeout(STUCK_S):
                    await writer.drain()
        except TimeoutError:
            tally.by_status["not read on"] += 1
        except ConnectionError:
            tally.by_status["broken"] += 1
        finally:
            writer.close()


def _has_ended(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    """Tell if the broker has hung up, as far as one that may not read can know."""
    return reader.at_eof() or writer.transport.is_closing()
