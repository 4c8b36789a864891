"""Programs of the figures of groups: client processes of either side, and what they have said.

A program prints JSON lists, the first item a word, times by the monotonic clock, which all
processes of a machine share; it obeys lines on its stdin. Its words:

    ready                         everything is imported
    began S                       "go" was heard
    own S [PARTITION, …]          these are assigned
    read S [PARTITION, …] [OFFSET, …]
                                  records that were handed out
    committed S S                 a commit: asked for, acknowledged
    balanced S                    the members that it runs have every partition
    done {MEASURE: VALUE, …}      the last word
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

LIMIT_S = 180.0
LINE_BYTES_MAX = 1 << 20
ROOT = Path(__file__).parents[2]

Word = list[Any]  # as JSON gives it


class ProgramError(Exception):
    """A program ended, or did not say in time what was waited for."""


class Program:
    """A running program; `stop` must follow."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.words: list[Word] = []
        self.process = process
        self._news = asyncio.Event()
        self._reading = asyncio.create_task(self._read())

    @classmethod
    async def start(cls, command: Sequence[str]) -> Program:
        """Start it, and wait until it is ready."""
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            cwd=ROOT,
            limit=LINE_BYTES_MAX,
        )
        program = cls(process)
        try:
            await program.until(lambda: program.find("ready"))
        except BaseException:
            await program.stop()
            raise
        return program

    def say(self, line: str) -> None:
        """Send it a line."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n".encode())

    async def go(self) -> float:
        """Have it begin; the time at which it did."""
        self.say("go")
        await self.until(lambda: self.find("began"))
        return float(self.find("began")[0][1])

    def find(self, word: str) -> list[Word]:
        """What it said with this first word, so far."""
        return [one for one in self.words if one[0] == word]

    @property
    def owned(self) -> list[int]:
        """Partitions as of its last word on them."""
        found = self.find("own")
        return found[-1][2] if found else []

    def reads(self, partitions: Sequence[int] | None = None) -> Iterator[float]:
        """Times at which records were handed out, of these partitions or of any."""
        for _, time_s, numbers, *_ in self.find("read"):
            if partitions is None or not set(partitions).isdisjoint(numbers):
                yield time_s

    async def until(self, is_so: Callable[[], object], *, limit_s: float = LIMIT_S) -> None:
        """Wait until what it has said makes it so."""
        try:
            async with asyncio.timeout(limit_s):
                while not is_so():
                    if self._reading.done():
                        raise ProgramError(f"a client ended: exit code {self.process.returncode}")
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            raise ProgramError(f"a client said nothing new for {limit_s:.0f} s") from None

    async def done(self, *, limit_s: float = LIMIT_S) -> dict[str, Any]:
        """Its last word."""
        await self.until(lambda: self.find("done"), limit_s=limit_s)
        measures: dict[str, Any] = self.find("done")[-1][1]
        return measures

    def kill(self) -> None:
        """kill -9."""
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGKILL)

    async def stop(self) -> None:
        """End it, whatever it does."""
        self.kill()
        await self.process.wait()
        await asyncio.gather(self._reading, return_exceptions=True)

    async def leave(self) -> None:
        """Have it close, and wait for its end."""
        self.say("leave")
        try:
            async with asyncio.timeout(LIMIT_S):
                await self.process.wait()
        except TimeoutError:
            self.kill()
        await self._reading

    async def _read(self) -> None:
        assert self.process.stdout is not None
        async for line in self.process.stdout:
            if line.startswith(b"["):
                self.words.append(json.loads(line))
                self._news.set()
        await self.process.wait()
        self._news.set()


async def until_all(programs: Sequence[Program], is_so: Callable[[], object]) -> None:
    """Wait until what several have said makes it so."""
    deadline_s = asyncio.get_running_loop().time() + LIMIT_S
    while not is_so():
        if asyncio.get_running_loop().time() > deadline_s:
            owned = [one.owned for one in programs]
            raise ProgramError(f"the members did not come to rest: they own {owned}")
        await asyncio.sleep(0.02)


def emit(*word: Any) -> None:
    """Say a word, in a program."""
    sys.stdout.write(json.dumps(word, separators=(",", ":")) + "\n")
    sys.stdout.flush()
