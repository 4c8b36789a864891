"""Faults of links behind Toxiproxy: each a toxic's name, where it lies, and its attributes.

    Latency      bytes arrive late, in order
    Bandwidth    each connection carries only so many kilobytes a second
    Slicer       bytes arrive in small pieces
    Timeout      a blackhole: bytes are dropped without an error
    ResetPeer    the next bytes are dropped and the connection is closed, over and over
    LimitData    connections end in the middle of a message
    SlowClose    half-open connections
    LinkDown     connections closed, connects refused (the proxy is disabled: no toxic)

A new toxic is a subclass of `Toxic` with its fields, their checks and `attributes`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from tidelog.chaos.faults.fault import BehindProxies, proxies_of, require
from tidelog.chaos.faults.proxies import ProxyToxic
from tidelog.chaos.faults.reach import Reach
from tidelog.chaos.story.scenario_run import ScenarioRun
from tidelog.chaos.topology import Direction


@dataclass(frozen=True, slots=True)
class Toxic(ABC):
    """A toxic on every stream of `reach` (see `Fault`). Subclasses name it and give its attributes.

    `str` of it describes the attributes, for reports. Errors: `FaultError` for attributes that make
    no sense, and from `inject` when no link carries `reach`.
    """

    kind: ClassVar[str]
    """Toxiproxy's name of it."""
    reach: Reach

    @abstractmethod
    def attributes(self) -> Mapping[str, int]:
        """Toxiproxy's attributes."""

    async def inject(self, run: ScenarioRun) -> None:
        """See `Fault`."""
        proxies = proxies_of(run, self.kind)
        streams = self.reach.streams(proxies.links)
        require(any(streams.values()), f"no link carries {self.reach}")
        run.cluster.count(self.kind, f"{self}: {self.reach}")
        for stream, links in streams.items():
            if links:
                await proxies.add(links, self._on(stream))

    async def heal(self, run: ScenarioRun) -> None:
        """See `Fault`."""
        cluster = run.cluster
        if not isinstance(cluster, BehindProxies):
            return
        for stream, links in self.reach.streams(cluster.proxies.links).items():
            if links:
                await cluster.proxies.remove(links, self._on(stream))
        cluster.over(self.kind, f"{self}: {self.reach}")

    def _on(self, stream: Direction) -> ProxyToxic:
        return ProxyToxic(self.kind, stream, self.attributes(), self.reach.toxicity)


@dataclass(frozen=True, slots=True)
class Latency(Toxic):
    """Bytes arrive late, in order. Calls become slow; nothing breaks by itself.

    A proxy answers connects itself: those stay fast. It holds up to 1024 reads of a connection,
    each at most 32 KiB; beyond that the sender feels back pressure.
    """

    kind: ClassVar[str] = "latency"
    latency_ms: int
    jitter_ms: int = 0
    """Evenly distributed, per chunk: `latency_ms` ± `jitter_ms`."""

    def __post_init__(self) -> None:
        require(self.latency_ms > 0, f"latency_ms must be above 0, not {self.latency_ms}")
        require(
            0 <= self.jitter_ms <= self.latency_ms,
            f"jitter_ms must be in [0, {self.latency_ms}], not {self.jitter_ms}",
        )

    def attributes(self) -> Mapping[str, int]:
        """See `Toxic`."""
        return {"latency": self.latency_ms, "jitter": self.jitter_ms}

    def __str__(self) -> str:
        return f"{self.latency_ms} ± {self.jitter_ms} ms"


@dataclass(frozen=True, slots=True)
class Bandwidth(Toxic):
    """Each connection carries only so many kilobytes (1000 bytes) a second, one way.

    Per connection, not per link: a client that opens more gets more. Bytes that wait fill the
    sockets in between, and then the sender has to wait.
    """

    kind: ClassVar[str] = "bandwidth"
    kilobytes_per_s: int

    def __post_init__(self) -> None:
        require(
            self.kilobytes_per_s > 0,
            f"kilobytes_per_s must be above 0, not {self.kilobytes_per_s}: 0 would mean no limit",
        )

    def attributes(self) -> Mapping[str, int]:
        """See `Toxic`."""
        return {"rate": self.kilobytes_per_s}

    def __str__(self) -> str:
        return f"{self.kilobytes_per_s} KB/s"


