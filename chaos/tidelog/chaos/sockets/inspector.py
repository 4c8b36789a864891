"""The run's side of inspection: asks a node, and remembers what need not travel again."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from tidelog.chaos.sockets.sample_json import Question, SampleReply, parse_reply, question_json
from tidelog.chaos.story.samples import NodeSample
from tidelog.metadata.image import EMPTY_IMAGE

ANSWER_BYTES_MAX = 64 << 20


class Inspector:
    """Asks one node, whichever process runs it.

    `ask` returns each log line once, so use one asker; lines that a killed process had not
    returned are only in its log file. `peek` returns no line.
    """

    def __init__(self, socket: str) -> None:
        self._socket = socket
        self._known = Question()
        self._image = EMPTY_IMAGE
        self._turn = asyncio.Lock()

    async def ask(self, *, timeout_s: float) -> NodeSample | None:
        """A sample newer than this call; None when the node is silent, or gone."""
        reply = await self._ask(timeout_s)
        if reply is None:
            return None
        self._known = replace(self._known, lines_seen=reply.lines_seen)
        return reply.sample

    async def peek(self, *, timeout_s: float) -> NodeSample | None:
        """As `ask`; its log lines are left to the next `ask`."""
        reply = await self._ask(timeout_s)
        return None if reply is None else replace(reply.sample, lines=())

    async def _ask(self, timeout_s: float) -> SampleReply | None:
        try:
            async with asyncio.timeout(timeout_s), self._turn:
                return self._take(await self._answer())
        except (TimeoutError, OSError):
            return None

    async def _answer(self) -> str:
        reader, writer = await asyncio.open_unix_connection(
            f"\0{self._socket}", limit=ANSWER_BYTES_MAX
        )
        try:
            writer.write(question_json(self._known).encode())
            return (await reader.readline()).decode()
        finally:
            writer.close()

    def _take(self, text: str) -> SampleReply | None:
        if not text.endswith("\n"):
            return None  # It ended in the middle of it.
        reply = parse_reply(text, self._image)
        pid, image = reply.sample.pid, reply.sample.image
        lines_seen = self._known.lines_seen if pid == self._known.pid else 0
        self._image, self._known = image, Question(pid, image.offset, lines_seen)
        return reply
