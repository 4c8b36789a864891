"""The simulated network: hosts, links that can be cut, and connections that keep order or break.

Owns which host listens where, which links are cut and how long each message takes. It never looks
into a message.
"""

from __future__ import annotations

from asyncio import Handle
from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

from tidelog.core.chance import SeededRandom
from tidelog.core.errors import StorageError, TidelogError
from tidelog.net.byte_streams import Accept
from tidelog.net.listeners import Listener, one_listener
from tidelog.simulation.engine.late_calls import LateCalls
from tidelog.simulation.engine.loop import NodeLoop
from tidelog.simulation.engine.scheduler import Scheduler


@dataclass(frozen=True, slots=True)
class NetworkConfig:
    """Latency of a message: `[min, max)`, now and then `[spike_min, spike_max)`."""

    latency_s_min: float = 0.0002
    latency_s_max: float = 0.002
    spike_probability: float = 0.005
    spike_s_min: float = 0.005
    spike_s_max: float = 0.05


@dataclass(frozen=True, slots=True)
class Weather:
    """Effects on messages of every link beside their latency."""

    loss: float = 0.0
    """Probability that a message is lost: its connection breaks."""
    delay_s_max: float = 0.0
    """Up to so much comes on top of the latency."""
    repeat: float = 0.0
    """Probability that a request arrives twice, as through a proxy that sends again."""


@dataclass(frozen=True, slots=True)
class Lateness:
    """Which messages of a link are late, and how late: `[min, max)`, each on its own.

    Those of one connection keep their order, so what waits behind a late one is late, too; calls on
    connections of their own overtake each other.
    """

    probability: float
    delay_s_min: float
    delay_s_max: float


@dataclass(eq=False, slots=True)
class Host:
    """An incarnation of a node as the network sees it; `services` is None until it listens."""

    name: str
    loop: NodeLoop
    address: str
    services: Mapping[str, object] | None = field(default=None)
    listeners: tuple[Listener, ...] = ()
    """Its listeners; empty: one, at its address."""
    acceptors: Mapping[str, Accept] = field(default_factory=dict)
    """By address: listeners of other protocols than gRPC, once they listen."""
    is_off: bool = False
    """Its machine lost power: not even a kernel answers for it."""

    def __post_init__(self) -> None:
        self.listeners = self.listeners or one_listener(self.address)

    def listener_at(self, address: str) -> Listener:
        """Its listener at one of its addresses."""
        return next(one for one in self.listeners if one.advertised == address)


