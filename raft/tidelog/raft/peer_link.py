"""This node's stream to one peer: reconnected until stopped, fed from a bounded queue.

Owns which messages are dropped: those that find no stream or a full queue. A stream is replaced
when it ends, and when the peer is silent although an answer is due, which a connection to a machine
without power does not show.
"""

from __future__ import annotations

import asyncio
from collections import deque

from tidelog.core.errors import CallFailedError, UnreachableError
from tidelog.core.logs import get_logger
from tidelog.net.transport import Connect, Stream
from tidelog.raft.config import RaftConfig
from tidelog.raft.hello import hello_of
from tidelog.raft.transport import RaftReceiver
from tidelog.v1.methods import RAFT_EXCHANGE
from tidelog.v1.raft_pb2 import RaftExchangeEnd, RaftMessage

logger = get_logger(__name__)

Exchange = Stream[RaftMessage, RaftExchangeEnd]


class PeerLink:
    """Link to one peer; `run` is a task of its owner."""

    def __init__(
        self, peer_id: int, *, address: str, node_id: int, config: RaftConfig, connect: Connect
    ) -> None:
        self.peer_id = peer_id
        self._hello = hello_of(node_id, receiver_id=peer_id, config=config)
        self._is_connected = False
        self._address = address
        self._config = config
        self._connect = connect
        self._queue: deque[tuple[RaftMessage, int]] = deque()  # with their sizes
        self._queued_bytes = 0
        self._wake = asyncio.Event()
        self._refusal = ""  # the last reason logged
        self._asked_s: float | None = None  # time of the oldest message the peer has not answered

    def send(self, message: RaftMessage) -> bool:
        """Queue a message without waiting; False: dropped."""
        size_bytes = message.ByteSize()
        is_full = self._queued_bytes + size_bytes > self._config.max_peer_queue_bytes
        if is_full or not self._is_connected:
            return False
        self._queue.append((message, size_bytes))
        self._queued_bytes += size_bytes
        self._wake.set()
        return True

    def on_heard(self) -> None:
        """Learn that the peer sent a message, over its own stream."""
        self._asked_s = None

    async def run(self, receiver: RaftReceiver) -> None:
        """Connect, send, and connect again until cancelled."""
        while True:
            try:
                async with self._connect(
                    self._address, RAFT_EXCHANGE, timeout_ms=self._config.connect_timeout_ms
                ) as stream:
                    await self._exchange(stream, receiver)
            except (UnreachableError, CallFailedError, TimeoutError) as error:
                self._log_end(error)
            await asyncio.sleep(self._config.reconnect_interval_ms / 1000)

    async def _exchange(self, stream: Exchange, receiver: RaftReceiver) -> None:
        """Send until the stream ends; raises the reason."""
        ending = asyncio.create_task(_end_of(stream), name=f"raft-link-{self.peer_id}-end")
        ending.add_done_callback(lambda _: self._wake.set())
        self._asked_s = None
        try:
            await stream.send(self._hello)
            self._is_connected = True
            receiver.on_connected(self.peer_id)
            while not ending.done():
                await self._send_queued(stream, ending)
            raise ending.result()
        finally:
            ending.cancel()
            if self._is_connected:
                self._is_connected = False
                receiver.on_disconnected(self.peer_id)
            self._queue.clear()
            self._queued_bytes = 0

    async def _send_queued(self, stream: Exchange, ending: asyncio.Task[CallFailedError]) -> None:
        await self._wake.wait()
        self._wake.clear()
        stall_s = self._config.stall_timeout_ms / 1000
        while self._queue and not ending.done():
            now_s = asyncio.get_running_loop().time()
            if self._asked_s is None:
                self._asked_s = now_s
            elif now_s - self._asked_s > stall_s:
                raise TimeoutError(f"node {self.peer_id} was silent for {stall_s} s")
            message, size_bytes = self._queue.popleft()
            self._queued_bytes -= size_bytes
            async with asyncio.timeout(stall_s):
                await stream.send(message)

    def _log_end(self, error: Exception) -> None:
        """Log the peer's reason to refuse this node's streams, once per reason, despite retries."""
        logger.debug("raft stream ended", peer_id=self.peer_id, error=repr(error))
        if not isinstance(error, CallFailedError) or not error.is_refused:
            return
        if error.message != self._refusal:
            self._refusal = error.message
            logger.warning(
                "a voter refuses the raft stream of this node",
                peer_id=self.peer_id,
                reason=error.message,
            )


async def _end_of(stream: Exchange) -> CallFailedError:
    """Wait for the end of a stream; a voter that takes messages answers nothing before it."""
    try:
        await stream.receive()
    except CallFailedError as error:
        return error
    return CallFailedError("the voter ended the stream")
