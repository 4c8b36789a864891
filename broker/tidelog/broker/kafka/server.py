"""Kafka's protocol at all its listeners of a node: limits over connections, idle ones, a stop.

Owns the connections and what they may hold together. Opens no socket: listeners hand in streams by
`acceptor`, sockets in the process and the simulated network in a simulation.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from tidelog.broker.kafka.config import KafkaConfig
from tidelog.broker.kafka.connection import ConnectionRules, Request
from tidelog.broker.kafka.crowd import Crowd
from tidelog.broker.kafka.frame_reader import READ_BYTES
from tidelog.broker.kafka.peer import Handler, KafkaPeer, Progress, Taken
from tidelog.broker.kafka.request_budget import RequestBudget
from tidelog.broker.kafka.request_header import ApiForms, Refusal
from tidelog.broker.kafka.traffic import KafkaTraffic
from tidelog.core.background import cancel_tasks
from tidelog.core.logs import get_logger
from tidelog.net.answer_budget import AnswerBudget
from tidelog.net.byte_streams import Accept, ByteStream
from tidelog.net.listeners import Listener

LOOK_S = 1.0
"""Interval of checks for connections that are idle or hold too much."""
PROGRESS_BYTES_MIN = 64 << 10
"""Minimum bytes of a begun request to send within the time for it: a slower client has stopped."""
PROGRESS_PARTS = 8
"""The same for a large request, which ends within so many of these times: one of its parts.