class SimNetwork:
    """Hosts and the directed links between them, known by host names."""

    def __init__(
        self, *, scheduler: Scheduler, random: SeededRandom, config: NetworkConfig | None = None
    ) -> None:
        self.scheduler = scheduler
        self._random = random
        self._config = config or NetworkConfig()
        self._hosts: dict[str, Host] = {}
        self.weather: Weather | None = None
        self.lateness: dict[tuple[str, str], Lateness] = {}
        """Lateness of links by host names, from and to."""
        self.is_expected: Callable[[BaseException], bool] = lambda _: False
        """True if an error of a node is what faults do to it, and fails no run."""
        self._last_hosts: dict[str, Host] = {}
        self._cut_links: Counter[tuple[str, str]] = Counter()  # never iterated
        self._refused_links: Counter[tuple[str, str]] = Counter()  # never iterated
        self._late_calls: list[LateCalls] = []
        self._clogged: dict[tuple[str, str], list[Callable[[], None]]] = {}
        self.tap: Callable[[Host, object, object], None] | None = None
        """Called for each call at its server: first with None, later with the response."""
        self._connections: dict[int, Connection] = {}
        self._connection_count = 0

    def note_error(self, server: Host, error: TidelogError) -> None:
        """A handler raised it: a failure of the run where no fault explains it."""
        is_wrong = isinstance(error, StorageError)
        if is_wrong and not self.is_expected(error):
            self.scheduler.record_failure(server.name, repr(error))

    def attach(self, host: Host) -> None:
        """Bring a host up at its addresses, in place of its last incarnation.

        Connections of one that lost power break now: its kernel knows nothing of them.
        """
        before = self._last_hosts.get(host.address)
        for listener in host.listeners:
            self._hosts[listener.advertised] = self._last_hosts[listener.advertised] = host
        if before is not None and before.is_off:
            before.is_off = False
            for connection in list(self._connections.values()):
                connection.break_if_lossy()

    def crash(self, host: Host) -> None:
        """Take a host down, before its loop is killed: its connections break.

        Of what it said last on each of them, some is still in its own buffers and never arrives.
        """
        self._detach(host)
        for connection in list(self._connections.values()):
            if host in connection.ends:
                connection.lose_unsent(host, self._random)
                connection.reset(host)

    def power_off(self, host: Host) -> None:
        """Take a host's machine down: nobody hears of it, and nobody answers at its address."""
        self._detach(host)
        host.is_off = True
        for connection in list(self._connections.values()):
            if host in connection.ends:
                connection.lose_unsent(host, self._random)
                connection.go_silent()

    def _detach(self, host: Host) -> None:
        for listener in host.listeners:
            if self._hosts.get(listener.advertised) is host:
                del self._hosts[listener.advertised]

    def refuses(self, source: Host, address: str) -> bool:
        """True if a connection of `source` is refused at once: nobody listens, a kernel says so."""
        host = self._last_hosts.get(address)
        if host is None or (source.name, host.name) in self._refused_links:
            return True
        if host.is_off or self.is_cut(source, host) or self.is_cut(host, source):
            return False
        return self._hosts.get(address) is None or host.services is None

    def reached(self, source: Host, address: str) -> Host | None:
        """The host that is up at an address, unless the link to it refuses."""
        host = self._hosts.get(address)
        is_refused = host is not None and (source.name, host.name) in self._refused_links
        return None if is_refused else host

    def host_at(self, address: str) -> Host | None:
        """The host that is up at an address."""
        return self._hosts.get(address)

    def connect(self, ends: tuple[Host, Host], on_broken: Callable[[Host], None]) -> Connection:
        """A connection between two hosts; `on_broken` runs at each end that learns of its break."""
        self._connection_count += 1
        connection = Connection(
            network=self, number=self._connection_count, ends=ends, on_broken=on_broken
        )
        self._connections[connection.number] = connection
        return connection

    def forget(self, connection: Connection) -> None:
        """Both ends are done with it."""
        self._connections.pop(connection.number, None)

    def cut(self, source: str, target: str) -> None:
        """Lose all that `source` sends to `target`, in silence, until as many `heal`s as cuts."""
        self.scheduler.trace.record(self.scheduler.now_s, "cut", source, target)
        self._cut_links[source, target] += 1

    def heal(self, source: str, target: str) -> None:
        """Carry messages again; connections that lost one break."""
        self.scheduler.trace.record(self.scheduler.now_s, "heal", source, target)
        self._cut_links -= Counter({(source, target): 1})
        for connection in list(self._connections.values()):
            connection.break_if_lossy()

    def refuse(self, source: str, target: str) -> None:
        """Refuse connections of `source` to `target`, as a firewall that rejects; break all now.

        What `target` sends on connections of its own arrives, unless that is cut.
        """
        self.scheduler.trace.record(self.scheduler.now_s, "refuse", source, target)
        self._refused_links[source, target] += 1
        self.reset(source, target)

    def accept(self, source: str, target: str) -> None:
        """Take back one `refuse`."""
        self.scheduler.trace.record(self.scheduler.now_s, "accept", source, target)
        self._refused_links -= Counter({(source, target): 1})

    def reset(self, one: str, other: str) -> None:
        """Break all connections between two hosts at once, as a proxy that is switched off does."""
        self.scheduler.trace.record(self.scheduler.now_s, "reset", one, other)
        for connection in list(self._connections.values()):
            if {end.name for end in connection.ends} == {one, other}:
                connection.break_now()

    def is_cut(self, source: Host, target: Host) -> bool:
        """True if messages of `source` to `target` are lost now."""
        return (source.name, target.name) in self._cut_links

    def clog(self, source: str, target: str) -> None:
        """Hold all that `source` sends to `target`, until `unclog` delivers it in order."""
        self.scheduler.trace.record(self.scheduler.now_s, "clog", source, target)
        self._clogged.setdefault((source, target), [])

    def unclog(self, source: str, target: str) -> None:
        """Deliver what was held."""
        self.scheduler.trace.record(self.scheduler.now_s, "unclog", source, target)
        for send in self._clogged.pop((source, target), []):
            send()

    def hold_calls(self, source: str, method: str, *, most: int = 1) -> LateCalls:
        """Hold the next requests of this method that `source` sends, until `deliver_late`."""
        self.scheduler.trace.record(self.scheduler.now_s, "hold", source, method)
        late = LateCalls(source, method, most=most)
        self._late_calls.append(late)
        return late

    def deliver_late(self, late: LateCalls) -> None:
        """Let the held requests arrive; their callers hear nothing of it."""
        self.scheduler.trace.record(self.scheduler.now_s, "late", str(late.count))
        self._late_calls.remove(late)
        late.deliver()

    def comes_late(self, source: Host, method: str, deliver: Callable[[], None]) -> bool:
        """True if a request is held, to be delivered so."""
        return any(late.catch(source.name, method, deliver) for late in self._late_calls)

    def held(self, source: Host, target: Host) -> list[Callable[[], None]] | None:
        """Waiting messages of a clogged link; None: it carries."""
        return self._clogged.get((source.name, target.name))

    def loses_one(self) -> bool:
        """True if the weather takes the next message."""
        return self.weather is not None and self._random.random() < self.weather.loss

    def repeats_one(self) -> bool:
        """True if the next request arrives twice."""
        return self.weather is not None and self._random.random() < self.weather.repeat

    def lateness_s(self, source: Host, target: Host) -> float:
        """Lateness of the next message on this link, beside its latency."""
        late = self.lateness.get((source.name, target.name))
        if late is None or self._random.random() >= late.probability:
            return 0.0
        return self._random.uniform(late.delay_s_min, late.delay_s_max)

    def latency_s(self) -> float:
        """Latency of the next message."""
        config = self._config
        if self.weather is not None:
            delay_s = self._random.uniform(0, self.weather.delay_s_max)
            return delay_s + self._random.uniform(config.latency_s_min, config.latency_s_max)
        if self._random.random() < config.spike_probability:
            return self._random.uniform(config.spike_s_min, config.spike_s_max)
        return self._random.uniform(config.latency_s_min, config.latency_s_max)