@dataclass(frozen=True, slots=True)
class Slicer(Toxic):
    """Bytes arrive in small pieces, each a write of its own, `delay_us` apart.

    Nothing is lost: it finds code which assumes that a read returns a whole message.
    """

    kind: ClassVar[str] = "slicer"
    average_bytes: int = 64
    variation_bytes: int = 32
    delay_us: int = 100

    def __post_init__(self) -> None:
        require(self.average_bytes > 0, f"average_bytes must be above 0: {self.average_bytes}")
        require(
            0 <= self.variation_bytes < self.average_bytes,
            f"variation_bytes must be in [0, {self.average_bytes}), not {self.variation_bytes}",
        )
        require(self.delay_us >= 0, f"delay_us is negative: {self.delay_us}")

    def attributes(self) -> Mapping[str, int]:
        """See `Toxic`."""
        return {
            "average_size": self.average_bytes,
            "size_variation": self.variation_bytes,
            "delay": self.delay_us,
        }

    def __str__(self) -> str:
        return f"{self.average_bytes} ± {self.variation_bytes} bytes, {self.delay_us} µs apart"


@dataclass(frozen=True, slots=True)
class Timeout(Toxic):
    """A blackhole: bytes are dropped, without an error; connects succeed.

    With a one-way `reach` only the answers, or only the requests, are lost. `close_after_ms` 0:
    until healed; else each connection is closed after that time, idle or not. Healing closes all
    connections it lay on, as their streams have holes.
    """

    kind: ClassVar[str] = "timeout"
    close_after_ms: int = 0

    def __post_init__(self) -> None:
        require(self.close_after_ms >= 0, f"close_after_ms is negative: {self.close_after_ms}")

    def attributes(self) -> Mapping[str, int]:
        """See `Toxic`."""
        return {"timeout": self.close_after_ms}

    def __str__(self) -> str:
        return f"closed after {self.close_after_ms} ms" if self.close_after_ms else "nothing passes"


@dataclass(frozen=True, slots=True)
class ResetPeer(Toxic):
    """The next bytes are dropped and the connection is closed `after_ms` later, over and over.

    Connections opened while it lasts end with a TCP reset on both sides, whatever their share in
    `toxicity`; those opened before are closed as usual.
    """

    kind: ClassVar[str] = "reset_peer"
    after_ms: int = 0

    def __post_init__(self) -> None:
        require(self.after_ms >= 0, f"after_ms is negative: {self.after_ms}")

    def attributes(self) -> Mapping[str, int]:
        """See `Toxic`."""
        return {"timeout": self.after_ms}

    def __str__(self) -> str:
        return f"after {self.after_ms} ms"


@dataclass(frozen=True, slots=True)
class LimitData(Toxic):
    """A connection passes so many bytes one way and is then closed, in the middle of a message.

    Counted per connection, from its own beginning or the fault's, whichever is later; while the
    fault lasts every new connection ends in the same way.
    """

    kind: ClassVar[str] = "limit_data"
    limit_bytes: int

    def __post_init__(self) -> None:
        require(self.limit_bytes >= 0, f"limit_bytes is negative: {self.limit_bytes}")

    def attributes(self) -> Mapping[str, int]:
        """See `Toxic`."""
        return {"bytes": self.limit_bytes}

    def __str__(self) -> str:
        return f"{self.limit_bytes} bytes"


@dataclass(frozen=True, slots=True)
class SlowClose(Toxic):
    """A closed connection is closed on the far side only after a delay: it is half open.

    Data passes as ever. The side that did not close believes in the connection until then, and
    nothing answers it: only its own keepalive can tell.
    """

    kind: ClassVar[str] = "slow_close"
    delay_ms: int

    def __post_init__(self) -> None:
        require(self.delay_ms > 0, f"delay_ms must be above 0, not {self.delay_ms}")

    def attributes(self) -> Mapping[str, int]:
        """See `Toxic`."""
        return {"delay": self.delay_ms}

    def __str__(self) -> str:
        return f"{self.delay_ms} ms"


@dataclass(frozen=True, slots=True)
class LinkDown:
    """Links are gone: their connections are closed, and connects refused.

    A link that carries any of `reach` goes as a whole, both ways.
    """

    kind: ClassVar[str] = "link_down"
    reach: Reach

    def __post_init__(self) -> None:
        require(self.reach.toxicity == 1, "a link is down for all connections: toxicity is 1")

    async def inject(self, run: ScenarioRun) -> None:
        """See `Fault`."""
        proxies = proxies_of(run, self.kind)
        links = self.reach.links(proxies.links)
        require(links, f"no link carries {self.reach}")
        run.cluster.count(self.kind, str(self.reach))
        await proxies.disable(links)

    async def heal(self, run: ScenarioRun) -> None:
        """See `Fault`."""
        cluster = run.cluster
        if isinstance(cluster, BehindProxies):
            await cluster.proxies.enable(self.reach.links(cluster.proxies.links))
            cluster.over(self.kind, str(self.reach))