And for an answer to be taken; while others wait for room, that of a large one, too.
"""

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class KafkaApis:
    """APIs that are served. Anything else closes its connection."""

    forms: ApiForms
    handler: Handler
    pipelined: frozenset[int] = frozenset()
    """See `ConnectionRules`."""
    abandoned: frozenset[int] = frozenset()
    """See `ConnectionRules`."""


@dataclass(frozen=True, slots=True)
class KafkaTimes:
    """Times after which a connection is closed, in milliseconds."""

    idle_ms: int = 600_000
    """Without a request."""
    unsent_ms: int = 30_000
    """With answers of which it takes next to nothing; half of it while others wait for room."""
    unfinished_ms: int = 10_000
    """In the middle of a request, while others wait for the room that it takes.

    Of a request that comes too slowly, see PROGRESS_PARTS, the same.
    """


class KafkaServer:
    """The connections of one node."""

    def __init__(
        self,
        *,
        apis: KafkaApis,
        config: KafkaConfig,
        times: KafkaTimes,
        on_fatal: Callable[[BaseException], None],
        traffic: KafkaTraffic | None = None,
        is_full: Callable[[], bool] = lambda: False,
        answers: AnswerBudget | None = None,
    ) -> None:
        self.traffic = KafkaTraffic() if traffic is None else traffic
        self._apis = apis
        self._config = config
        self._times = times
        self._on_fatal = on_fatal
        self._budget = RequestBudget(config.queued_bytes_max, config.request_bytes_max)
        self._answers = answers or AnswerBudget(0)
        self._accepted = 0
        self._rules = ConnectionRules(
            forms=apis.forms,
            pipelined=apis.pipelined,
            abandoned=apis.abandoned,
            frame_bytes_max=config.request_bytes_max,
            budget=self._budget,
            scratch=memoryview(bytearray(READ_BYTES)),
            is_full=is_full,
        )
        self._peers: OrderedDict[KafkaPeer, None] = OrderedDict()
        """Longest without contact first."""
        self._crowd: Crowd[KafkaPeer] = Crowd(config.connections_max)
        self._holding: dict[KafkaPeer, None] = {}
        """Those with unsent answers or half a request."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._refused: set[Refusal] = set()
        self._looking: asyncio.TimerHandle | None = None
        self._all_closed: asyncio.Event | None = None
        """Set when the last connection ends; None before the stop."""

    def acceptor(self, listener: Listener) -> Accept:
        """Return the function that takes the connections of a listener."""

        def accept(stream: ByteStream) -> KafkaPeer | None:
            if not self._has_room_for(stream.host):
                self.traffic.refused_connections += 1
                return None
            self._accepted += 1
            peer = KafkaPeer(
                stream=stream,
                number=self._accepted,
                listener=listener,
                rules=self._rules,
                handler=self._apis.handler,
                host=self,
            )
            self._add(peer)
            return peer

        return accept

    def stats(self) -> dict[str, float]:
        """Metrics of the node."""
        return {
            **self.traffic.stats(),
            "kafka_queued_request_bytes": self._budget.held_bytes,
            "kafka_queued_request_waits": self._budget.waits,
        }

    async def stop(self, *, grace_s: float) -> None:
        """Read no more; requests that came have `grace_s` seconds for their answers."""
        self._all_closed = asyncio.Event()
        for peer in list(self._peers):
            peer.finish()
        if self._peers:
            try:
                async with asyncio.timeout(grace_s):
                    await self._all_closed.wait()
            except TimeoutError:
                pass
        for peer in list(self._peers):
            peer.close()
        await cancel_tasks(self._tasks)
        if self._looking is not None:
            self._looking.cancel()

    # For the peers

    def note_holding(self, peer: KafkaPeer, *, is_holding: bool) -> None:
        """See `PeerHost.note_holding`."""
        if is_holding:
            self._holding[peer] = None
        else:
            self._holding.pop(peer, None)

    def note_busy(self, peer: KafkaPeer, *, is_busy: bool) -> None:
        """See `PeerHost.note_busy`."""
        if is_busy:
            self._crowd.note_busy(peer)
        else:
            self._crowd.note_idle(peer, asyncio.get_running_loop().time())

    def note_contact(self, peer: KafkaPeer) -> None:
        """See `PeerHost.note_contact`."""
        peer.touched_s = asyncio.get_running_loop().time()
        self._peers.move_to_end(peer)

    def note_answer(self, request: Request, *, answer_bytes: int, began_s: float) -> None:
        """See `PeerHost.note_answer`."""
        self.traffic.note_answer(
            request.header.api_key,
            request_bytes=request.size,
            answer_bytes=answer_bytes,
            seconds=asyncio.get_running_loop().time() - began_s,
        )

    def note_task(self, task: asyncio.Task[None]) -> None:
        """See `PeerHost.note_task`."""
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def note_end(self, peer: KafkaPeer) -> None:
        """See `PeerHost.note_end`."""
        self._note_refusal(peer)
        del self._peers[peer]
        self._crowd.remove(peer)
        self._holding.pop(peer, None)
        self.traffic.connections = len(self._peers)
        if self._all_closed is not None and not self._peers:
            self._all_closed.set()

    def note_failure(self, error: BaseException) -> None:
        """See `PeerHost.note_failure`."""
        self._on_fatal(error)

    def _has_room_for(self, host: str) -> bool:
        if self._all_closed is not None:
            return False
        if self._crowd.by_host[host] >= self._config.connections_per_ip_max:
            return False
        return len(self._peers) < self._config.connections_max or self._displace(host)

    def _displace(self, host: str) -> bool:
        """Close the connection that gives way to one from this address; False: none does."""
        peer = self._crowd.gives_way(host, asyncio.get_running_loop().time())
        if peer is None:
            return False
        self._hang_up(peer)
        return True

    def _add(self, peer: KafkaPeer) -> None:
        loop = asyncio.get_running_loop()
        peer.touched_s = loop.time()
        self._peers[peer] = None
        self._crowd.add(peer, peer.stream.host, peer.touched_s)
        self.traffic.connections = len(self._peers)
        if self._looking is None:
            self._looking = loop.call_later(LOOK_S, self._look)

    def _note_refusal(self, peer: KafkaPeer) -> None:
        """Count a connection's bytes that were no request; log the first of each kind alone."""
        error = peer.connection.refusal
        if error is None:
            return
        self.traffic.refused[error.refusal] += 1
        if error.refusal not in self._refused:
            self._refused.add(error.refusal)
            log.warning(
                "connection closed; further ones for this reason are counted, not logged",
                reason=error.message,
                connection=peer.stream.peer,
            )

    def _look(self) -> None:
        """Close connections that are idle or hold too much; again while there are any."""
        loop = asyncio.get_running_loop()
        for peer in [*self._idle(loop.time()), *self._stalled(loop.time())]:
            self._hang_up(peer)
        self._looking = loop.call_later(LOOK_S, self._look) if self._peers else None

    def _idle(self, now_s: float) -> list[KafkaPeer]:
        found = []
        for peer in self._peers:
            if now_s - peer.touched_s < self._times.idle_ms / 1000:
                break
            if not peer.connection.is_busy:
                found.append(peer)
        return found

    def _stalled(self, now_s: float) -> list[KafkaPeer]:
        is_short, unfinished_ms = self._budget.is_short, self._times.unfinished_ms
        return [
            peer
            for peer in self._holding
            if self._leaves_answers(peer, now_s)
            or (is_short and _has_stopped(peer, now_s, unfinished_ms))
        ]

    def _leaves_answers(self, peer: KafkaPeer, now_s: float) -> bool:
        """Tell if the peer has taken too little of its answers for too long."""
        answers, before, is_short = peer.connection.answers, peer.taken, self._answers.is_short
        if not answers.unsent_bytes:
            return False
        if before is not None and answers.sent_bytes - before.sent_bytes < before.least_bytes:
            limit_ms = self._times.unsent_ms // (2 if is_short else 1)
            return now_s - before.at_s >= limit_ms / 1000
        share = answers.unsent_bytes // PROGRESS_PARTS if is_short else 0
        least = min(answers.unsent_bytes, max(share, PROGRESS_BYTES_MIN))
        peer.taken = Taken(now_s, answers.sent_bytes, least)
        return False

    def _hang_up(self, peer: KafkaPeer) -> None:
        self.traffic.hang_ups += 1
        peer.close()


def _has_stopped(peer: KafkaPeer, now_s: float, unfinished_ms: int) -> bool:
    """Tell if the peer sent too little of the request that it has begun for too long."""
    connection, before = peer.connection, peer.progress
    if not connection.is_filling:
        return False
    least = max(PROGRESS_BYTES_MIN, connection.filling_bytes // PROGRESS_PARTS)
    if (
        before is not None
        and before.requests == connection.requests
        and not connection.is_waiting_for_room
        and connection.received_bytes - before.received_bytes < least
    ):
        return now_s - before.at_s >= unfinished_ms / 1000
    peer.progress = Progress(now_s, connection.requests, connection.received_bytes)
    return False