class Connection:
    """A connection: bytes arrive in order; after a loss only its break arrives."""

    def __init__(
        self,
        *,
        network: SimNetwork,
        number: int,
        ends: tuple[Host, Host],
        on_broken: Callable[[Host], None],
    ) -> None:
        self.number = number
        self.ends = ends
        self._network = network
        self._on_broken = on_broken
        self._is_lossy = False
        self._free_at_s = [0.0, 0.0]
        self._on_the_way: tuple[deque[Handle], deque[Handle]] = (deque(), deque())

    def send(self, sender: Host, label: str, content: bytes, deliver: Callable[[], None]) -> None:
        """Run `deliver` on the other end's loop after a while, in order; or lose it in silence."""
        if not sender.loop.is_dead:
            self._carry(sender, label, content, deliver)

    def _carry(self, sender: Host, label: str, content: bytes, deliver: Callable[[], None]) -> None:
        """Deliver a message that a clogged link held, even if its sender is gone."""
        scheduler = self._network.scheduler
        index = self.ends.index(sender)
        target = self.ends[1 - index]
        route = f"{sender.name}>{target.name} {label}"
        if self._is_lossy or self._network.is_cut(sender, target):
            self._is_lossy = True
            scheduler.trace.record(scheduler.now_s, "lost", route)
            return
        if self._network.loses_one():
            self._is_lossy = True
            scheduler.trace.record(scheduler.now_s, "dropped", route)
            self.break_if_lossy()
            return
        held = self._network.held(sender, target)
        if held is not None:
            held.append(lambda: self._carry(sender, label, content, deliver))
            return

        on_the_way = self._on_the_way[index]

        def arrive() -> None:
            on_the_way.popleft()
            scheduler.trace.record_message(scheduler.now_s, route, content)
            deliver()

        delay_s = self._network.latency_s() + self._network.lateness_s(sender, target)
        at_s = max(self._free_at_s[index], scheduler.now_s + delay_s)
        self._free_at_s[index] = at_s
        on_the_way.append(scheduler.deliver_at(target.loop, arrive, at_s))

    def lose_unsent(self, sender: Host, random: SeededRandom) -> None:
        """Drop the tail, of a random length, of what is on the way from `sender`."""
        on_the_way = self._on_the_way[self.ends.index(sender)]
        for _ in range(random.randrange(0, len(on_the_way) + 1)):
            on_the_way.pop().cancel()

    def reset(self, sender: Host) -> None:
        """Tell the other end that the connection is broken, after all that was sent before."""
        target = self.ends[1 - self.ends.index(sender)]
        self.send(sender, "reset", b"", partial(self._broken, target))

    def go_silent(self) -> None:
        """Deliver nothing more, without a notice."""
        self._is_lossy = True

    def break_if_lossy(self) -> None:
        """Let each end find out that messages were lost, if they were and the links carry again."""
        first, second = self.ends
        if not self._is_lossy or self._network.is_cut(first, second):
            return
        if first.is_off or second.is_off:
            return
        if not self._network.is_cut(second, first):
            self._notify_ends()

    def break_now(self) -> None:
        """Lose what is on the way; each end hears of the break, on its own time."""
        self._is_lossy = True
        for on_the_way in self._on_the_way:
            while on_the_way:
                on_the_way.pop().cancel()
        self._notify_ends()

    def _notify_ends(self) -> None:
        self._network.forget(self)
        for end in self.ends:
            self._network.scheduler.deliver(
                end.loop, partial(self._broken, end), delay_s=self._network.latency_s()
            )

    def _broken(self, end: Host) -> None:
        self._network.forget(self)
        self._on_broken(end)
