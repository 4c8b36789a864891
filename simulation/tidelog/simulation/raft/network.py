"""The network between voters: connections that break and come back, or no law at all.

It owns which links carry what, how long a message takes and what becomes of it; it never looks into
one. A seed has one of two kinds of network:

    connected   a link keeps the order of its messages until it loses one; then it is silent, is
                found broken after a while and replaced. What the old connection still carries is
                dropped, or (`stragglers`) arrives among the messages of the new one.
    lawless     every message goes its own way: lost, late, twice, to a later life of the receiver.
                Worse than gRPC, and than what the port `RaftTransport` promises.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tidelog.core.chance import SeededRandom
from tidelog.raft.transport import RaftReceiver
from tidelog.raft.well_formed import fault
from tidelog.simulation.engine.loop import NodeLoop
from tidelog.simulation.engine.scheduler import Scheduler
from tidelog.v1.raft_pb2 import RaftMessage

CONNECT_S = 0.003
RECONNECT_S = 0.15
BREAK_FOUND_S_MIN, BREAK_FOUND_S_MAX = 0.05, 0.8
LATENCY_S_MIN = 0.0002
SPIKE_PROBABILITY = 0.005
SPIKE_S_MAX = 0.05
ECHO_S_MIN, ECHO_S_MAX = 0.3, 4.0
COPIES_MAX = 200

Link = tuple[int, int]
"""Sender and receiver."""


@dataclass(frozen=True, slots=True)
class NetworkKind:
    """Properties of a network that a seed draws once."""

    is_lawless: bool
    has_stragglers: bool


@dataclass(frozen=True, slots=True)
class Weather:
    """Effects on messages while no link is cut. Probabilities are per message."""

    loss: float = 0.0
    repeat: float = 0.0
    delay_s_max: float = 0.002
    echo: float = 0.0
    """Arrives once more, seconds later; only without law."""


@dataclass(slots=True)
class _Connection:
    """A direction between two voters, as its sender sees it."""

    is_silent: bool = False
    """It lost a message, so nothing arrives any more."""
    free_at_s: float = 0.0


@dataclass(slots=True)
class _End:
    """A voter's present life on the network."""

    loop: NodeLoop
    receiver: RaftReceiver


class RaftNetwork:
    """Links between voters. `loop` belongs to no voter: it carries what outlives a receiver."""

    def __init__(
        self,
        *,
        scheduler: Scheduler,
        loop: NodeLoop,
        random: SeededRandom,
        kind: NetworkKind,
        on_delivered: Callable[[int, RaftMessage], None],
    ) -> None:
        self.weather = Weather()
        self.kind = kind
        self.repeated = 0
        self._scheduler = scheduler
        self._loop = loop
        self._random = random
        self._on_delivered = on_delivered
        self._ends: dict[int, _End] = {}
        self._cuts: dict[Link, int] = {}
        self._connections: dict[Link, _Connection] = {}
        self._holding: set[Link] = set()
        self._held: list[Callable[[], object]] = []
        self._copying: set[Link] = set()
        self._copies: list[Callable[[], object]] = []

    # What faults do

    def cut(self, links: Iterable[Link]) -> None:
        """Lose what is sent over these links from now on; a link may be cut more than once."""
        for link in links:
            self._cuts[link] = self._cuts.get(link, 0) + 1

    def mend(self, links: Iterable[Link]) -> None:
        """Take back one `cut` of each."""
        for link in links:
            self._cuts[link] -= 1

    def is_cut(self, link: Link) -> bool:
        """True if what is sent over this link now is lost."""
        return self._cuts.get(link, 0) > 0

    def hold(self, links: Iterable[Link]) -> None:
        """Keep what is sent over these links on its way."""
        self._holding.update(links)

    def pass_on(self, links: Iterable[Link]) -> None:
        """Let messages sent over these from now on overtake the held ones."""
        self._holding.difference_update(links)

    def release(self) -> None:
        """Hold nothing, and let arrive what was held, in its order."""
        self._holding.clear()
        held, self._held = self._held, []
        for arrive in held:
            arrive()

    def copy(self, links: Iterable[Link]) -> None:
        """Keep copies of what is sent over these links from now on, and no others; without law."""
        self._copies.clear()
        self._copying = set(links)

    def copy_no_more(self) -> None:
        """Keep the copies made so far, and make no others."""
        self._copying.clear()

    def repeat_copies(self) -> None:
        """Let all copies arrive once more, in their order, over links that are cut too."""
        self.repeated += len(self._copies)
        for arrive in self._copies:
            arrive()

    # What the voters' transports call

    def attach(
        self, node_id: int, loop: NodeLoop, receiver: RaftReceiver, peers: list[int]
    ) -> None:
        """A voter's process listens from now on and connects to its peers."""
        self._ends[node_id] = _End(loop, receiver)
        for peer_id in peers:
            if self.kind.is_lawless:
                receiver.on_connected(peer_id)
            else:
                self._connect_later((node_id, peer_id), CONNECT_S)

    def detach(self, node_id: int) -> None:
        """A voter's process is gone; its peers find their connections to it broken."""
        self._ends.pop(node_id, None)
        for link, connection in list(self._connections.items()):
            if link[0] == node_id:
                del self._connections[link]
            elif link[1] == node_id:
                self._silence(link, connection, found_after_s=CONNECT_S)

    def send(self, link: Link, message: RaftMessage) -> bool:
        """See `RaftTransport.send`."""
        if self.kind.is_lawless:
            self._send_lawless(link, message)
            return True
        connection = self._connections.get(link)
        if connection is None:
            return False
        self._send_in_order(link, connection, message)
        return True

    # Without law

    def _send_lawless(self, link: Link, message: RaftMessage) -> None:
        weather = self.weather
        if self.is_cut(link) or self._random.random() < weather.loss:
            return
        content = message.SerializeToString(deterministic=True)
        self._carry(link, content)
        if weather.repeat and self._random.random() < weather.repeat:
            self.repeated += 1
            self._carry(link, content)
        if weather.echo and self._random.random() < weather.echo:
            delay_s = self._random.uniform(ECHO_S_MIN, ECHO_S_MAX)
            self._carry(link, content, delay_s=delay_s)

    def _carry(self, link: Link, content: bytes, *, delay_s: float | None = None) -> None:
        def arrive() -> None:
            end = self._ends.get(link[1])
            if end is not None:
                end.loop.call_soon(self._deliver, end, link, content)

        if link in self._copying and len(self._copies) < COPIES_MAX:
            self._copies.append(arrive)
        if link in self._holding:
            self._held.append(arrive)
            return
        delay_s = self._latency_s() if delay_s is None else delay_s
        self._scheduler.deliver(self._loop, arrive, delay_s=delay_s)

    def _latency_s(self) -> float:
        longest_s = self.weather.delay_s_max
        if self._random.random() < SPIKE_PROBABILITY:
            longest_s = max(longest_s, SPIKE_S_MAX)
        return self._random.uniform(LATENCY_S_MIN, longest_s)

    def _deliver(self, end: _End, link: Link, content: bytes) -> None:
        route = f"{link[0]}>{link[1]}"
        self._scheduler.trace.record_message(self._scheduler.now_s, route, content)
        message = RaftMessage.FromString(content)
        if fault(message):
            return  # ends at a real node's edge, too
        self._on_delivered(link[1], message)
        end.receiver.on_message(link[0], message)

    # With connections

    def _send_in_order(self, link: Link, connection: _Connection, message: RaftMessage) -> None:
        end = self._ends.get(link[1])
        if connection.is_silent:
            return
        if end is None or self.is_cut(link) or self._random.random() < self.weather.loss:
            found_after_s = self._random.uniform(BREAK_FOUND_S_MIN, BREAK_FOUND_S_MAX)
            self._silence(link, connection, found_after_s=found_after_s)
            return
        content = message.SerializeToString(deterministic=True)
        at_s = max(connection.free_at_s, self._scheduler.now_s + self._latency_s())
        connection.free_at_s = at_s

        def arrive() -> None:
            is_current = self._connections.get(link) is connection
            if is_current or self.kind.has_stragglers:
                self._deliver(end, link, content)

        if link in self._holding:
            self._held.append(lambda: self._scheduler.deliver(end.loop, arrive, delay_s=0))
            return
        self._scheduler.deliver(end.loop, arrive, delay_s=at_s - self._scheduler.now_s)

    def _silence(self, link: Link, connection: _Connection, *, found_after_s: float) -> None:
        if connection.is_silent:
            return
        connection.is_silent = True
        end = self._ends.get(link[0])
        if end is not None:
            self._scheduler.deliver(
                end.loop, lambda: self._break(link, connection, end), delay_s=found_after_s
            )

    def _break(self, link: Link, connection: _Connection, end: _End) -> None:
        if self._connections.get(link) is connection:
            del self._connections[link]
            end.receiver.on_disconnected(link[1])
            self._connect_later(link, RECONNECT_S)

    def _connect_later(self, link: Link, delay_s: float) -> None:
        end = self._ends[link[0]]
        self._scheduler.deliver(end.loop, lambda: self._connect(link, end), delay_s=delay_s)

    def _connect(self, link: Link, end: _End) -> None:
        if self._ends.get(link[0]) is not end:
            return
        if link[1] not in self._ends or self.is_cut(link) or self.is_cut(link[::-1]):
            self._connect_later(link, RECONNECT_S)
            return
        self._connections[link] = _Connection()
        end.receiver.on_connected(link[1])


class VoterTransport:
    """Implements `RaftTransport` for one life of one voter; shows `on_sent` all that leaves."""

    def __init__(
        self,
        *,
        network: RaftNetwork,
        node_id: int,
        peers: list[int],
        loop: NodeLoop,
        on_sent: Callable[[RaftMessage], None],
    ) -> None:
        self._network = network
        self._node_id = node_id
        self._peers = peers
        self._loop = loop
        self._on_sent = on_sent

    async def start(self, receiver: RaftReceiver) -> None:
        """See `RaftTransport`."""
        self._network.attach(self._node_id, self._loop, receiver, self._peers)

    async def stop(self) -> None:
        """See `RaftTransport`."""
        self._network.detach(self._node_id)

    def send(self, peer_id: int, message: RaftMessage) -> bool:
        """See `RaftTransport`; the dead say nothing."""
        if self._loop.is_dead:
            return False
        self._on_sent(message)
        return self._network.send((self._node_id, peer_id), message)
